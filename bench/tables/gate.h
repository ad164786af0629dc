// The learning gate: does an agent learn at all (docs/protocol.md#gate)? Small problems whose optimum is known, and real
// ones on which an agent must beat itself without learning. Not a word about whose paper is right.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/tables/derived.h"

namespace berth::bench {

struct GateCase {
  std::string key;    // "balance_64_4"
  std::string title;  // "64 equal ops, 4 devices"
  std::string graph, cluster, grouper;
  std::int64_t samples = 0;
  double goal_s = 0;        // the optimum by hand; 0 = brute force finds it, or nothing is known of it
  bool exhaustive = false;  // brute force finds it
  bool real() const { return goal_s == 0 && !exhaustive; }
};
const std::vector<GateCase>& GateCases();

// An agent, and itself without learning.
struct GateAgent {
  std::string title, spec, untrained;
  bool control = false;  // no network: a case that none of these meets says nothing of one that has one
  int seeds = 3;         // real cases take two at least
  bool learner() const { return !control && spec != untrained; }
};
const std::vector<GateAgent>& GateAgents();

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
// What has to be run: a run for each case, agent, seed and spec, agent by agent, with the experiment of each.
std::vector<GateRun> PlanGate(const std::vector<GateCase>& cases, const std::vector<GateAgent>& agents);
// Runs them, the same numbers with any number of threads. Each finished run is added to options.rows_path at once; with
// options.resume those of the same experiment that are there already are taken, and the others dropped. The file there is
// as it was until the first run has ended. Throws Interrupted, with what is finished kept, and RunError where the file
// cannot be written.
std::vector<GateRun> RunGate(const std::vector<GateCase>& cases, const std::vector<GateAgent>& agents,
                             const DerivedOptions& options);

std::string PrintGateRuns(const std::vector<GateRun>& runs);
// A last line without end is one that a kill cut off, and left out.
std::vector<GateRun> ParseGateRuns(std::string csv);

// Those of `runs` that are runs of the plan, one each: none of another experiment, case or agent. The last of several.
std::vector<GateRun> RunsOfPlan(const std::vector<GateRun>& plan, const std::vector<GateRun>& runs);

struct GateVerdict {
  bool learned = true;
  std::vector<std::string> missed;  // keys of cases
  std::int64_t not_run = 0;         // runs that are wanted for a verdict and are not there
};
// On every case the last tenth of the samples of each seed must be below that of each seed without learning, and at most
// kGateGain of it in the mean (of what is above the optimum, where that is known); who fits beats who never does. Where it is known
// the median seed must also be at most half as far above it as `random` or everything on one GPU, whichever is less: the
// best of many draws says little of who drew them, and giving up on parallelism is no learning to place.
inline constexpr double kGatePart = 0.5, kGateGain = 0.95;
inline constexpr char kGateRandom[] = "random", kGateOneGpu[] = "single_gpu";
// Whether a control meets it, so that it counts; nothing where their runs are not all there.
std::optional<bool> Counts(const GateCase& gate, const std::vector<GateRun>& runs);
// Of the cases that count. Who missed one did not learn, whatever else was not run; a case whose controls were not run is
// not run either, and who met none has learned nothing.
GateVerdict Judge(const std::vector<GateCase>& cases, const GateAgent& agent,
                  const std::vector<GateRun>& runs);

std::string EvaluateGate(const std::vector<TableResults>& tables, const DerivedOptions& options);
RenderedTable RenderGate(const std::vector<TableResults>& tables, const std::string& rows);

}  // namespace berth::bench
