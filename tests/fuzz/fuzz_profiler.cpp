// libFuzzer's entry for the profiler's reader named by STOWPLAN_FUZZ_READER. With STOWPLAN_FUZZ_SEEDS=DIR it writes the
// sample that no file holds there first.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "tests/profiler/readers.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (const char* folder = std::getenv("STOWPLAN_FUZZ_SEEDS"))
    std::ofstream(std::string(folder) + "/steps.json") << stowplan::profiler::SampleStepRecording();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const auto& reader : stowplan::profiler::ProfilerReaders()) {
    if (std::string_view(reader.name) != STOWPLAN_FUZZ_READER) continue;
    reader.read({reinterpret_cast<const char*>(data), size});
    return 0;
  }
  std::abort();  // the list of readers and CMakeLists.txt differ
}
