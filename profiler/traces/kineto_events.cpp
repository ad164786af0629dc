#include "profiler/traces/kineto_events.h"

#include <algorithm>
#include <cstddef>

namespace stowplan::profiler {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

std::size_t SkipBlanks(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(kBlanks, at), text.size());
}

// Behind the string that begins at `at`; the text's size where it does not end.
std::size_t SkipString(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    at = text.find_first_of("\"\\", at);
    if (at == std::string_view::npos) return text.size();
    if (text[at] == '"') return at + 1;
    ++at;
  }
  return text.size();
}

// Behind the object or list that begins at `at`; npos where it does not end.
std::size_t SkipNested(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  while (at < text.size()) {
    at = text.find_first_of("\"{}[]", at);
    if (at == std::string_view::npos) break;
    if (text[at] == '"') {
      at = SkipString(text, at);
      continue;
    }
    depth += text[at] == '{' || text[at] == '[' ? 1 : 0;
    if (text[at] == '}' || text[at] == ']') --depth;
    ++at;
    if (depth == 0) return at;
  }
  return std::string_view::npos;
}

// Of the list that is the value of "traceEvents" in the outermost object: where it begins. npos if there is none.
std::size_t FindList(std::string_view json) {
  constexpr std::string_view kKey = "\"traceEvents\"";
  std::size_t at = SkipBlanks(json, 0);
  if (at >= json.size() || json[at] != '{') return std::string_view::npos;
  ++at;
  while (at < json.size()) {
    at = json.find_first_of("\"{[}]", at);
    if (at == std::string_view::npos || json[at] == '}' || json[at] == ']') break;
    if (json[at] != '"') {
      at = SkipNested(json, at);
      continue;
    }
    const std::size_t end = SkipString(json, at);
    const std::size_t colon = SkipBlanks(json, end);
    if (json.substr(at, end - at) == kKey && colon < json.size() && json[colon] == ':') {
      const std::size_t list = SkipBlanks(json, colon + 1);
      return list < json.size() && json[list] == '[' ? list : std::string_view::npos;
    }
    at = end;
  }
  return std::string_view::npos;
}

}  // namespace

bool IsDrawing(std::string_view event) {
  constexpr std::string_view kKey = "\"ph\"";
  std::size_t at = SkipBlanks(event, 1);
  if (event.substr(at, kKey.size()) != kKey) return false;
  at = SkipBlanks(event, at + kKey.size());
  if (at >= event.size() || event[at] != ':') return false;
  const std::string_view value = event.substr(SkipBlanks(event, at + 1), 3);
  return value == "\"s\"" || value == "\"t\"" || value == "\"f\"" || value == "\"M\"";
}

std::optional<EventTexts> FindEvents(std::string_view json) {
  const std::size_t list = FindList(json);
  if (list == std::string_view::npos) return std::nullopt;
  EventTexts texts;
  std::size_t at = SkipBlanks(json, list + 1);
  while (at < json.size() && json[at] != ']') {
    if (json[at] != '{') return std::nullopt;
    const std::size_t end = SkipNested(json, at);
    if (end == std::string_view::npos) break;
    texts.events.push_back(json.substr(at, end - at));
    at = SkipBlanks(json, end);
    if (at < json.size() && json[at] == ',') {
      at = SkipBlanks(json, at + 1);
      if (at < json.size() && json[at] == ']') return std::nullopt;
    } else if (at < json.size() && json[at] != ']') {
      return std::nullopt;
    }
  }
  texts.cut = at >= json.size() || json[at] != ']';
  const std::string head = std::string(json.substr(0, list)) + "[]";
  if (!texts.cut) texts.rest = head + std::string(json.substr(at + 1));
  texts.cut = texts.cut || SkipNested(texts.rest, SkipBlanks(texts.rest, 0)) == std::string_view::npos;
  if (texts.cut) texts.rest = head + "}";
  return texts;
}

}  // namespace stowplan::profiler
