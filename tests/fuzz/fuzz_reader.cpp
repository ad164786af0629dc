// libFuzzer's entry for the reader named by STOWPLAN_FUZZ_READER.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tests/formats/readers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const auto& reader : stowplan::formats::Readers()) {
    if (std::string_view(reader.name) != STOWPLAN_FUZZ_READER) continue;
    reader.read({reinterpret_cast<const char*>(data), size});
    return 0;
  }
  std::abort();  // the list of readers and CMakeLists.txt differ
}
