// Members of JSON that others wrote: read where they are what one hopes for, passed over where they are not.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/formats/document/document.h"

namespace stowplan::profiler {

// The members of an object, whatever they are: unlike stowplan's own files these hold keys that nobody listed.
class Loose {
 public:
  explicit Loose(std::optional<formats::Value> object) {
    if (!object || !object->IsObject()) return;
    for (const auto [key, value] : object->members()) members_.emplace_back(key, value);
  }
  std::optional<formats::Value> Find(std::string_view key) const {
    for (const auto& [name, value] : members_) {
      if (name == key) return value;
    }
    return std::nullopt;
  }
  std::string Text(std::string_view key) const {
    const auto value = Find(key);
    return value && value->kind() == formats::ValueKind::kString ? std::string(value->Text()) : std::string();
  }
  // Whole numbers, also where they are written as text ("stream": "7"); else the fallback.
  std::int64_t Int(std::string_view key, std::int64_t fallback = 0) const {
    const auto value = Find(key);
    if (!value) return fallback;
    if (value->kind() == formats::ValueKind::kInteger) return value->Int();
    if (value->IsNumber())
      return static_cast<std::int64_t>(std::llround(std::clamp(value->Number(), -9e18, 9e18)));
    if (value->kind() != formats::ValueKind::kString) return fallback;
    const std::string text(value->Text());
    char* end = nullptr;
    const std::int64_t number = std::strtoll(text.c_str(), &end, 10);
    return text.empty() || *end != '\0' ? fallback : number;
  }
  std::int32_t Small(std::string_view key, std::int32_t fallback = 0) const {
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(Int(key, fallback), INT32_MIN, INT32_MAX));
  }
  std::array<std::int32_t, 3> Three(std::string_view key) const {
    std::array<std::int32_t, 3> numbers{};
    const auto value = Find(key);
    if (!value || !value->IsList() || value->size() != numbers.size()) return numbers;
    std::size_t i = 0;
    for (const formats::Value item : value->items()) {
      if (item.IsNumber())
        numbers[i] = static_cast<std::int32_t>(std::clamp(item.Number(), 0.0, 2147483647.0));
      ++i;
    }
    return numbers;
  }
  // The index of the member's text among the names; 0 where it is none of them.
  template <typename Names>
  std::size_t Choice(std::string_view key, const Names& names) const {
    const auto found = std::find(std::begin(names), std::end(names), Text(key));
    return found == std::end(names) ? 0 : static_cast<std::size_t>(found - std::begin(names));
  }
  const std::vector<std::pair<std::string, formats::Value>>& members() const { return members_; }

 private:
  std::vector<std::pair<std::string, formats::Value>> members_;
};

}  // namespace stowplan::profiler
