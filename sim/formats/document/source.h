// What every reader does with the name of its file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "sim/base/error.h"

namespace stowplan::formats {

// What messages call the file of a path.
inline std::string SourceOf(const std::string& path) {
  return path == "-" ? "stdin" : path;
}

// A text of a file as messages show it: in quotes, cut where it is long, without control characters.
std::string Quoted(std::string_view text);

// Whether a text holds a control character of Unicode (also those from U+0080, and DEL), which neither a line of
// text nor a terminal should be given.
bool HasControl(std::string_view text);

// As a terminal may be given it: a `?` for each control character but ends of lines, and for each byte that is no UTF-8.
std::string Printable(std::string_view text);

// Refuses what is no plain UTF-8 text: a byte order mark, NUL, broken sequences. Places are "source:line:column",
// counted in bytes.
void CheckUtf8(std::string_view text, const std::string& source);

// Line and column, both from 1, of the byte at `offset`: "7:12".
std::string LineAndColumn(std::string_view text, std::size_t offset);

// The name of what a file holds where the file gives none: "models/net.json.zst" is "net".
inline std::string NameFromSource(const std::string& source) {
  std::filesystem::path stem = std::filesystem::path(source).filename();
  if (stem.extension() == ".zst") stem = stem.stem();
  return stem.stem().string();
}

// Returns what `check` does, and puts the file, or the place in it, in front of what it refuses: for checks of sim/
// and others who do not know the file. An empty source adds nothing.
template <typename Check>
decltype(auto) CheckedAt(const std::string& source, const Check& check) {
  if (source.empty()) return check();
  try {
    return check();
  } catch (const InputError& error) {
    throw InputError(source + ": " + error.what());
  }
}

}  // namespace stowplan::formats
