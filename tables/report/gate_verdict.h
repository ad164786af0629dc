// Who learned, by the gate's runs (tables/report/gate_cases.h, docs/protocol.md#gate).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tables/report/gate_cases.h"

namespace stowplan::tables {

struct GateVerdict {
  bool learned = true;
  std::vector<std::string> missed;  // keys of cases
  std::int64_t not_run = 0;         // runs that are wanted for a verdict and are not there
  // Neither learned nor open: it missed a case that counts, or met none.
  bool failed() const { return !learned && (!missed.empty() || not_run == 0); }
};
// On every case the last tenth of the samples of each seed must be below that of each seed without learning, and at most
// kGateGain of it in the mean (of what is above the optimum, where that is known); who fits beats who never does. Where it is known
// the median seed must also be at most half as far above it as `random` or everything on one GPU, whichever is less: the
// best of many draws says little of who drew them, and giving up on parallelism is no learning to place.
inline constexpr double kGatePart = 0.5, kGateGain = 0.95;
// Whether a control of the agent's kind meets the case, other than those that learn to come less near than the agent is from
// the start; nothing where that hangs on controls whose runs are not all there.
std::optional<bool> Counts(const GateCase& gate, const GateAgent& agent, const std::vector<GateRun>& runs);
// Of the cases that count. Who missed one did not learn, whatever else was not run; a case whose controls were not run is
// not run either, and who met none has learned nothing.
GateVerdict Judge(const std::vector<GateCase>& cases, const GateAgent& agent,
                  const std::vector<GateRun>& runs);

// Runs that a verdict of the agent on the case wants, beside those of random and of one GPU.
std::int64_t NotRun(const GateCase& gate, const GateAgent& agent, const std::vector<GateRun>& runs);
// Nothing where a run is missing.
std::optional<bool> Meets(const GateCase& gate, const GateAgent& agent, const std::vector<GateRun>& runs);
// What the optimum leaves of the runtime, over what it leaves of random's or one GPU's, whichever is less. Nothing where a run
// is missing or an agent ended early: it has no late samples, and does not meet the case.
std::optional<double> PartOfReference(const GateCase& gate, const std::string& agent,
                                      const std::vector<GateRun>& runs);
// An agent's last tenths beside those of itself without learning.
struct Gain {
  double ratio =
      0;  // of the means, of what is above the optimum where that is known; NaN where one ended early
  bool only_ours_fits = false, met = false;
};
// Nothing where one of them has no run.
std::optional<Gain> GainOf(const GateCase& gate, const GateAgent& agent, const std::vector<GateRun>& runs);

}  // namespace stowplan::tables
