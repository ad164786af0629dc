// The number formats of tensors, as graphs name them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace stowplan::sim {

struct Dtype {
  std::string_view name;
  std::int64_t bits;  // of an element
};
inline constexpr Dtype kDtypes[] = {{"f64", 64}, {"f32", 32}, {"f16", 16}, {"bf16", 16}, {"f8", 8},
                                    {"f4", 4},   {"i64", 64}, {"i32", 32}, {"i16", 16},  {"i8", 8},
                                    {"i4", 4},   {"u64", 64}, {"u32", 32}, {"u16", 16},  {"u8", 8},
                                    {"u4", 4},   {"bool", 8}};

inline constexpr auto kDtypeNames = [] {
  std::array<std::string_view, std::size(kDtypes)> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kDtypes[i].name;
  return names;
}();

}  // namespace stowplan::sim
