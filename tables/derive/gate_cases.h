// The learning gate: does an agent learn at all (docs/protocol_rules.md#gate)? Small problems whose optimum is known, and real
// ones on which an agent must beat itself without learning. Not a word about whose paper is right.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tables/derive/gate_rows.h"

namespace stowplan::tables {

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
  bool control = false;  // no network: a case that none of its kind meets says nothing of one that has one
  int seeds = 3;
  bool walks =
      false;  // its samples are steps from a placement that it knows, some of them at random: a kind of its own
  bool learner() const { return !control && spec != untrained; }
};
const std::vector<GateAgent>& GateAgents();
inline constexpr char kGateRandom[] = "random", kGateOneGpu[] = "single_gpu";

// At least two on a real case.
int SeedsOf(const GateCase& gate, const GateAgent& agent);

// What has to be run: a run for each case, agent, seed and spec, agent by agent, with the experiment of each.
std::vector<GateRun> PlanGate(const std::vector<GateCase>& cases, const std::vector<GateAgent>& agents);
}  // namespace stowplan::tables
