// What PyTorch's ops are called in a stowplan.graph: the types that cost models know.
#pragma once

#include <span>
#include <string_view>

namespace stowplan::scenarios {

struct AtenType {
  std::string_view
      name;  // in torch.ops.aten, without overload and without the "_" of one that works in place
  std::string_view type;
};
std::span<const AtenType> AtenTypes();                // by name
const AtenType* FindAtenType(std::string_view name);  // null if unknown

}  // namespace stowplan::scenarios
