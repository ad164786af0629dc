// The number formats of tensors, as graphs name them.
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>

namespace berth::sim {

inline constexpr std::string_view kDtypes[] = {"f64", "f32", "f16", "bf16", "f8",  "f4", "i64", "i32", "i16",
                                               "i8",  "i4",  "u64", "u32",  "u16", "u8", "u4",  "bool"};
inline constexpr std::int64_t kDtypeBits[] = {64, 32, 16, 16, 8,  4, 64, 32, 16,
                                              8,  4,  64, 32, 16, 8, 4,  8};  // of an element
static_assert(std::size(kDtypes) == std::size(kDtypeBits));

}  // namespace berth::sim
