#include "sim/base/spec.h"

#include <set>

#include "sim/base/error.h"

namespace stowplan {
namespace {

std::string_view Trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Splits at commas that stand outside parentheses and quotes.
std::vector<std::string_view> SplitArguments(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (quoted) continue;
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if (text[i] == ',' && depth == 0) {
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  parts.push_back(text.substr(begin));
  return parts;
}

bool Balanced(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '(') ++depth;
    if (c == ')' && --depth < 0) return false;
  }
  return depth == 0 && !quoted;
}

// The '=' of key=value; one inside parentheses belongs to a nested spec.
std::size_t FindAssignment(std::string_view text) {
  const auto equals = text.find('=');
  return equals < text.find('(') ? equals : std::string_view::npos;
}

}  // namespace

Spec Spec::Parse(std::string_view text) {
  const std::string quoted = "'" + std::string(text) + "'";
  text = Trim(text);
  const auto open = text.find('(');
  Spec spec;
  spec.name = std::string(Trim(text.substr(0, open)));
  if (spec.name.empty()) {
    throw InputError(quoted + " has no name; write NAME or NAME(key=value,...)");
  }
  if (open == std::string_view::npos) {
    if (!Balanced(text)) throw InputError(quoted + " closes a parenthesis that it never opened");
    return spec;
  }
  if (text.back() != ')' || !Balanced(text) || !Balanced(text.substr(open + 1, text.size() - open - 2))) {
    throw InputError(quoted + " has unbalanced parentheses; write NAME(key=value,...)");
  }
  const auto inside = text.substr(open + 1, text.size() - open - 2);
  if (Trim(inside).empty()) return spec;
  std::set<std::string_view> known;
  for (const auto part : SplitArguments(inside)) {
    const auto equals = FindAssignment(part);
    const auto key = Trim(part.substr(0, equals == std::string_view::npos ? 0 : equals));
    const auto value = Trim(equals == std::string_view::npos ? part : part.substr(equals + 1));
    if (value.empty() || (equals != std::string_view::npos && key.empty())) {
      throw InputError(quoted + " has an empty setting; write NAME(key=value,...)");
    }
    if (equals == std::string_view::npos) {
      spec.positional.emplace_back(value);
      continue;
    }
    if (!known.insert(key).second)
      throw InputError(quoted + " gives the setting '" + std::string(key) + "' twice");
    spec.named.emplace_back(key, value);
  }
  return spec;
}

std::string Spec::ToString() const {
  std::string text = name;
  const char* separator = "(";
  for (const auto& value : positional) {
    text += separator + value;
    separator = ",";
  }
  for (const auto& [key, value] : named) {
    text += separator + key + "=" + value;
    separator = ",";
  }
  if (*separator == ',') text += ")";
  return text;
}

std::string JoinNames(const std::vector<std::string>& names, const std::string& last) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " " + last + " " : ", ";
    text += names[i];
  }
  return text;
}

}  // namespace stowplan
