#include "sim/formats/source.h"

namespace berth::formats {

std::string Quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  std::string shown(text.substr(0, kShown));
  if (text.size() > kShown) {
    // Not in the middle of a UTF-8 sequence.
    std::size_t end = kShown;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    shown.resize(end);
    shown += "...";
  }
  // A file must not speak to the terminal.
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return '"' + shown + '"';
}

}  // namespace berth::formats
