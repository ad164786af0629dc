#include "tables/report/gate_cases.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "agents/agent.h"
#include "problem/fingerprint.h"
#include "sim/base/error.h"

namespace stowplan::tables {
namespace {

constexpr std::int64_t kSamples = 5'000;  // 250 updates of a learner with 20 placements each

// Ops of 10 ms whose copies take microseconds: source, sink and an equal share of the rest.
GateCase Balance(int ops, int devices) {
  const int share = (ops + devices - 1) / devices;
  return {fmt::format("balance_{}_{}", ops, devices),
          fmt::format("{} ops on {}", ops, devices),
          fmt::format("diamond(width={},us=10000,bytes=1000)", ops),
          fmt::format("k80(gpus={})", devices),
          "colocation",
          kSamples,
          (share + 2) * 0.01};
}

// Chains of 16 ops of 10 ms, joined at both ends, whose copies take as long as an op: one on each device.
GateCase Chains(int devices) {
  return {fmt::format("chains_{}", devices),
          fmt::format("{0} chains on {0}", devices),
          fmt::format("diamond(width={},depth=16,us=10000,bytes=100000000)", devices),
          fmt::format("k80(gpus={})", devices),
          "colocation",
          kSamples,
          0,
          false};
}

// Empty where this build lacks the agent's plug-in: its rows are then shown as they are.
std::string ExperimentOf(const GateCase& gate, const std::string& name) {
  if (name.empty()) return "";
  problem::Fingerprint fingerprint;
  for (const std::string& text : {gate.graph, gate.cluster, gate.grouper, name}) fingerprint.Add(text);
  fingerprint.Add(gate.samples);
  return fingerprint.ToString();
}

// With all its parameters; empty where this build lacks it.
std::string FullName(const std::string& agent) {
  try {
    return agents::MakeAgent(agent)->name();
  } catch (const RunError&) {
    return "";
  }
}

}  // namespace

const std::vector<GateCase>& GateCases() {
  static const std::vector<GateCase> cases = [] {
    std::vector<GateCase> all;
    for (const int ops : {8, 64, 256}) {
      for (const int devices : {2, 4}) all.push_back(Balance(ops, devices));
    }
    for (const int devices : {2, 4}) {
      all.push_back(Chains(devices));
      // A copy of 100 MB to a neighbour takes some 7 ms; the ends are on one device, so one chain needs none.
      all.back().goal_s = 18 * 0.01 + 2 * 0.0066;
    }
    for (const int seed : {1, 2, 3, 4}) {
      all.push_back({fmt::format("tiny_{}", seed), fmt::format("tiny graph {}", seed),
                     fmt::format("random_dag(ops=10,width=3,seed={},us=1000,bytes=10000000)", seed),
                     "k80(gpus=2)", "colocation", kSamples, 0, true});
    }
    const char* const k80 = "k80(gpus=2)";
    for (const auto& [key, title, graph] :
         {std::tuple{"nasnet", "NASNet-A", "nasnet_a(batch=16,gradients=colocated)"},
          std::tuple{"amoebanet", "AmoebaNet-D", "amoebanet_d(batch=16,gradients=colocated)"},
          std::tuple{"rnnlm", "RNNLM", "rnnlm(layers=2,batch=32,gradients=colocated)"}}) {
      all.push_back({key, title, graph, k80, "neighbour(groups=96)", kSamples});
    }
    return all;
  }();
  return cases;
}

const std::vector<GateAgent>& GateAgents() {
  static const std::vector<GateAgent> agents = [] {
    std::vector<GateAgent> all = {
        {"control: factored", "factored", "factored(lr=0)", true},
        {"control: copy", "factored(action=copy)", "factored(action=copy,lr=0)", true},
        // Equal ops: the gradient that says which goes where is small until symmetry is broken.
        {"control: fast", "factored(lr=0.3)", "factored(lr=0)", true},
        {"control: copy, fast", "factored(action=copy,lr=0.3)", "factored(action=copy,lr=0)", true},
        {"control: walk", "factored(action=walk)", "factored(action=walk,lr=0)", true, 3, true},
        {"control: walk, fast", "factored(action=walk,lr=0.3)", "factored(action=walk,lr=0)", true, 3, true},
        {"random", kGateRandom, kGateRandom},
        {"one GPU", kGateOneGpu, kGateOneGpu, false, 1}};
    for (const agents::AgentRow& row : agents::Agents()) {
      if (row.kind != agents::AgentKind::kLearner) continue;
      const bool walks = std::string_view(row.name) == "placeto";  // the others draw whole placements
      for (const std::string preset : {"tuned", "paper"}) {
        all.push_back(
            {fmt::format("{}, {}", row.name, preset), fmt::format("{}(preset={})", row.name, preset),
             fmt::format("{}(preset={},lr=0)", row.name, preset), false, preset == "tuned" ? 3 : 1, walks});
      }
    }
    // Who has no verdict when the gate is stopped is best one of the presets that are known to learn little.
    std::stable_partition(all.begin(), all.end(),
                          [](const GateAgent& agent) { return agent.seeds > 1 || !agent.learner(); });
    return all;
  }();
  return agents;
}

int SeedsOf(const GateCase& gate, const GateAgent& agent) {
  return gate.real() ? std::max(agent.seeds, 2) : agent.seeds;
}

std::vector<GateRun> PlanGate(const std::vector<GateCase>& cases, const std::vector<GateAgent>& agents) {
  std::vector<GateRun> runs;
  std::set<std::pair<std::string, std::string>> planned;  // random without learning is random
  for (const GateAgent& agent : agents) {
    const std::map<std::string, std::string> names = {{agent.spec, FullName(agent.spec)},
                                                      {agent.untrained, FullName(agent.untrained)}};
    for (const GateCase& gate : cases) {
      for (const std::string& spec : {agent.spec, agent.untrained}) {
        if (!planned.emplace(gate.key, spec).second) continue;
        const std::string experiment = ExperimentOf(gate, names.at(spec));
        for (int seed = 1; seed <= SeedsOf(gate, agent); ++seed)
          runs.push_back({.gate_case = gate.key, .agent = spec, .seed = seed, .experiment = experiment});
      }
    }
  }
  return runs;
}

}  // namespace stowplan::tables
