#include "sim/formats/document/units_text.h"

#include <array>
#include <span>

#include "sim/base/error.h"
#include "sim/formats/document/decimal.h"
#include "sim/formats/document/source.h"

namespace stowplan::formats {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

// Smallest first: where two texts are equally short, the larger unit is printed.
constexpr std::array<Unit, 9> kByteUnits = {{{"B", 1},
                                             {"kB", 1'000},
                                             {"KiB", std::int64_t{1} << 10},
                                             {"MB", 1'000'000},
                                             {"MiB", std::int64_t{1} << 20},
                                             {"GB", 1'000'000'000},
                                             {"GiB", std::int64_t{1} << 30},
                                             {"TB", 1'000'000'000'000},
                                             {"TiB", std::int64_t{1} << 40}}};
constexpr std::array<Unit, 5> kTimeUnits = {
    {{"ps", 1}, {"ns", 1'000}, {"us", 1'000'000}, {"ms", 1'000'000'000}, {"s", 1'000'000'000'000}}};

constexpr sim::Picos kMaxPicos = static_cast<sim::Picos>(sim::kMaxMicros) * sim::kPicosPerMicro;

// What one family of numbers looks like.
struct Family {
  std::span<const Unit> units;
  std::string_view suffix;  // behind the unit
  std::int64_t limit;
  std::string_view wanted;  // for messages
  std::string_view largest;
};
constexpr Family kBytes{kByteUnits, "", sim::kMaxBytes,
                        "a number of bytes such as \"12GiB\" (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB)",
                        "2^50 bytes"};
constexpr Family kTime{kTimeUnits, "", kMaxPicos, "a time such as \"25us\" (ps, ns, us, ms, s)", "1e12 us"};
constexpr Family kBandwidth{kByteUnits, "/s", sim::kMaxBytes,
                            "a bandwidth such as \"7.6GB/s\" (B/s ... TiB/s)", "2^50 bytes a second"};

[[noreturn]] void Fail(std::string_view text, const std::string& where, std::string_view what) {
  throw InputError(where + " is " + Quoted(text) + ", but must be " + std::string(what));
}

std::int64_t Parse(std::string_view text, const std::string& where, const Family& family) {
  const auto split = text.find_last_of("0123456789");
  const std::string_view number = text.substr(0, split == std::string_view::npos ? 0 : split + 1);
  const auto decimal = ParseDecimal(number);
  if (!decimal && IsDecimal(number))
    Fail(text, where, "written with at most " + std::to_string(kMaxDigits) + " significant digits");
  if (!decimal) Fail(text, where, family.wanted);
  std::string_view unit = text.substr(split + 1);
  if (unit.empty()) {
    if (decimal->digits == 0) return 0;
    Fail(text, where, std::string(family.wanted) + "; a bare number has no unit");
  }
  if (unit.front() == ' ') unit.remove_prefix(1);
  if (decimal->negative) Fail(text, where, std::string(family.wanted) + ", not negative");
  for (const auto& [name, factor] : family.units) {
    if (unit.size() != name.size() + family.suffix.size() || !unit.starts_with(name) ||
        !unit.ends_with(family.suffix)) {
      continue;
    }
    const auto value = ScaleToInteger(*decimal, factor, family.limit);
    if (!value) Fail(text, where, "at most " + std::string(family.largest));
    return *value;
  }
  Fail(text, where, family.wanted);
}

// value / factor as an exact decimal: finite, since every factor is a product of twos and fives.
std::string ExactQuotient(std::int64_t value, std::int64_t factor) {
  std::string text = std::to_string(value / factor);
  std::int64_t rest = value % factor;
  if (rest != 0) text += '.';
  for (; rest != 0; rest %= factor) {
    rest *= 10;  // below 10 * 2^40
    text += static_cast<char>('0' + rest / factor);
  }
  return text;
}

std::string Print(std::int64_t value, const Family& family) {
  if (value == 0) return "0";
  std::string best;
  for (const auto& [name, factor] : family.units) {
    std::string text = ExactQuotient(value, factor);
    text.append(name).append(family.suffix);
    if (best.empty() || text.size() <= best.size()) best = std::move(text);
  }
  return best;
}

}  // namespace

sim::Bytes ParseBytes(std::string_view text, const std::string& where) {
  return Parse(text, where, kBytes);
}
sim::Picos ParseTime(std::string_view text, const std::string& where) {
  return Parse(text, where, kTime);
}
std::int64_t ParseBandwidth(std::string_view text, const std::string& where) {
  return Parse(text, where, kBandwidth);
}

std::string PrintBytes(sim::Bytes bytes) {
  return Print(bytes, kBytes);
}
std::string PrintTime(sim::Picos time) {
  return Print(time, kTime);
}
std::string PrintBandwidth(std::int64_t bytes_per_second) {
  return Print(bytes_per_second, kBandwidth);
}

}  // namespace stowplan::formats
