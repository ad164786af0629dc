#include "profiler/cuda/prepared_op.h"

#include <map>
#include <optional>

#include "profiler/backend.h"
#include "profiler/op_graphs.h"

namespace stowplan::profiler::cuda {
namespace {

constexpr std::size_t kWorkspace = std::size_t{256} << 20;

}  // namespace

Libraries::Libraries(const Stream& stream) : stream_(stream.get()), workspace_(kWorkspace) {
  STOWPLAN_CUDA(cublasCreate(&blas_));
  STOWPLAN_CUDA(cublasSetStream(blas_, stream_));
  STOWPLAN_CUDA(cublasSetWorkspace(blas_, workspace_.get(), workspace_.bytes()));
  STOWPLAN_CUDA(cudnnCreate(&dnn_));
  STOWPLAN_CUDA(cudnnSetStream(dnn_, stream_));
}

Libraries::~Libraries() {
  if (dnn_ != nullptr) cudnnDestroy(dnn_);
  if (blas_ != nullptr) cublasDestroy(blas_);
}

void* PreparedOp::Operand(Type type, std::int64_t count, cudaStream_t stream) {
  operands_.emplace_back(static_cast<std::size_t>(count) * BytesOf(type));
  void* const data = operands_.back().get();
  LaunchFill(type, data, count, stream);
  return data;
}

void* PreparedOp::Indices(std::int64_t count, cudaStream_t stream) {
  operands_.emplace_back(static_cast<std::size_t>(count) * sizeof(std::int32_t));
  void* const data = operands_.back().get();
  LaunchIndices(static_cast<std::int32_t*>(data), count, stream);
  return data;
}

PrepareOp FindPreparation(std::string_view op) {
  static const std::map<std::string_view, PrepareOp> ways = {
      {"gemm", PrepareGemm},           {"bmm", PrepareGemm},           {"lstm_cell", PrepareLstmCell},
      {"attention", PrepareAttention}, {"conv2d", PrepareConvolution}, {"batch_norm", PrepareBatchNorm},
      {"add", PrepareElementwise},     {"relu", PrepareElementwise},   {"gelu", PrepareElementwise},
      {"tanh", PrepareElementwise},    {"copy", PrepareElementwise},   {"sum", PrepareRows},
      {"softmax", PrepareRows},        {"layer_norm", PrepareRows},
  };
  const auto found = ways.find(op);
  return found == ways.end() ? nullptr : found->second;
}

std::unique_ptr<PreparedOp> Prepare(const OpCase& one, const Libraries& libraries) {
  if (profiler::BytesOf(one.format) == 4) {
    const std::optional<sim::OpGraph> graph = GraphOf(one);
    if (!graph) throw Unavailable("no op of a graph computes " + one.op);
    const bool tf32 = one.format == "tf32";
    return PrepareGraph(*graph, {.products = tf32, .convolutions = tf32}, libraries);
  }
  const PrepareOp prepare = FindPreparation(one.op);
  if (prepare == nullptr) throw Unavailable("nothing computes " + one.op + " in " + one.format);
  return prepare(one, libraries);
}

}  // namespace stowplan::profiler::cuda
