#include "sim/formats/document/json_text.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace stowplan::formats {
namespace {

bool IsHarmless(char c) {
  return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

struct AttributePrinter {
  std::string& out;

  void operator()(std::nullptr_t) const { out += "null"; }
  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(std::int64_t value) const { fmt::format_to(std::back_inserter(out), "{}", value); }
  void operator()(double value) const {
    const auto begin = out.size();
    AppendJsonNumber(out, value);
    if (out.find_first_not_of("-0123456789", begin) == std::string::npos) out += ".0";
  }
  void operator()(const std::string& value) const { AppendJsonString(out, value); }
  void operator()(const sim::Attribute::List& list) const {
    out += '[';
    const char* separator = "";
    for (const auto& item : list) {
      out += std::exchange(separator, ", ");
      AppendJsonAttribute(out, item);
    }
    out += ']';
  }
  void operator()(const sim::Attribute::Object& object) const { AppendJsonAttributes(out, object); }
};

}  // namespace

void AppendJsonString(std::string& out, std::string_view text) {
  if (std::all_of(text.begin(), text.end(), IsHarmless)) {
    (out += '"').append(text) += '"';
    return;
  }
  using nlohmann::json;
  out += json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string JsonString(std::string_view text) {
  std::string out;
  AppendJsonString(out, text);
  return out;
}

void AppendJsonNumber(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
  } else {
    fmt::format_to(std::back_inserter(out), "{}", value);
  }
}

void AppendJsonAttribute(std::string& out, const sim::Attribute& attribute) {
  std::visit(AttributePrinter{out}, attribute.value);
}

void AppendJsonAttributes(std::string& out, const sim::Attributes& attributes) {
  out += '{';
  const char* separator = "";
  for (const auto& [key, value] : attributes) {
    out += std::exchange(separator, ", ");
    AppendJsonString(out, key);
    out += ": ";
    AppendJsonAttribute(out, value);
  }
  out += '}';
}

std::string JsonMicros(sim::Picos time) {
  std::string text = fmt::format("{}{}", time < 0 ? "-" : "", std::abs(time / sim::kPicosPerMicro));
  const auto rest = std::abs(time % sim::kPicosPerMicro);
  if (rest != 0) {
    text += fmt::format(".{:06}", rest);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text;
}

}  // namespace stowplan::formats
