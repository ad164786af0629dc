// Products through cuBLAS, and the ops that are mostly products.
#include "profiler/cuda/prepared_op.h"

namespace stowplan::profiler::cuda {
namespace {

cudaDataType_t DataType(Type type) {
  return type == Type::kF32 ? CUDA_R_32F : type == Type::kF16 ? CUDA_R_16F : CUDA_R_16BF;
}

}  // namespace

void Multiply(const Libraries& libraries, Type type, const Product& p, bool tf32, const void* a,
              const void* b, void* c) {
  const float one = 1, zero = 0;
  const cudaDataType_t data = DataType(type);
  const cublasComputeType_t compute = tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  // cuBLAS is column-major: what it sees is the transposed product.
  const auto way = [](char transpose) { return transpose == 'T' ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const auto m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
  STOWPLAN_CUDA(cublasGemmStridedBatchedEx(
      libraries.blas(), way(p.transpose_b), way(p.transpose_a), n, m, k, &one, b, data,
      p.transpose_b == 'T' ? k : n, p.n * p.k, a, data, p.transpose_a == 'T' ? m : k, p.m * p.k, &zero, c,
      data, n, p.m * p.n, static_cast<int>(p.count), compute, CUBLAS_GEMM_DEFAULT));
}

std::unique_ptr<PreparedOp> PrepareGemm(const OpCase& one, const Libraries& libraries) {
  auto op = std::make_unique<PreparedOp>();
  const Type type = TypeNamed(one.format);
  const Product p{one.op == "bmm" ? one.dim("batch") : 1, one.dim("m"), one.dim("n"), one.dim("k")};
  const void* const a = op->Operand(type, p.count * p.m * p.k, libraries.stream());
  const void* const b = op->Operand(type, p.count * p.k * p.n, libraries.stream());
  void* const c = op->Operand(type, p.count * p.m * p.n, libraries.stream());
  op->run = [=, &libraries] { Multiply(libraries, type, p, false, a, b, c); };
  return op;
}

std::unique_ptr<PreparedOp> PrepareLstmCell(const OpCase& one, const Libraries& libraries) {
  auto op = std::make_unique<PreparedOp>();
  const Type type = TypeNamed(one.format);
  const std::int64_t batch = one.dim("batch"), width = one.dim("width");
  // Input and hidden state side by side, so that both products are one, as frameworks do it.
  const Product p{1, batch, 4 * width, 2 * width};
  const cudaStream_t stream = libraries.stream();
  const void* const states = op->Operand(type, batch * 2 * width, stream);
  const void* const weights = op->Operand(type, 8 * width * width, stream);
  void* const gates = op->Operand(type, batch * 4 * width, stream);
  const void* const cell = op->Operand(type, batch * width, stream);
  void* const new_cell = op->Operand(type, batch * width, stream);
  void* const hidden = op->Operand(type, batch * width, stream);
  op->run = [=, &libraries] {
    Multiply(libraries, type, p, false, states, weights, gates);
    LaunchLstmGates(type, gates, cell, new_cell, hidden, batch, width, stream);
  };
  return op;
}

std::unique_ptr<PreparedOp> PrepareAttention(const OpCase& one, const Libraries& libraries) {
  auto op = std::make_unique<PreparedOp>();
  const Type type = TypeNamed(one.format);
  const std::int64_t batch = one.dim("batch"), tokens = one.dim("tokens"), width = one.dim("width");
  const Product scores_of{batch, tokens, tokens, width, 'N', 'T'}, values_of{batch, tokens, width, tokens};
  const cudaStream_t stream = libraries.stream();
  const void* const queries = op->Operand(type, batch * tokens * width, stream);
  const void* const keys = op->Operand(type, batch * tokens * width, stream);
  const void* const values = op->Operand(type, batch * tokens * width, stream);
  void* const scores = op->Operand(type, batch * tokens * tokens, stream);
  void* const shares = op->Operand(type, batch * tokens * tokens, stream);
  void* const out = op->Operand(type, batch * tokens * width, stream);
  op->run = [=, &libraries] {
    Multiply(libraries, type, scores_of, false, queries, keys, scores);
    LaunchSoftmax(type, scores, shares, batch * tokens, tokens, stream);
    Multiply(libraries, type, values_of, false, shares, values, out);
  };
  return op;
}

}  // namespace stowplan::profiler::cuda
