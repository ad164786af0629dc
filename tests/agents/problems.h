// Small problems for the tests of agents/: hand-made ones, and random ones from a seed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agents/agent.h"
#include "agents/task.h"
#include "sim/simulator.h"

namespace stowplan::agents {

// A graph on a cluster with costs. Not movable once made: the problem keeps references.
struct Case {
  sim::OpGraph graph;
  sim::Cluster cluster;
  std::unique_ptr<sim::Problem> problem;

  Case() = default;
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  // An op with one output; `costs` in us, one for all devices or one for each.
  sim::Op& Add(const std::string& name, std::vector<double> costs, std::vector<sim::OpIndex> inputs = {},
               sim::Bytes output_bytes = 1024);
  // `gpus` GPUs behind a switch with the CPU, 10 GB/s and 5 us a link, memory for everything.
  void UseGpus(int gpus, bool cpu = true);
  // Calls Finish() on both and makes the problem.
  const sim::Problem& Finish();

 private:
  std::vector<std::vector<double>> costs_;
};

// The placements that an agent evaluates.
std::vector<UnitPlacement> Record(const std::string& agent, const Task& task, std::int64_t budget = 1,
                                  std::uint64_t seed = 1);

// Three chained ops, the middle one forked; 3 units, so that every agent ends soon.
std::unique_ptr<Case> TinyCase();

// A recurrent model, unrolled, on a GPU for each layer: each step reads its layer's weights, the layer below and the step before,
// and has a gradient as large as the weights, which the layer sums. Ties to other layers are as many, but of states. The ops of a layer
// are named after it: layer0, layer0_….
std::unique_ptr<Case> RecurrentCase(int layers, int steps);

struct RandomOptions {
  int ops = 6;
  int gpus = 2;
  bool cpu = true;
  bool colocate = true;       // some ops share a device; may make cycles of colocation sets
  bool tight_memory = false;  // capacities that some placements break
  sim::Rules rules = sim::Rules::kNative;
};

// With variables, control edges, doubled inputs, views, workspace, dispatch, streams and unequal devices.
std::unique_ptr<Case> RandomCase(std::uint64_t seed, const RandomOptions& options);

// The agent's name, with the smallest useful networks where its row lists their sizes, and few screens: tests
// of contracts need no more. The one from outside is examples/outside_agent.py.
std::string SmallSpec(const AgentRow& row);

}  // namespace stowplan::agents
