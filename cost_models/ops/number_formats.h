// In what numbers a product runs. Most read two operands of one type; others keep weights, or keys and values, in a smaller one.
#pragma once

#include <string_view>

namespace stowplan::cost_models {

// Bytes of an element. Blocks of small numbers share a scale, which is counted.
struct NumberFormat {
  std::string_view name;      // "bf16_f4": operands in bf16, weights in f4
  std::string_view operands;  // as graphs name them
  std::string_view weights;
  double operand_bytes = 0;
  double weight_bytes = 0;
  double written_bytes = 0;
};
inline constexpr NumberFormat kNumberFormats[] = {
    {"f32", "f32", "f32", 4, 4, 4},           {"f16", "f16", "f16", 2, 2, 2},
    {"bf16", "bf16", "bf16", 2, 2, 2},        {"f8", "f8", "f8", 1, 1, 2},
    {"f8_block", "", "", 1, 1.03125, 2},  // a scale for each block of 128 by 128 weights and of 128 operands
    {"f4", "f4", "f4", 0.5625, 0.5625, 2},    {"i8", "i8", "i8", 1, 1, 2},
    {"bf16_f8", "bf16", "f8", 2, 1, 2},       {"bf16_f4", "bf16", "f4", 2, 0.53125, 2},
    {"bf16_i4", "bf16", "i4", 2, 0.53125, 2}, {"f8_f4", "f8", "f4", 1, 0.53125, 2},
};

// "bf16" of "bf16_f4": in whose units a product runs.
constexpr std::string_view UnitsOf(std::string_view format) {
  return format.substr(0, format.find('_'));
}

}  // namespace stowplan::cost_models
