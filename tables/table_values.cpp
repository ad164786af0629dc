#include "tables/table_values.h"

#include "sim/base/nearest_name.h"
#include "sim/base/rows.h"
#include "sim/base/settings.h"

namespace stowplan::tables {

using formats::Value;

// Keys stand in patterns of --cells, in names of files and of folders.
std::string KeyIn(const Value& value) {
  const std::string key = value.Name();
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  if (!std::ranges::all_of(key, plain) || key.front() == '.' || key.front() == '-')
    value.Fail(fmt::format(
        "is \"{}\"; a key has letters, digits, _ - and . alone and starts with none of the last two", key));
  CheckKeyLength(key, value);
  return key;
}

void CheckKeyLength(const std::string& key, const Value& value) {
  constexpr std::size_t kMost = 200;
  if (key.size() > kMost)
    value.Fail(fmt::format("has a key of {} characters; a `key` of at most {} is wanted", key.size(), kMost));
}

std::string KeyOf(const std::string& spec) {
  std::string key;
  for (const char c : spec) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter) key += c;
    if (!letter && !key.empty() && key.back() != '_') key += '_';
  }
  while (!key.empty() && key.back() == '_') key.pop_back();
  return key.empty() ? "_" : key;
}

bool HasKey(const Value& value, std::string_view key) {
  if (!value.IsObject()) return false;
  for (const auto member : value.members()) {
    if (member.key == key) return true;
  }
  return false;
}

std::string OneOf(const Value& value, const std::vector<std::string>& known, const std::string& what) {
  const std::string name = value.Name();
  if (std::ranges::find(known, name) == known.end())
    value.Fail(fmt::format("is {}, which is no {}{}; there are {}", name, what, DidYouMean(name, known),
                           JoinNames(known)));
  return name;
}

std::vector<std::string> SomeOf(const Value& value, const std::vector<std::string>& known,
                                const std::string& what) {
  std::vector<std::string> names;
  for (const Value item : value.items()) names.push_back(OneOf(item, known, what));
  if (names.empty()) value.Fail("is empty");
  return names;
}

std::string WithOption(const std::string& spec, const std::string& option) {
  if (option.empty()) return spec;
  if (spec.back() != ')') return fmt::format("{}({})", spec, option);
  return fmt::format("{},{})", spec.substr(0, spec.size() - 1), option);
}

const agents::AgentRow& AgentIn(const Value& value) {
  const std::string name = At(value, [&] { return Spec::Parse(value.Name()).name; });
  if (const agents::AgentRow* row = agents::FindAgent(name)) return *row;
  const std::vector<std::string> known = NamesOf(agents::Agents());
  value.Fail(fmt::format("names no agent{}; there are {}", DidYouMean(name, known), JoinNames(known)));
}

std::string GrouperIn(const Value& value) {
  std::string grouper = value.Name();
  At(value, [&] { agents::GrouperSettings(grouper); });
  return grouper;
}

std::int64_t GroupsOf(const std::string& grouper) {
  Spec spec = Spec::Parse(grouper);
  std::erase_if(spec.named, [](const auto& parameter) { return parameter.first != "groups"; });
  return Settings(spec, {{{"groups", "of the grouper", Whole(0, 1e9), "0"}}}).Int("groups");
}

}  // namespace stowplan::tables
