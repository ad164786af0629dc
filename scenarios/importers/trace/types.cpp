#include "scenarios/importers/trace/types.h"

#include <map>

#include "scenarios/importers/aten.h"
#include "scenarios/importers/trace/convolutions.h"

namespace stowplan::scenarios::trace {

std::string_view LocalName(std::string_view name) {
  const auto colons = name.rfind("::");
  return colons == std::string_view::npos ? name : name.substr(colons + 2);
}

std::string_view PlainName(std::string_view name) {
  std::string_view local = LocalName(name);
  if (local.ends_with('_') && !local.ends_with("__")) local.remove_suffix(1);
  return local;
}

std::optional<std::string> KnownType(const Node& node) {
  if (!node.has_schema || !node.name.starts_with("aten::")) return std::nullopt;
  if (auto convolution = ConvolutionType(node)) return convolution;
  const AtenType* row = FindAtenType(PlainName(node.name));
  return row != nullptr ? std::optional<std::string>(row->type) : std::nullopt;
}

std::string DtypeOf(std::string_view type) {
  static const std::map<std::string_view, std::string_view> kTypes = {{"float", "f32"},
                                                                      {"double", "f64"},
                                                                      {"c10::Half", "f16"},
                                                                      {"c10::BFloat16", "bf16"},
                                                                      {"long", "i64"},
                                                                      {"long int", "i64"},
                                                                      {"int", "i32"},
                                                                      {"short", "i16"},
                                                                      {"short int", "i16"},
                                                                      {"signed char", "i8"},
                                                                      {"unsigned char", "u8"},
                                                                      {"bool", "bool"},
                                                                      {"c10::Float8_e4m3fn", "f8"},
                                                                      {"c10::Float8_e5m2", "f8"}};
  const auto found = kTypes.find(type);
  return found == kTypes.end() ? "" : std::string(found->second);
}

sim::Output OutputOf(const Tensor& tensor) {
  sim::Output output;
  output.bytes = tensor.bytes();
  output.dtype = DtypeOf(tensor.type);
  if (!output.dtype.empty()) output.shape = tensor.shape;
  if (tensor.shape.empty() && tensor.elements != 1) output.dtype.clear();  // a shape that was not told
  return output;
}

}  // namespace stowplan::scenarios::trace
