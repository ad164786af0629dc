#include "scenarios/exporters/placed_onnx.h"

#include <filesystem>

#include <fmt/format.h>

#include "scenarios/importers/onnx.h"
#include "sim/base/error.h"
#include "sim/formats/formats.h"

namespace stowplan::scenarios {

std::string ReadPlacedOnnx(const ExportInput& input, const char* exporter) {
  const bool is_file = std::filesystem::is_regular_file(input.graph_file);
  std::string model = is_file ? formats::ReadFile(input.graph_file) : std::string();
  if (!RecognisesOnnx(model)) {
    throw InputError(
        fmt::format("{}: needs the ONNX file that was placed, but the graph is {}; give the model itself as "
                    "--graph, or take --to onnxruntime.",
                    exporter, input.graph_file));
  }
  return model;
}

}  // namespace stowplan::scenarios
