// Where the events of a Kineto trace stand in its text, so that they can be read one by one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stowplan::profiler {

struct EventTexts {
  std::vector<std::string_view> events;  // of `json`: objects, in their order
  std::string rest;                      // the text with an empty list in their place
  bool cut = false;  // the text ends before the list or the object does, whose end is made up then
};

// Of an object with a list "traceEvents". Nothing where that is not what it looks like: brackets are counted here, nothing is
// checked.
std::optional<EventTexts> FindEvents(std::string_view json);

// Whether an event only says how others are drawn, by what it begins with: arrows between them, names of processes and threads. Most
// of a trace may be such.
bool IsDrawing(std::string_view event);

}  // namespace stowplan::profiler
