// The ONNX file that was placed.
#pragma once

#include <string>

#include "scenarios/exporters/exporters.h"

namespace stowplan::scenarios {

// The file's bytes. Throws InputError where the graph is none.
std::string ReadPlacedOnnx(const ExportInput& input, const char* exporter);

}  // namespace stowplan::scenarios
