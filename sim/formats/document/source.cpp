#include "sim/formats/document/source.h"

#include <algorithm>

namespace stowplan::formats {
namespace {

// The bytes of the well-formed UTF-8 sequence that `text` begins with; 0 = there is none (RFC 3629: no overlong
// forms, no surrogates, nothing beyond U+10FFFF).
std::size_t SequenceLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool shortest = first != 0xE0 || second >= 0xA0;
    const bool surrogate = first == 0xED && second >= 0xA0;
    return continues(1) && continues(2) && shortest && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool in_range = (first != 0xF0 || second >= 0x90) && (first != 0xF4 || second < 0x90);
    return continues(1) && continues(2) && continues(3) && in_range ? 4 : 0;
  }
  return 0;
}

// The control character that `text` begins with; 0 = none.
std::size_t ControlLength(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x20 || first == 0x7F) return 1;
  const bool upper = first == 0xC2 && text.size() > 1 && static_cast<unsigned char>(text[1]) < 0xA0;
  return upper ? 2 : 0;
}

}  // namespace

std::string Quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  std::string shown;
  while (!text.empty() && shown.size() < kShown) {
    // A file must not speak to the terminal.
    const std::size_t control = ControlLength(text);
    const std::size_t length = std::max<std::size_t>(control, SequenceLength(text));
    if (shown.size() + length > kShown) break;
    shown += control > 0 || length == 0 ? "?" : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return '"' + shown + (text.empty() ? "" : "...") + '"';
}

std::string Printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const std::size_t control = text[0] == '\n' ? 0 : ControlLength(text);
    const std::size_t length = std::max<std::size_t>(control, SequenceLength(text));
    shown += control > 0 || length == 0 ? "?" : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return shown;
}

bool HasControl(std::string_view text) {
  for (; !text.empty(); text.remove_prefix(1)) {
    if (ControlLength(text) > 0) return true;
  }
  return false;
}

void CheckUtf8(std::string_view text, const std::string& source) {
  if (text.starts_with("\xEF\xBB\xBF"))
    throw InputError(source + ": begins with a byte order mark; save it as UTF-8 without one");
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] > 0) {  // ASCII, which most of a file is
      ++at;
      continue;
    }
    const std::size_t length = SequenceLength(text.substr(at, 4));
    if (length == 0 || text[at] == '\0') {
      throw InputError(source + ":" + LineAndColumn(text, at) +
                       (length == 0 ? ": holds a byte that is not UTF-8" : ": holds a NUL byte") +
                       "; a file must be text in UTF-8");
    }
    at += length;
  }
}

std::string LineAndColumn(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = std::count(before.begin(), before.end(), '\n');
  const auto newline = before.rfind('\n');
  const auto column = newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
  return std::to_string(line + 1) + ":" + std::to_string(column + 1);
}

}  // namespace stowplan::formats
