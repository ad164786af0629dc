// Ops that move memory more than they compute: our own kernels.
#include "profiler/cuda/prepared_op.h"

namespace stowplan::profiler::cuda {

std::unique_ptr<PreparedOp> PrepareElementwise(const OpCase& one, const Libraries& libraries) {
  auto op = std::make_unique<PreparedOp>();
  const Type type = TypeNamed(one.format);
  const std::int64_t count = one.dim("elements");
  const cudaStream_t stream = libraries.stream();
  const void* const x = op->Operand(type, count, stream);
  void* const y = op->Operand(type, count, stream);
  if (one.op == "add") {
    const void* const other = op->Operand(type, count, stream);
    op->run = [=] { LaunchPair(type, Pair::kAdd, x, other, y, count, stream); };
    return op;
  }
  const Each way = one.op == "relu"   ? Each::kRelu
                   : one.op == "gelu" ? Each::kGelu
                   : one.op == "tanh" ? Each::kTanh
                                      : Each::kCopy;
  op->run = [=] { LaunchEach(type, way, x, y, count, stream); };
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

}  // namespace stowplan::profiler::cuda
