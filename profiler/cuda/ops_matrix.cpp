// Products through cuBLAS, and the ops that are mostly products.
#include "profiler/cuda/prepared_op.h"

namespace berth::profiler::cuda {
namespace {

cudaDataType_t DataType(Type type) {
  return type == Type::kF32 ? CUDA_R_32F : type == Type::kF16 ? CUDA_R_16F : CUDA_R_16BF;
}

// Row-major c[m, n] = a[m, k] * b[k, n], or * b[n, k] transposed; `count` of them behind one another. Accumulated
// in f32.
struct Product {
  std::int64_t m, n, k, count = 1;
  bool transposed = false;  // b is [n, k]
  bool tf32 = false;
};

void Multiply(const Libraries& libraries, Type type, const Product& p, const void* a, const void* b,
              void* c) {
  const float one = 1, zero = 0;
  const cudaDataType_t data = DataType(type);
  const cublasComputeType_t compute = p.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  // cuBLAS is column-major: what it sees is the transposed product.
  const cublasOperation_t op_b = p.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  const auto m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
  BERTH_CUDA(cublasGemmStridedBatchedEx(
      libraries.blas(), op_b, CUBLAS_OP_N, n, m, k, &one, b, data, p.transposed ? k : n, p.n * p.k, a, data,
      k, p.m * p.k, &zero, c, data, n, p.m * p.n, static_cast<int>(p.count), compute, CUBLAS_GEMM_DEFAULT));
}

}  // namespace

std::unique_ptr<PreparedOp> PrepareGemm(const OpCase& one, const Libraries& libraries) {
  auto op = std::make_unique<PreparedOp>();
  const Type type = TypeNamed(one.format);
  const Product p{one.dim("m"), one.dim("n"),        one.dim("k"), one.op == "bmm" ? one.dim("batch") : 1,
                  false,        one.format == "tf32"};
  const void* const a = op->Operand(type, p.count * p.m * p.k, libraries.stream());
  const void* const b = op->Operand(type, p.count * p.k * p.n, libraries.stream());
  void* const c = op->Operand(type, p.count * p.m * p.n, libraries.stream());
  op->run = [=, &libraries] { Multiply(libraries, type, p, a, b, c); };
  return op;
}

std::unique_ptr<PreparedOp> PrepareLstmCell(const OpCase& one, const Libraries& libraries) {
  auto op = std::make_unique<PreparedOp>();
  const Type type = TypeNamed(one.format);
  const std::int64_t batch = one.dim("batch"), width = one.dim("width");
  // Input and hidden state side by side, so that both products are one, as frameworks do it.
  const Product p{batch, 4 * width, 2 * width, 1, false, one.format == "tf32"};
  const cudaStream_t stream = libraries.stream();
  const void* const states = op->Operand(type, batch * 2 * width, stream);
  const void* const weights = op->Operand(type, 8 * width * width, stream);
  void* const gates = op->Operand(type, batch * 4 * width, stream);
  const void* const cell = op->Operand(type, batch * width, stream);
  void* const new_cell = op->Operand(type, batch * width, stream);
  void* const hidden = op->Operand(type, batch * width, stream);
  op->run = [=, &libraries] {
    Multiply(libraries, type, p, states, weights, gates);
    LaunchLstmGates(type, gates, cell, new_cell, hidden, batch, width, stream);
  };
  return op;
}

std::unique_ptr<PreparedOp> PrepareAttention(const OpCase& one, const Libraries& libraries) {
  auto op = std::make_unique<PreparedOp>();
  const Type type = TypeNamed(one.format);
  const std::int64_t batch = one.dim("batch"), tokens = one.dim("tokens"), width = one.dim("width");
  const bool tf32 = one.format == "tf32";
  const Product scores_of{tokens, tokens, width, batch, true, tf32},
      values_of{tokens, width, tokens, batch, false, tf32};
  const cudaStream_t stream = libraries.stream();
  const void* const queries = op->Operand(type, batch * tokens * width, stream);
  const void* const keys = op->Operand(type, batch * tokens * width, stream);
  const void* const values = op->Operand(type, batch * tokens * width, stream);
  void* const scores = op->Operand(type, batch * tokens * tokens, stream);
  void* const shares = op->Operand(type, batch * tokens * tokens, stream);
  void* const out = op->Operand(type, batch * tokens * width, stream);
  op->run = [=, &libraries] {
    Multiply(libraries, type, scores_of, queries, keys, scores);
    LaunchSoftmax(type, scores, shares, batch * tokens, tokens, stream);
    Multiply(libraries, type, values_of, shares, values, out);
  };
  return op;
}

}  // namespace berth::profiler::cuda
