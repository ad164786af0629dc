// The gate's runs as rows of a file (tables/derive/gate.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stowplan::tables {

struct GateRun {
  std::string gate_case, agent;  // key and spec
  std::int64_t seed = 1;
  double seconds = 0;  // of the best placement found; infinite = none fits
  double late_s =
      0;  // mean of the last tenth of the samples, as if memory were unlimited: what the policy has become
  double goal_s = 0;
  double single_device = 0;               // part of the last tenth of the samples that use one device alone
  double entropy = 0, gradient_norm = 0;  // of the last update [nat]; not finite where an agent logs none
  std::string experiment;                 // a hash of case, samples and the agent with all its parameters
  std::string revision;                   // that ran it; "(with changes)" where it is in no commit
};
std::string PrintGateRuns(const std::vector<GateRun>& runs);
// A last line without end is one that a kill cut off, and left out.
std::vector<GateRun> ParseGateRuns(std::string csv);

// Those of `runs` that are runs of the plan, one each: none of another experiment, case or agent. The last of several.
std::vector<GateRun> RunsOfPlan(const std::vector<GateRun>& plan, const std::vector<GateRun>& runs);

// The rows as they are finished, one at a time; a kill loses what is under way and no more.
class KeptRuns {
 public:
  // Those of the plan that are in `path`, where `resume` is asked for; an empty path keeps nothing.
  KeptRuns(const std::vector<GateRun>& plan, std::string path, bool resume);

  // Whether `run` was there, and is now as it was.
  bool Take(GateRun& run) const;
  // The file is replaced by the first run that is added, and not before. Throws RunError where it cannot be written.
  void Add(const GateRun& run);

 private:
  const std::string path_;
  std::vector<GateRun> runs_;  // that were there
  bool begun_ = false;
};

}  // namespace stowplan::tables
