#include "cost_models/calibration/facts.h"

#include <cmath>

#include <fmt/format.h>

#include "sim/base/error.h"
#include "sim/base/units.h"

namespace stowplan::cost_models {

void Facts::Fail(const std::string& what) const {
  throw InputError(place_ + " " + what);
}

std::optional<Facts> Facts::Find(const std::string& key) const {
  const auto* object = std::get_if<sim::Attributes>(&value_->value);
  if (object == nullptr) Fail("must be an object");
  const sim::Attribute* found = sim::FindAttribute(*object, key);
  if (found == nullptr || *found == sim::Attribute{}) return std::nullopt;
  return Facts(*found, place_ + "." + key);
}

Facts Facts::Require(const std::string& key) const {
  auto found = Find(key);
  if (!found) Fail(fmt::format("has no '{}'", key));
  return *found;
}

std::vector<Facts> Facts::Items() const {
  const auto* list = std::get_if<sim::Attribute::List>(&value_->value);
  if (list == nullptr) Fail("must be a list");
  std::vector<Facts> items;
  for (std::size_t i = 0; i < list->size(); ++i)
    items.emplace_back((*list)[i], fmt::format("{}[{}]", place_, i));
  return items;
}

std::vector<std::pair<std::string, Facts>> Facts::Members() const {
  const auto* object = std::get_if<sim::Attributes>(&value_->value);
  if (object == nullptr) Fail("must be an object");
  std::vector<std::pair<std::string, Facts>> members;
  for (const auto& [key, value] : *object) members.emplace_back(key, Facts(value, place_ + "." + key));
  return members;
}

double Facts::Number(double low, double high) const {
  double number = NAN;
  if (const auto* whole = std::get_if<std::int64_t>(&value_->value)) number = static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value_->value)) number = *real;
  if (!(number >= low && number <= high)) Fail(fmt::format("must be a number between {} and {}", low, high));
  return number;
}

std::int64_t Facts::Int(std::int64_t low, std::int64_t high) const {
  const auto* whole = std::get_if<std::int64_t>(&value_->value);
  if (whole == nullptr || *whole < low || *whole > high)
    Fail(fmt::format("must be a whole number between {} and {}", low, high));
  return *whole;
}

const std::string& Facts::Text() const {
  const auto* text = std::get_if<std::string>(&value_->value);
  if (text == nullptr || text->empty()) Fail("must be a text");
  return *text;
}

bool Facts::Is(bool wanted) const {
  const auto* value = std::get_if<bool>(&value_->value);
  return value != nullptr && *value == wanted;
}

Repeats ReadRepeats(const Facts& facts) {
  const auto micros = [&](const char* key) { return facts.Require(key).Number(0, sim::kMaxMicros); };
  Repeats repeats;
  repeats.count = facts.Require("count").Int(1, std::int64_t{1} << 40);
  repeats.median_us = micros("median_us");
  if (const auto mad = facts.Find("mad_us")) repeats.mad_us = mad->Number(0, sim::kMaxMicros);
  repeats.low_us = micros("p05_us");
  repeats.high_us = micros("p95_us");
  if (repeats.low_us > repeats.median_us || repeats.high_us < repeats.median_us)
    facts.Fail("must have its median between p05_us and p95_us");
  return repeats;
}

}  // namespace stowplan::cost_models
