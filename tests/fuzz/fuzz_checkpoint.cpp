// libFuzzer's entry for the reader of checkpoints and policies, and for the fields of their sections. The first byte
// decides whether the bytes are a whole file or the sections of one whose checksum is right.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "agents/rl/checkpoint.h"
#include "agents/rl/nn/byte_state.h"
#include "sim/base/error.h"
#include "tests/temp_folder.h"

namespace {

using namespace stowplan::agents::rl;

void ReadFields(const std::string& bytes) {
  StateReader in(bytes, "input");
  try {
    for (;;) {
      switch (in.Get<std::uint8_t>() % 4) {
        case 0:
          in.GetList<double>();
          break;
        case 1:
          in.GetText();
          break;
        case 2:
          LoadRng(in);
          break;
        default:
          in.Get<std::int64_t>();
      }
    }
  } catch (const stowplan::InputError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (const char* folder = std::getenv("STOWPLAN_FUZZ_SEEDS")) {
    const std::string path = std::string(folder) + "/whole";
    WriteCheckpoint(path, {"placeto(lr=1e-3)", {{"weights", std::string(40, '\1')}, {"run", "abc"}}});
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    file.close();
    std::ofstream(path, std::ios::binary) << '\0' << bytes;
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const stowplan::tests::TempFolder folder;
  const std::string path = folder / "checkpoint";
  std::string bytes(reinterpret_cast<const char*>(data), size);
  const bool whole = bytes.empty() || bytes[0] % 2 == 0;
  if (!bytes.empty()) bytes.erase(0, 1);
  if (whole) {
    std::ofstream(path, std::ios::binary) << bytes;
  } else {
    WriteCheckpoint(path, {"placeto", {{"run", bytes}}});
  }
  try {
    const Checkpoint read = ReadCheckpoint(path);
    for (const auto& [name, section] : read.sections) ReadFields(section);
  } catch (const stowplan::InputError& error) {
    STOWPLAN_CHECK(whole && *error.what() != '\0');
  }
  return 0;
}
