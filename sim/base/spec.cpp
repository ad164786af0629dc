#include "sim/base/spec.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <set>

#include "sim/base/error.h"
#include "sim/base/nearest_name.h"

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

template <typename T>
std::string PrintNumber(T value) {
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, result.ptr};
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
      throw InputError(quoted + " has an empty parameter; write NAME(key=value,...)");
    }
    if (equals == std::string_view::npos) {
      spec.positional.emplace_back(value);
      continue;
    }
    if (!known.insert(key).second)
      throw InputError(quoted + " gives the parameter '" + std::string(key) + "' twice");
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

ParameterReader::ParameterReader(const Spec& spec) : spec_(spec) {}

const std::string* ParameterReader::Find(const std::string& key) {
  known_.push_back(key);
  for (const auto& [name, value] : spec_.named) {
    if (name == key) return &value;
  }
  return nullptr;
}

void ParameterReader::Note(const std::string& key, const std::string& value) {
  in_force_.emplace_back(key, value);
}

void ParameterReader::Fail(const std::string& key, const std::string& value,
                           const std::string& wanted) const {
  throw InputError(spec_.name + ": parameter '" + key + "' is '" + value + "', but must be " + wanted);
}

std::int64_t ParameterReader::Int(const std::string& key, std::int64_t fallback, std::int64_t low,
                                  std::int64_t high) {
  std::int64_t value = fallback;
  if (const std::string* text = Find(key)) {
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error != std::errc() || end != text->data() + text->size() || value < low || value > high) {
      std::string wanted = "a whole number";
      if (low != INT64_MIN) wanted += " of at least " + PrintNumber(low);
      if (high != INT64_MAX)
        wanted += (low != INT64_MIN ? " and" : " of") + (" at most " + PrintNumber(high));
      Fail(key, *text, wanted);
    }
  }
  Note(key, PrintNumber(value));
  return value;
}

double ParameterReader::Double(const std::string& key, double fallback, double low, double high) {
  double value = fallback;
  if (const std::string* text = Find(key)) {
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error != std::errc() || end != text->data() + text->size() || !std::isfinite(value) || value < low ||
        value > high) {
      std::string wanted = "a number";
      if (low > -1e300) wanted += " of at least " + PrintNumber(low);
      if (high < 1e300) wanted += (low > -1e300 ? " and" : " of") + (" at most " + PrintNumber(high));
      Fail(key, *text, wanted);
    }
  }
  Note(key, PrintNumber(value));
  return value;
}

bool ParameterReader::Bool(const std::string& key, bool fallback) {
  bool value = fallback;
  if (const std::string* text = Find(key)) {
    if (*text == "yes" || *text == "true" || *text == "1") {
      value = true;
    } else if (*text == "no" || *text == "false" || *text == "0") {
      value = false;
    } else {
      Fail(key, *text, "yes or no");
    }
  }
  Note(key, value ? "yes" : "no");
  return value;
}

std::string ParameterReader::String(const std::string& key, const std::string& fallback) {
  const std::string* text = Find(key);
  std::string value = text != nullptr ? *text : fallback;
  Note(key, value);
  // Quotes around the whole of it are for names; what opens and closes more than once is the caller's.
  if (value.size() > 1 && value.front() == '"' && value.find('"', 1) == value.size() - 1)
    value = value.substr(1, value.size() - 2);
  return value;
}

std::string ParameterReader::Choice(const std::string& key, const std::vector<std::string>& choices) {
  STOWPLAN_CHECK(!choices.empty());
  std::string value = choices.front();
  if (const std::string* text = Find(key)) {
    if (std::find(choices.begin(), choices.end(), *text) == choices.end()) {
      Fail(key, *text, "one of " + JoinNames(choices) + DidYouMean(*text, choices));
    }
    value = *text;
  }
  Note(key, value);
  return value;
}

void ParameterReader::Finish() {
  const std::string known = known_.empty() ? "it takes none" : "it takes " + JoinNames(known_);
  for (const auto& [name, _] : spec_.named) {
    if (std::find(known_.begin(), known_.end(), name) == known_.end()) {
      throw InputError(spec_.name + " has no parameter '" + name + "'" + DidYouMean(name, known_) + "; " +
                       known);
    }
  }
  if (!spec_.positional.empty()) {
    throw InputError(spec_.name + ": '" + spec_.positional.front() + "' is not of the form key=value; " +
                     known);
  }
}

std::string ParameterReader::Canonical() const {
  Spec spec{spec_.name, {}, {}};
  for (const auto& [key, value] : in_force_) {
    if (!value.empty()) spec.named.emplace_back(key, value);
  }
  return spec.ToString();
}

std::string JoinNames(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

}  // namespace stowplan
