// The exporters behind the table in registry.cpp, one file each (docs/exporting.md). Each refuses, with one InputError that
// says what is in the way and what would be right, a placement that the other program cannot run as it stands.
#pragma once

#include "scenarios/scenarios.h"

namespace stowplan::scenarios {

Exported ExportDeviceMap(const ExportInput& input);
Exported ExportPipeline(const ExportInput& input);
Exported ExportMegatron(const ExportInput& input);
Exported ExportVllm(const ExportInput& input);
Exported ExportOnnxRuntime(const ExportInput& input);
Exported ExportOnnxRuntimeModel(const ExportInput& input);
Exported ExportOnnxRuntimeMemory(const ExportInput& input);
Exported ExportLlamaCpp(const ExportInput& input);
Exported ExportDot(const ExportInput& input);
Exported ExportGraphMl(const ExportInput& input);
Exported ExportPerfetto(const ExportInput& input);

}  // namespace stowplan::scenarios
