// libFuzzer's entry for the reader of tables, measurements or imports named by STOWPLAN_FUZZ_READER. With STOWPLAN_FUZZ_SEEDS=DIR it
// writes its sample there first.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "tests/tables/readers.h"

namespace {

const stowplan::tables::FileReader& Reader() {
  for (const auto& reader : stowplan::tables::STOWPLAN_FUZZ_READERS()) {
    if (std::string_view(reader.name) == STOWPLAN_FUZZ_READER) return reader;
  }
  std::abort();  // the list of readers and CMakeLists.txt differ
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (const char* folder = std::getenv("STOWPLAN_FUZZ_SEEDS"))
    std::ofstream(std::string(folder) + "/sample", std::ios::binary) << Reader().sample();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Reader().read({reinterpret_cast<const char*>(data), size});
  return 0;
}
