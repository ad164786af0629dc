// Ops that move memory more than they compute: our own kernels.
#include "profiler/cuda/prepared_op.h"

namespace berth::profiler::cuda {

std::unique_ptr<PreparedOp> PrepareElementwise(const OpCase& one, const Libraries& libraries) {
  auto op = std::make_unique<PreparedOp>();
  const Type type = TypeNamed(one.format);
  const std::int64_t count = one.dim("elements");
  const cudaStream_t stream = libraries.stream();
  const void* const x = op->Operand(type, count, stream);
  void* const y = op->Operand(type, count, stream);
  if (one.op == "add") {
    const void* const other = op->Operand(type, count, stream);
    op->run = [=] { LaunchAdd(type, x, other, y, count, stream); };
    return op;
  }
  const Unary way = one.op == "relu"   ? Unary::kRelu
                    : one.op == "gelu" ? Unary::kGelu
                    : one.op == "tanh" ? Unary::kTanh
                                       : Unary::kCopy;
  op->run = [=] { LaunchUnary(type, way, x, y, count, stream); };
  return op;
}

std::unique_ptr<PreparedOp> PrepareRows(const OpCase& one, const Libraries& libraries) {
  auto op = std::make_unique<PreparedOp>();
  const Type type = TypeNamed(one.format);
  const std::int64_t rows = one.dim("rows"), columns = one.dim("columns");
  const cudaStream_t stream = libraries.stream();
  const void* const x = op->Operand(type, rows * columns, stream);
  void* const y = op->Operand(type, rows * columns, stream);
  const bool backward = one.phase == "backward";
  const void* const dy = backward ? op->Operand(type, rows * columns, stream) : nullptr;
  if (one.op == "sum") {
    op->run = [=] { LaunchRowSum(type, x, y, rows, columns, stream); };
  } else if (one.op == "softmax") {
    op->run = [=] {
      if (backward) return LaunchSoftmaxGradient(type, x, dy, y, rows, columns, stream);
      LaunchSoftmax(type, x, y, rows, columns, stream);
    };
  } else {
    const auto* const scale = static_cast<const float*>(op->Operand(Type::kF32, columns, stream));
    const auto* const shift = static_cast<const float*>(op->Operand(Type::kF32, columns, stream));
    op->run = [=] {
      if (backward) return LaunchLayerNormGradient(type, x, dy, scale, y, rows, columns, stream);
      LaunchLayerNorm(type, x, scale, shift, y, rows, columns, stream);
    };
  }
  return op;
}

std::unique_ptr<PreparedOp> PrepareEmbedding(const OpCase& one, const Libraries& libraries) {
  auto op = std::make_unique<PreparedOp>();
  const std::int64_t rows = one.dim("rows"), width = one.dim("width"), tokens = one.dim("tokens");
  const cudaStream_t stream = libraries.stream();
  auto* const table = static_cast<float*>(op->Operand(Type::kF32, rows * width, stream));
  auto* const out = static_cast<float*>(op->Operand(Type::kF32, tokens * width, stream));
  auto* const ids = static_cast<std::int32_t*>(op->Operand(Type::kF32, tokens, stream));  // as wide as an id
  LaunchIds(ids, tokens, rows, stream);
  if (one.phase == "backward") {
    op->run = [=] { LaunchScatterAdd(out, ids, table, tokens, width, stream); };
  } else {
    op->run = [=] { LaunchGather(table, ids, out, tokens, width, stream); };
  }
  return op;
}

std::unique_ptr<PreparedOp> PrepareOptimizer(const OpCase& one, const Libraries& libraries) {
  auto op = std::make_unique<PreparedOp>();
  const std::int64_t count = one.dim("elements");
  const cudaStream_t stream = libraries.stream();
  const auto vector = [&] { return static_cast<float*>(op->Operand(Type::kF32, count, stream)); };
  float* const parameter = vector();
  float* const gradient = vector();
  float* const first = vector();
  if (one.op == "adam") {
    float* const second = vector();
    op->run = [=] { LaunchAdam(parameter, gradient, first, second, count, stream); };
  } else {
    op->run = [=] { LaunchSgdMomentum(parameter, gradient, first, count, stream); };
  }
  return op;
}

}  // namespace berth::profiler::cuda
