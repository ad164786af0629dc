#include "profiler/executor/kernel_table.h"

#include <type_traits>
#include <variant>

namespace stowplan::profiler {
namespace {

void Append(std::string& key, const sim::Output& tensor) {
  key += "|" + tensor.dtype + " " + std::to_string(tensor.bytes) + " " +
         std::to_string(static_cast<int>(tensor.storage)) + " [";
  for (const std::int64_t dim : tensor.shape) key += std::to_string(dim) + ",";
  key += "]";
}

void Append(std::string& key, const sim::Attribute& attribute) {
  std::visit(
      [&key](const auto& value) {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::string>) {
          key += std::to_string(value.size()) + ":" + value;
        } else if constexpr (std::is_same_v<Value, sim::Attribute::List>) {
          key += "(";
          for (const sim::Attribute& one : value) Append(key, one);
          key += ")";
        } else if constexpr (std::is_same_v<Value, sim::Attributes>) {
          key += "{";
          for (const auto& [name, one] : value) {
            key += name + "=";
            Append(key, one);
          }
          key += "}";
        } else if constexpr (!std::is_same_v<Value, std::nullptr_t>) {
          key += std::to_string(value) + ",";
        }
      },
      attribute.value);
}

}  // namespace

std::string KernelKey(const OpTensors& tensors) {
  const sim::Op& op = tensors.op();
  std::string key = op.type + "|" + op.phase + "|" + std::to_string(op.flops) + "|";
  Append(key, sim::Attribute{op.attributes});
  for (std::size_t i = 0; i < tensors.inputs(); ++i) {
    Append(key, tensors.input(i));
    key += " " + std::to_string(tensors.producer(i).persistent_bytes);
  }
  key += '>';
  for (const sim::Output& output : op.outputs) {
    Append(key, output);
    // Which input it shares, so that a kernel that writes in place is tried in place.
    for (std::size_t i = 0; output.storage == sim::Output::Storage::kInput && i < op.inputs.size(); ++i)
      if (op.inputs[i] == output.alias) key += " =" + std::to_string(i);
  }
  return key;
}

}  // namespace stowplan::profiler
