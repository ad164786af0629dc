#include "agents/rl/nn/tensors.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>

#include "sim/base/error.h"

namespace stowplan::agents::rl {

void SetUpTorchThread() {
  at::set_num_threads(1);
  at::globalContext().setFlushDenormal(true);
}

Tensors Gradients(const at::Tensor& loss, const Tensors& parameters) {
  Tensors gradients = torch::autograd::grad({loss}, parameters, /*grad_outputs=*/{}, /*retain_graph=*/false,
                                            /*create_graph=*/false, /*allow_unused=*/true);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) gradients[i] = at::zeros_like(parameters[i]);
  }
  return gradients;
}

void SaveTensor(const at::Tensor& tensor, StateWriter& out) {
  const at::Tensor flat = tensor.detach().contiguous();
  out.Put<std::int8_t>(static_cast<std::int8_t>(flat.scalar_type()));
  out.PutList(flat.sizes().vec());
  out.PutText({static_cast<const char*>(flat.data_ptr()), flat.nbytes()});
}

void LoadTensor(StateReader& in, at::Tensor& tensor) {
  const auto type = static_cast<at::ScalarType>(in.Get<std::int8_t>());
  const auto sizes = in.GetList<std::int64_t>();
  const std::string bytes = in.GetText();
  if (type != tensor.scalar_type() || at::IntArrayRef(sizes) != tensor.sizes() ||
      bytes.size() != tensor.nbytes()) {
    in.Fail("a tensor has another size");
  }
  const at::Tensor values = at::empty(sizes, tensor.options().requires_grad(false));
  if (!bytes.empty()) std::memcpy(values.data_ptr(), bytes.data(), bytes.size());
  at::NoGradGuard no_grad;
  tensor.copy_(values);
}

void SaveTensors(const Tensors& tensors, StateWriter& out) {
  for (const at::Tensor& tensor : tensors) SaveTensor(tensor, out);
}

void LoadTensors(StateReader& in, const Tensors& tensors) {
  for (at::Tensor tensor : tensors) LoadTensor(in, tensor);
}

void SumOverRanks(const Tensors& tensors, Ranks& ranks) {
  if (ranks.alone()) return;
  for (const at::Tensor& tensor : tensors) {
    STOWPLAN_CHECK(tensor.is_contiguous());
    const auto count = static_cast<std::size_t>(tensor.numel());
    if (tensor.scalar_type() == at::kDouble) {
      ranks.Sum(std::span<double>(tensor.data_ptr<double>(), count));
    } else {
      ranks.Sum(std::span<float>(tensor.data_ptr<float>(), count));
    }
  }
}

at::Tensor ByRow(const at::Tensor& of_sequence, std::int64_t rows) {
  STOWPLAN_CHECK_EQ(rows % of_sequence.size(0), 0);
  return of_sequence.repeat_interleave(rows / of_sequence.size(0), 0);
}

void Append(Tensors& all, const Tensors& more) {
  all.insert(all.end(), more.begin(), more.end());
}

std::int64_t CountElements(const Tensors& tensors) {
  std::int64_t count = 0;
  for (const at::Tensor& tensor : tensors) count += tensor.numel();
  return count;
}

at::Tensor IndexTensor(const std::vector<std::int64_t>& values) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(values.size())}, at::kLong);
  std::copy(values.begin(), values.end(), tensor.data_ptr<std::int64_t>());
  return tensor;
}

at::Tensor IncidenceMatrix(const std::vector<std::int64_t>& row, const std::vector<std::int64_t>& column,
                           std::int64_t rows, std::int64_t columns, at::ScalarType type) {
  const at::Tensor indices = at::stack({IndexTensor(row), IndexTensor(column)});
  const at::Tensor ones = at::ones({indices.size(1)}, type);
  return at::_sparse_coo_tensor_unsafe(indices, ones, {rows, columns}, type)._coalesced_(true);
}

}  // namespace stowplan::agents::rl
