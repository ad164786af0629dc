// What the readers of a table's file share: keys, names that must be known, and errors told at their place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "agents/agent.h"
#include "sim/base/error.h"
#include "sim/formats/document/document.h"

namespace stowplan::tables {

// All throw InputError with the value's place.
std::string KeyIn(const formats::Value& value);
void CheckKeyLength(const std::string& key, const formats::Value& value);
std::string KeyOf(const std::string& spec);  // "chain_ops_4" of "chain(ops=4)"
bool HasKey(const formats::Value& value, std::string_view key);
std::string OneOf(const formats::Value& value, const std::vector<std::string>& known,
                  const std::string& what);
std::vector<std::string> SomeOf(const formats::Value& value, const std::vector<std::string>& known,
                                const std::string& what);
const agents::AgentRow& AgentIn(const formats::Value& value);
std::string GrouperIn(const formats::Value& value);  // known, with parameters that it has

// How many groups "neighbour(groups=128)" makes; 0 where it does not say.
std::int64_t GroupsOf(const std::string& grouper);

// "inception_v3(batch=64)" with "gradients=free" is "inception_v3(batch=64,gradients=free)".
std::string WithOption(const std::string& spec, const std::string& option);

// An InputError of something that the file names, told at its place.
template <typename Function>
auto At(const std::string& place, Function function) {
  try {
    return function();
  } catch (const InputError& error) {
    throw InputError(place + ": " + error.what());
  }
}
// To find the place of a row takes a walk along the rows before it.
template <typename Function>
auto At(const formats::Value& value, Function function) {
  try {
    return function();
  } catch (const InputError& error) {
    throw InputError(value.Place() + ": " + error.what());
  }
}

template <typename Entries>
std::vector<std::string> KeysOf(const Entries& entries) {
  std::vector<std::string> keys;
  for (const auto& entry : entries) keys.push_back(entry.key);
  return keys;
}

template <typename Entry>
void Add(Entry entry, const formats::Value& value, std::vector<Entry>& entries) {
  if (std::ranges::any_of(entries, [&](const Entry& other) { return other.key == entry.key; }))
    value.Fail(fmt::format("has the key {} of another; give it a `key` of its own", entry.key));
  CheckKeyLength(entry.key, value);
  entries.push_back(std::move(entry));
}

}  // namespace stowplan::tables
