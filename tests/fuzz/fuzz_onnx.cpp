// libFuzzer's entry for the ONNX importer. With STOWPLAN_FUZZ_SEEDS=DIR it writes the sample models there first.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>

#include "scenarios/importers/onnx.h"
#include "sim/base/error.h"
#include "sim/formats/formats.h"
#include "tests/scenarios/onnx/samples.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (const char* folder = std::getenv("STOWPLAN_FUZZ_SEEDS")) {
    for (const auto& [name, bytes] : stowplan::scenarios::SampleModels()) {
      std::ofstream(std::string(folder) + "/" + name + ".onnx", std::ios::binary) << bytes;
    }
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  for (const char* training : {"", "adam"}) {
    try {
      const auto imported =
          stowplan::scenarios::ImportOnnx(bytes, "input", {.dims = {{"batch", 2}}, .training = training});
      const std::string text = stowplan::formats::PrintGraph(imported.graph);
      STOWPLAN_CHECK_EQ(stowplan::formats::PrintGraph(stowplan::formats::ParseGraph(text, "printed")), text);
    } catch (const stowplan::InputError& error) {
      STOWPLAN_CHECK(*error.what() != '\0');
    }
  }
  return 0;
}
