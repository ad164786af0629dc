// Recordings of whole steps (profiler/step_recording.h) as the program keeps them: one file for each workload,
// and beside it the stowplan.cost_model of the ops that were probed then, as <name>.cost_model.json.
#pragma once

#include <string>
#include <vector>

#include "profiler/step_recording.h"
#include "sim/op_graph.h"

namespace stowplan::cli {

using profiler::MeasuredPlacement;
using Recording = profiler::StepRecording;

// Throws InputError as all readers do. A workload that is a graph file is looked for also beside the recording.
Recording ReadValidation(const std::string& path);

// The workload's graph as it was measured and is simulated: without costs of its own. folder: where a graph
// file may be, too.
sim::OpGraph LoadMeasuredGraph(const std::string& workload, const std::string& folder = {});

// The recordings in a folder, NAME.json.zst, by name. Throws InputError where there is none.
std::vector<std::string> FindRecordings(const std::string& folder);
// The stowplan.cost_model beside a recording: NAME.cost_model.json, or where there is none that of the folder,
// cost_model.json, if there is one.
std::string CostsBeside(const std::string& path);

// The name of its files: rnnlm(batch=4,steps=8) -> "rnnlm-batch=4-steps=8".
std::string FileStem(const std::string& workload);

}  // namespace stowplan::cli
