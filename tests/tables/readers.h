// The readers of tables and of measurements as one function each, for tests that throw arbitrary bytes at all of them
// (mutation_test.cpp here, libFuzzer in tests/fuzz).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sim/base/error.h"

namespace stowplan::tables {

struct FileReader {
  const char* name;
  std::string (*sample)();  // a valid file
  // Returns quietly if the bytes are read or refused (InputError); what is read must survive printing and reading again,
  // else it aborts. Any other exception leaves it.
  void (*read)(std::string_view bytes);
};
std::span<const FileReader> FileReaders();
std::span<const FileReader> ImportReaders();  // of graphs and placements that others wrote

// Runs `read` and gives what it throws on input to the wind.
template <typename Read>
void Tolerate(const Read& read) {
  try {
    read();
  } catch (const InputError& error) {
    STOWPLAN_CHECK(*error.what() != '\0');
  }
}

}  // namespace stowplan::tables
