// Decimal numbers read exactly, for texts whose value must not pass through a double.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace berth::formats {

// (-1)^negative * digits * 10^exponent; digits ends in no zero unless it is 0.
struct Decimal {
  bool negative = false;
  std::uint64_t digits = 0;
  int exponent = 0;
};

// Digits with an optional sign '-', fraction and exponent, as in JSON; nothing else around them. Empty for
// anything else, and for what has more than 19 significant digits or an exponent beyond ±9999.
std::optional<Decimal> ParseDecimal(std::string_view text);

// The value if it is a whole number that fits.
std::optional<std::int64_t> ToExactInteger(const Decimal& decimal);

// decimal * unit, to the nearest whole number (halves up). Empty if it is negative or above `limit`.
std::optional<std::int64_t> ScaleToInteger(const Decimal& decimal, std::int64_t unit, std::int64_t limit);

}  // namespace berth::formats
