// Static mapping by the Scotch library (Pellegrini, Roman, 1996), the partitioner baseline of the papers
// (docs/protocol_rules.md#partitioners).
//   scotch   maps onto all devices of the task; cpu=no leaves the CPUs out
//   mincut   the same call onto the GPUs alone: the MinCut baseline of ICML 2017 and ICLR 2018 was Scotch
//            without the CPU among its targets (recalled; no setting of it is published). Parts are balanced,
//            so it is no minimum s-t cut
// Vertex weights are costs on the first GPU, edge weights bytes; a device's share is its speed over all units
// (weights=speed) or the same for all (weights=equal). Knows nothing of memory, latency or the order of ops:
// fails where the critical path matters more than the balance. One sample.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>

extern "C" {
#include <scotch.h>
}

#include "agents/agents.h"
#include "agents/classical/partition_graph.h"
#include "sim/base/error.h"

namespace stowplan::agents {
namespace {

static_assert(sizeof(SCOTCH_Num) == sizeof(std::int32_t),
              "stowplan is written for Scotch with 32-bit numbers");

void Require(int error, const char* call) {
  if (error != 0) throw RunError(std::string("Scotch refused the call of ") + call);
}

// Scotch's structures with their lifetimes.
template <typename T, int (*Init)(T*), void (*Exit)(T*)>
class Owned {
 public:
  explicit Owned(const char* call) { Require(Init(&value_), call); }
  ~Owned() { Exit(&value_); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  T* get() { return &value_; }

 private:
  T value_;
};

using Context = Owned<SCOTCH_Context, SCOTCH_contextInit, SCOTCH_contextExit>;
using Graph = Owned<SCOTCH_Graph, SCOTCH_graphInit, SCOTCH_graphExit>;
using Strategy = Owned<SCOTCH_Strat, SCOTCH_stratInit, SCOTCH_stratExit>;
using Architecture = Owned<SCOTCH_Arch, SCOTCH_archInit, SCOTCH_archExit>;

// The part of each vertex. Repeatable and safe to call from several threads: a context of its own with one
// thread, the deterministic option and a random state of its own, without which the seed would go to a global
// generator.
std::vector<SCOTCH_Num> Map(PartitionGraph& graph, std::vector<SCOTCH_Num> shares, std::uint64_t seed) {
  Context context("contextInit");
  Require(SCOTCH_contextOptionSetNum(context.get(), SCOTCH_OPTIONNUMDETERMINISTIC, 1), "contextOptionSetNum");
  Require(SCOTCH_contextRandomClone(context.get()), "contextRandomClone");
  SCOTCH_contextRandomSeed(context.get(), static_cast<SCOTCH_Num>(seed & INT32_MAX));
  Require(SCOTCH_contextThreadSpawn(context.get(), 1, nullptr), "contextThreadSpawn");

  const auto vertices = static_cast<SCOTCH_Num>(graph.unit_cost.size());
  Graph plain("graphInit");
  Require(SCOTCH_graphBuild(plain.get(), 0, vertices, graph.offsets.data(), nullptr, graph.unit_cost.data(),
                            nullptr, static_cast<SCOTCH_Num>(graph.targets.size()), graph.targets.data(),
                            graph.edge_bytes.data()),
          "graphBuild");
  Graph bound("graphInit");
  Require(SCOTCH_contextBindGraph(context.get(), plain.get(), bound.get()), "contextBindGraph");
  Architecture architecture("archInit");
  Require(SCOTCH_archCmpltw(architecture.get(), static_cast<SCOTCH_Num>(shares.size()), shares.data()),
          "archCmpltw");
  Strategy strategy("stratInit");
  std::vector<SCOTCH_Num> part(graph.unit_cost.size());
  Require(SCOTCH_graphMap(bound.get(), architecture.get(), strategy.get(), part.data()), "graphMap");
  return part;
}

class Scotch final : public Agent {
 public:
  Scotch(const Settings& read, bool with_cpu_choice) : Agent(read.Canonical()) {
    with_cpu_ = with_cpu_choice && read.Bool("cpu");
    by_speed_ = read.Is("weights", "speed");
  }

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& options) override {
    if (evaluator.remaining() == 0 || evaluator.stop_requested()) return;
    const std::vector<sim::DeviceIndex> targets = with_cpu_ ? task.devices : Accelerators(task);
    UnitPlacement placement(task.units.ops.size(), targets.front());
    if (targets.size() > 1 && !placement.empty()) {
      PartitionGraph graph = MakePartitionGraph(task, Accelerators(task).front());
      const std::vector<SCOTCH_Num> part = Map(graph, Shares(task, targets), options.seed);
      for (std::size_t unit = 0; unit < placement.size(); ++unit) {
        placement[unit] = targets[static_cast<std::size_t>(part[unit])];
      }
    }
    evaluator.CountProposal();
    evaluator.Evaluate(placement);
  }

 private:
  // Speeds relative to the fastest device, which gets 1000.
  std::vector<SCOTCH_Num> Shares(const Task& task, const std::vector<sim::DeviceIndex>& targets) const {
    constexpr double kFastest = 1000;
    std::vector<double> seconds;
    for (const sim::DeviceIndex d : targets) {
      double sum = 0;
      for (UnitIndex unit = 0; unit < task.units.size(); ++unit)
        sum += static_cast<double>(task.unit_cost(unit, d));
      seconds.push_back(sum);
    }
    const double fastest = *std::min_element(seconds.begin(), seconds.end());
    std::vector<SCOTCH_Num> shares;
    for (const double device : seconds) {
      const double share = by_speed_ && device > 0 ? kFastest * fastest / device : kFastest;
      shares.push_back(static_cast<SCOTCH_Num>(std::max(1.0, std::round(share))));
    }
    return shares;
  }

  bool with_cpu_ = false;
  bool by_speed_ = true;
};

}  // namespace

std::unique_ptr<Agent> MakeScotch(const Settings& read) {
  return std::make_unique<Scotch>(read, true);
}
std::unique_ptr<Agent> MakeMinCut(const Settings& read) {
  return std::make_unique<Scotch>(read, false);
}

}  // namespace stowplan::agents
