// libFuzzer's entry for the importer of execution traces: what stands behind the first NUL is the Kineto trace. With
// STOWPLAN_FUZZ_SEEDS=DIR it writes the hand-made pair there first, and its execution trace alone.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/scenarios/trace_reader.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (const char* folder = std::getenv("STOWPLAN_FUZZ_SEEDS")) {
    const std::string data = STOWPLAN_SOURCE_DIR "/tests/scenarios/data/";
    const std::string execution = stowplan::formats::ReadFile(data + "step_execution.json");
    std::ofstream(std::string(folder) + "/alone", std::ios::binary) << execution;
    std::ofstream(std::string(folder) + "/pair", std::ios::binary)
        << execution << '\0' << stowplan::formats::ReadFile(data + "step_kineto.json");
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(bytes.find('\0'), bytes.size());
  stowplan::scenarios::ReadDamagedTrace(bytes.substr(0, end), bytes.substr(std::min(end + 1, bytes.size())));
  return 0;
}
