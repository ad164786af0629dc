// The measurements of one call of `stowplan-profile graph`: each placement is measured and the file rewritten whole, so that
// a run that is cut off continues with the same command.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "profiler/backend.h"
#include "profiler/graph_inputs.h"
#include "profiler/step_recording.h"

namespace stowplan::profiler {

struct GraphOptions {
  GraphInputs inputs;
  std::string device, out;
  std::vector<std::string> stand_in_types;
  StepPlan plan{.at_most = 90, .traced = 9};
  double again_seconds = 60;  // for measuring disturbed placements again, at most
  std::uint64_t seed = 0;
};

// Keeps references.
class GraphSession {
 public:
  // cpu: what runs ops on CPUs beside an accelerator's; null where the cluster has none. Throws InputError where there is
  // a recording of something else.
  GraphSession(const GraphOptions& options, const LoadedGraph& loaded, Backend& backend, Backend* cpu);
  // Measures what the recording lacks; the exit status. Throws as backends do.
  int Run();

 private:
  void Start();
  bool Add(const NamedPlacement& named);  // false where nothing more can be measured
  void ReadClocks();
  void Repeat();
  void Write();

  const GraphOptions& options_;
  const LoadedGraph& loaded_;
  Backend& backend_;
  Backend* cpu_;
  StepRecording recording_;
  std::unique_ptr<Executor> executor_;
  Pace pace_;
  std::int64_t clocks_read_ = 0;  // when [ns]; 0: never
  int failed_ = 0, failed_in_a_row_ = 0;
};

}  // namespace stowplan::profiler
