#include "sim/formats/document/decimal.h"

#include <charconv>
#include <limits>
#include <string>

namespace stowplan::formats {
namespace {

__extension__ typedef unsigned __int128 Wide;

constexpr int kMaxExponent = 9999;

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// Moves the digits at the front of `text` to the end of `digits`; returns how many.
int TakeDigits(std::string_view& text, std::string& digits) {
  int count = 0;
  for (; !text.empty() && IsDigit(text.front()); text.remove_prefix(1), ++count)
    digits.push_back(text.front());
  return count;
}

// Reads what stands behind 'e' to the end of the text.
std::optional<int> TakeExponent(std::string_view text) {
  if (text.size() > 1 && text.front() == '+' && IsDigit(text[1])) text.remove_prefix(1);
  int exponent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (exponent < -kMaxExponent || exponent > kMaxExponent) return std::nullopt;
  return exponent;
}

struct Scanned {
  bool negative = false;
  std::string digits;  // at least one
  int exponent = 0;
};

std::optional<Scanned> Scan(std::string_view text) {
  Scanned number;
  if (!text.empty() && text.front() == '-') {
    number.negative = true;
    text.remove_prefix(1);
  }
  if (TakeDigits(text, number.digits) == 0) return std::nullopt;
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    const int fraction = TakeDigits(text, number.digits);
    if (fraction == 0) return std::nullopt;
    number.exponent = -fraction;
  }
  if (text.empty()) return number;
  if (text.front() != 'e' && text.front() != 'E') return std::nullopt;
  const auto exponent = TakeExponent(text.substr(1));
  if (!exponent) return std::nullopt;
  number.exponent += *exponent;
  return number;
}

}  // namespace

bool IsDecimal(std::string_view text) {
  return Scan(text).has_value();
}

std::optional<Decimal> ParseDecimal(std::string_view text) {
  const auto number = Scan(text);
  if (!number) return std::nullopt;
  const std::string& digits = number->digits;
  const auto first = digits.find_first_not_of('0');
  if (first == std::string::npos) return Decimal{};
  const auto last = digits.find_last_not_of('0');
  if (last - first >= kMaxDigits) return std::nullopt;
  Decimal decimal{number->negative, 0, number->exponent + static_cast<int>(digits.size() - 1 - last)};
  std::from_chars(digits.data() + first, digits.data() + last + 1, decimal.digits);
  return decimal;
}

std::optional<std::int64_t> ToExactInteger(const Decimal& decimal) {
  if (decimal.exponent < 0) return std::nullopt;  // the digits end in no zero
  Wide value = decimal.digits;
  const Wide limit = static_cast<Wide>(std::numeric_limits<std::int64_t>::max()) + (decimal.negative ? 1 : 0);
  for (int i = 0; i < decimal.exponent && value <= limit; ++i) value *= 10;
  if (value > limit) return std::nullopt;
  return static_cast<std::int64_t>(decimal.negative ? -value : value);
}

std::optional<std::int64_t> ScaleToInteger(const Decimal& decimal, std::int64_t unit, std::int64_t limit) {
  if (decimal.negative && decimal.digits != 0) return std::nullopt;
  Wide value = static_cast<Wide>(decimal.digits) * static_cast<Wide>(unit);  // below 2^64 * 2^63
  const Wide top = static_cast<Wide>(limit);
  int exponent = decimal.exponent;
  for (; exponent > 0 && value != 0 && value <= top; --exponent) value *= 10;
  if (exponent > 0 && value != 0) return std::nullopt;
  if (exponent < -38) return 0;  // below 2^127 * 10^-39
  Wide divisor = 1;
  for (; exponent < 0; ++exponent) divisor *= 10;
  value = value / divisor + (value % divisor >= divisor - value % divisor ? 1 : 0);
  if (value > top) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace stowplan::formats
