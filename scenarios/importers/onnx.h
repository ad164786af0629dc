// ONNX models (operator sets 1 to 23 of the standard), through the ONNX library. What is done how stands in
// docs/importing.md; the passes are in scenarios/importers/onnx/: model (read without weights), resolve (order,
// constants, shapes, subgraphs), lower (ops, FLOPs).
#pragma once

#include <string>

#include "scenarios/scenarios.h"

namespace stowplan::scenarios {

// Starts like a serialised ModelProto: nothing in ONNX says so outright.
bool RecognisesOnnx(const std::string& content);
// Where stowplan was built without the ONNX library this is an InputError that says so.
ImportedGraph ImportOnnx(const std::string& content, const std::string& source, const ImportOptions& options);

}  // namespace stowplan::scenarios
