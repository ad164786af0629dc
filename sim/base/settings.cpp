#include "sim/base/settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "sim/base/error.h"
#include "sim/base/nearest_name.h"

namespace stowplan {
namespace {

using Kind = SettingValues::Kind;

template <typename T>
std::string PrintNumber(T value) {
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, result.ptr};
}

template <typename T>
bool ParseNumber(const std::string& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

double NumberIn(const std::string& text) {
  double value = 0;
  STOWPLAN_CHECK(ParseNumber(text, value));
  return value;
}

// The canonical number; empty = it is none, or out of range.
std::string ReadNumber(const SettingValues& values, const std::string& text) {
  const auto inside = [&](double value) {
    return std::isfinite(value) && value >= values.low && value <= values.high;
  };
  std::int64_t whole = 0;
  double number = 0;
  if (values.kind == Kind::kWhole)
    return ParseNumber(text, whole) && inside(static_cast<double>(whole)) ? PrintNumber(whole) : "";
  return ParseNumber(text, number) && inside(number) ? PrintNumber(number) : "";
}

std::string ReadYesNo(const std::string& text) {
  if (text == "yes" || text == "true" || text == "1") return "yes";
  return text == "no" || text == "false" || text == "0" ? "no" : "";
}

}  // namespace

SettingValues Whole(double low, double high) {
  return {Kind::kWhole, low, high};
}
SettingValues Number(double low, double high) {
  return {Kind::kNumber, low, high};
}
SettingValues YesNo() {
  return {.kind = Kind::kYesNo};
}
SettingValues OneOf(std::vector<std::string> choices) {
  return {.kind = Kind::kChoice, .choices = std::move(choices)};
}
SettingValues Text() {
  return {};
}

std::string ValuesText(const SettingValues& values) {
  if (values.kind == Kind::kText) return "";
  if (values.kind == Kind::kYesNo) return "yes or no";
  if (values.kind == Kind::kChoice) return JoinNames(values.choices, "or");
  const bool whole = values.kind == Kind::kWhole;
  const auto text = [&](double end) { return whole ? PrintNumber(std::int64_t(end)) : PrintNumber(end); };
  return (whole ? "a whole number " : "a number ") +
         (std::isfinite(values.high) ? "from " + text(values.low) + " to " + text(values.high)
                                     : "of at least " + text(values.low));
}

const Setting* SettingTable::Find(std::string_view name) const {
  const auto row = std::ranges::find(rows, name, &Setting::name);
  return row == rows.end() ? nullptr : &*row;
}

Settings::Settings(const Spec& spec, const SettingTable& table) : name_(spec.name) {
  std::vector<std::pair<std::string, Spec>> others;
  for (const auto& [when, defaults] : table.defaults) {
    others.emplace_back(when, Spec::Parse("defaults(" + defaults + ")"));
    for (const auto& [key, _] : others.back().second.named) STOWPLAN_CHECK(table.Find(key) != nullptr);
  }
  std::vector<std::string> known;
  for (const Setting& row : table.rows) {
    if (!Holds(row.only)) continue;
    known.push_back(row.name);
    const auto given = std::ranges::find(spec.named, row.name, &std::pair<std::string, std::string>::first);
    InForce now = Read(row, DefaultOf(row, others));
    std::string fallback = now.value;
    if (given != spec.named.end()) now = Read(row, given->second);
    now.fallback = std::move(fallback);
    in_force_.push_back(std::move(now));
  }
  const std::string takes = known.empty() ? "it takes none" : "it takes " + JoinNames(known);
  for (const auto& [key, _] : spec.named) {
    const Setting* row = table.Find(key);
    if (row != nullptr && !Holds(row->only))
      throw InputError(name_ + " takes '" + key + "' with " + row->only + " alone; " + takes);
    if (row == nullptr)
      throw InputError(name_ + " has no setting '" + key + "'" + DidYouMean(key, known) + "; " + takes);
  }
  if (!spec.positional.empty())
    throw InputError(name_ + ": '" + spec.positional.front() + "' is not of the form key=value; " + takes);
}

std::string Settings::DefaultOf(const Setting& row,
                                const std::vector<std::pair<std::string, Spec>>& others) const {
  std::string fallback = row.fallback;
  for (const auto& [when, defaults] : others) {
    for (const auto& [key, value] : defaults.named) {
      if (key == row.name && Holds(when)) fallback = value;
    }
  }
  if (row.relation.apply == nullptr) return fallback;
  const InForce& of = Find(row.relation.of);
  return PrintNumber(row.relation.apply(NumberIn(fallback), NumberIn(of.value), NumberIn(of.fallback)));
}

Settings::InForce Settings::Read(const Setting& row, const std::string& text) const {
  const SettingValues& values = row.values;
  InForce read{.setting = row.name};
  if (text.empty()) return read;  // there is no default
  if (values.kind == Kind::kText) read.value = text;
  if (values.kind == Kind::kWhole || values.kind == Kind::kNumber) read.value = ReadNumber(values, text);
  if (values.kind == Kind::kYesNo) read.value = ReadYesNo(text);
  if (values.kind == Kind::kChoice) {
    const auto choice = std::ranges::find(values.choices, text);
    read.choice = static_cast<std::size_t>(choice - values.choices.begin());
    if (choice != values.choices.end()) read.value = text;
  }
  if (read.value.empty())
    throw InputError(name_ + ": setting '" + row.name + "' is '" + text + "', but must be " +
                     (values.choices.empty() ? ValuesText(values) : "one of " + JoinNames(values.choices)) +
                     DidYouMean(text, values.choices));
  return read;
}

// KEY=VALUE|VALUE..., or nothing, which always holds.
bool Settings::Holds(const std::string& condition) const {
  if (condition.empty()) return true;
  const std::size_t equals = condition.find('=');
  const std::string value = '|' + Find(condition.substr(0, equals)).value + '|';
  return ('|' + condition.substr(equals + 1) + '|').find(value) != std::string::npos;
}

bool Settings::Has(std::string_view setting) const {
  return std::ranges::find(in_force_, setting, &InForce::setting) != in_force_.end();
}

const Settings::InForce& Settings::Find(std::string_view setting) const {
  const auto found = std::ranges::find(in_force_, setting, &InForce::setting);
  STOWPLAN_CHECK(found != in_force_.end());
  return *found;
}

std::int64_t Settings::Int(std::string_view setting) const {
  std::int64_t value = 0;
  STOWPLAN_CHECK(ParseNumber(Find(setting).value, value));
  return value;
}

double Settings::Double(std::string_view setting) const {
  return NumberIn(Find(setting).value);
}

bool Settings::Bool(std::string_view setting) const {
  return Is(setting, "yes");
}

std::string Settings::Text(std::string_view setting) const {
  std::string value = Find(setting).value;
  // Quotes around the whole of it are for names; what opens and closes more than once is the caller's.
  if (value.size() > 1 && value.front() == '"' && value.find('"', 1) == value.size() - 1)
    value = value.substr(1, value.size() - 2);
  return value;
}

bool Settings::Is(std::string_view setting, std::string_view value) const {
  return Find(setting).value == value;
}

std::string Settings::Canonical() const {
  Spec spec{name_, {}, {}};
  for (const InForce& each : in_force_) {
    if (!each.value.empty()) spec.named.emplace_back(each.setting, each.value);
  }
  return spec.ToString();
}

}  // namespace stowplan
