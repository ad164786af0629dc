// Decimal numbers read exactly, for texts whose value must not pass through a double.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stowplan::formats {

// (-1)^negative * digits * 10^exponent; digits ends in no zero unless it is 0.
struct Decimal {
  bool negative = false;
  std::uint64_t digits = 0;
  int exponent = 0;
};

inline constexpr int kMaxDigits = 19;  // significant ones of a Decimal: all of them fit into 64 bits

// Digits with an optional sign '-', fraction and exponent up to ±9999, as in JSON (but zeros may lead); nothing
// else around them.
bool IsDecimal(std::string_view text);

// Empty for what is none, and for what has more than kMaxDigits significant digits.
std::optional<Decimal> ParseDecimal(std::string_view text);

// The value if it is a whole number that fits.
std::optional<std::int64_t> ToExactInteger(const Decimal& decimal);

// decimal * unit, to the nearest whole number (halves up). Empty if it is negative or above `limit`.
std::optional<std::int64_t> ScaleToInteger(const Decimal& decimal, std::int64_t unit, std::int64_t limit);

}  // namespace stowplan::formats
