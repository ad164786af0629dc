#include "scenarios/importers/trace/op_flops.h"

namespace stowplan::scenarios::trace {
namespace {

double Product(const std::vector<std::int64_t>& dims, std::size_t first) {
  double product = 1;
  for (std::size_t i = first; i < dims.size(); ++i) product *= static_cast<double>(dims[i]);
  return product;
}

// Every weight of a filter is used once for each element of the image on its output's side: that of a transposed
// convolution is the input.
double Convolved(const Tensor& image, const Tensor& filter, const Tensor& result) {
  if (filter.shape.size() < 3 || result.shape.size() < 2) return 0;
  const bool is_transposed = filter.shape[0] != result.shape[1];
  return 2 * static_cast<double>(is_transposed ? image.elements : result.elements) * Product(filter.shape, 1);
}

// Scores, and their product with the values.
double Attended(const Tensor& query, const Tensor& key, const Tensor& value) {
  if (query.shape.size() != 4 || key.shape.size() != 4 || value.shape.size() != 4) return 0;
  return 2 * Product(query.shape, 0) / static_cast<double>(std::max<std::int64_t>(query.shape[3], 1)) *
         static_cast<double>(key.shape[2]) * static_cast<double>(query.shape[3] + value.shape[3]);
}

}  // namespace

double FlopsOf(std::string_view type, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
  if (type == "MatMul" || type == "BatchMatMul") {
    if (inputs.empty() || inputs[0].shape.empty() || outputs.empty()) return 0;
    return 2 * static_cast<double>(outputs[0].elements) * static_cast<double>(inputs[0].shape.back());
  }
  if (type == "Conv2D")
    return inputs.size() < 2 || outputs.empty() ? 0 : Convolved(inputs[0], inputs[1], outputs[0]);
  if (type == "Conv2DBackpropFilter") {  // of the images and of the filter in one call; not of the bias
    if (inputs.size() < 3) return 0;
    double products = 0;
    for (const Tensor& output : outputs) products += output.shape.size() > 1 ? 1 : 0;
    return products * Convolved(inputs[1], inputs[2], inputs[0]);
  }
  constexpr double kOfBackward = 2.5;  // five products for two
  if (type == "Attention") return inputs.size() < 3 ? 0 : Attended(inputs[0], inputs[1], inputs[2]);
  if (type == "AttentionGrad")
    return inputs.size() < 4 ? 0 : kOfBackward * Attended(inputs[1], inputs[2], inputs[3]);
  return 0;
}

}  // namespace stowplan::scenarios::trace
