// One op at one size, ready to be enqueued: its operands on the device and the call that computes it.
#pragma once

#include <memory>
#include <vector>

#include "profiler/cuda/kernels.h"
#include "profiler/cuda/resources.h"
#include "profiler/cuda/timer.h"
#include "profiler/executor/op_tensors.h"
#include "profiler/probes.h"

namespace stowplan::profiler::cuda {

// The handles of cuBLAS and cuDNN, bound to one stream, with a workspace that is allocated beforehand.
class Libraries {
 public:
  explicit Libraries(const Stream& stream);
  ~Libraries();
  Libraries(const Libraries&) = delete;
  Libraries& operator=(const Libraries&) = delete;
  cublasHandle_t blas() const { return blas_; }
  cudnnHandle_t dnn() const { return dnn_; }
  const DeviceBuffer& workspace() const { return workspace_; }
  cudaStream_t stream() const { return stream_; }

 private:
  cudaStream_t stream_;
  DeviceBuffer workspace_;
  cublasHandle_t blas_ = nullptr;
  cudnnHandle_t dnn_ = nullptr;
};

// Enqueues row-major c = a b, `count` of them behind one another, accumulated in f32. tf32: f32 operands rounded to it.
void Multiply(const Libraries& libraries, Type type, const Product& product, bool tf32, const void* a,
              const void* b, void* c);

// Owns what `run` uses; must outlive what was enqueued.
class PreparedOp {
 public:
  Work run;

  // A new operand of that many elements with small numbers in it.
  void* Operand(Type type, std::int64_t count, cudaStream_t stream);
  void* Indices(std::int64_t count, cudaStream_t stream);
  // Keeps a descriptor alive.
  void Keep(std::shared_ptr<void> descriptor) { kept_.push_back(std::move(descriptor)); }

 private:
  std::vector<DeviceBuffer> operands_;
  std::vector<std::shared_ptr<void>> kept_;
};

// Throws Unavailable where nothing computes it.
std::unique_ptr<PreparedOp> Prepare(const OpCase& one, const Libraries& libraries);

// Whether f32 operands are rounded to tf32 for the tensor cores. As frameworks do by default, unless a probe asks for
// one of both.
struct Tf32 {
  bool products = false;
  bool convolutions = true;
};

// The ops of a graph behind one another, as executed graphs compute them (ops_graph.cpp). stand_in: set where one of them is
// run by a stand-in; null: that is Unavailable.
std::unique_ptr<PreparedOp> PrepareGraph(const sim::OpGraph& graph, Tf32 tf32, const Libraries& libraries,
                                         bool* stand_in = nullptr);

// 16-bit cases, which no executed graph has: through the libraries as PyTorch calls them, else by the same kernels as
// the others. Null if nobody prepares that op.
using PrepareOp = std::unique_ptr<PreparedOp> (*)(const OpCase& one, const Libraries& libraries);
PrepareOp FindPreparation(std::string_view op);

// The ways, by file: ops_matrix.cpp, ops_dnn.cpp, ops_vector.cpp.
std::unique_ptr<PreparedOp> PrepareGemm(const OpCase& one, const Libraries& libraries);  // gemm, bmm
std::unique_ptr<PreparedOp> PrepareLstmCell(const OpCase& one, const Libraries& libraries);
std::unique_ptr<PreparedOp> PrepareAttention(const OpCase& one, const Libraries& libraries);
std::unique_ptr<PreparedOp> PrepareConvolution(const OpCase& one, const Libraries& libraries);
std::unique_ptr<PreparedOp> PrepareBatchNorm(const OpCase& one, const Libraries& libraries);
std::unique_ptr<PreparedOp> PrepareElementwise(const OpCase& one, const Libraries& libraries);
std::unique_ptr<PreparedOp> PrepareRows(const OpCase& one,
                                        const Libraries& libraries);  // sum, softmax, layer_norm

}  // namespace stowplan::profiler::cuda
