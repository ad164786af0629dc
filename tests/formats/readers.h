// Every reader of text as one function, for tests that throw arbitrary bytes at all of them
// (mutation_test.cpp here, libFuzzer in tests/fuzz).
#pragma once

#include <span>
#include <string_view>

namespace stowplan::formats {

struct Reader {
  const char* name;
  const char* sample;  // a valid document in tests/formats/samples
  // Returns quietly if the text is read or refused (InputError); what is read must survive printing and
  // reading again, else it aborts. Any other exception leaves it.
  void (*read)(std::string_view text);
};
std::span<const Reader> Readers();

}  // namespace stowplan::formats
