// What every reader does with the name of its file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "sim/error.h"

namespace berth::formats {

// What messages call the file of a path.
inline std::string SourceOf(const std::string& path) {
  return path == "-" ? "stdin" : path;
}

// A text of a file as messages show it: in quotes, cut where it is long, without control characters.
std::string Quoted(std::string_view text);

// The name of what a file holds where the file gives none: "models/net.json.zst" is "net".
inline std::string NameFromSource(const std::string& source) {
  std::filesystem::path stem = std::filesystem::path(source).filename();
  if (stem.extension() == ".zst") stem = stem.stem();
  return stem.stem().string();
}

// Runs a check of sim/, which does not know the file, and puts the file in front of what it says.
template <typename Check>
void CheckedAt(const std::string& source, const Check& check) {
  try {
    check();
  } catch (const InputError& error) {
    throw InputError(source + ": " + error.what());
  }
}

}  // namespace berth::formats
