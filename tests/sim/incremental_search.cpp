#include "tests/sim/incremental_search.h"

#include <algorithm>
#include <utility>

#include "sim/simulator.h"
#include "tests/sim/compare.h"

namespace berth::sim {
namespace {

// One run of the same length for all ops, so that a block placement is a coherent one.
std::vector<DeviceIndex> Blocks(const OpGraph& graph, const Cluster& cluster, Dice& dice) {
  std::vector<DeviceIndex> of_set(static_cast<std::size_t>(graph.colocation_sets()), -1);
  const auto length = std::max<OpIndex>(1, graph.size() / static_cast<OpIndex>(dice.Between(1, 6)));
  std::vector<DeviceIndex> devices;
  for (OpIndex i = 0; i < graph.size(); ++i) {
    DeviceIndex& device =
        of_set[static_cast<std::size_t>(graph.colocation_set()[static_cast<std::size_t>(i)])];
    if (device < 0) device = i / length % cluster.size();
    devices.push_back(device);
  }
  return devices;
}

std::string Text(const Placement& base, const std::vector<Move>& moves) {
  std::string text = "base:";
  for (const DeviceIndex d : base.device) text += " " + std::to_string(d);
  text += "\nmoves:";
  for (const Move& move : moves) text += " " + std::to_string(move.op) + "->" + std::to_string(move.device);
  return text + "\n";
}

}  // namespace

void AddMove(std::vector<Move>& moves, const OpGraph& graph, const Cluster& cluster, Dice& dice) {
  const std::vector<std::int32_t>& sets = graph.colocation_set();
  const std::int32_t set = dice.OneOf(sets);
  const auto device = static_cast<DeviceIndex>(dice.Between(0, cluster.size() - 1));
  for (OpIndex i = 0; i < graph.size(); ++i) {
    if (sets[static_cast<std::size_t>(i)] == set) moves.push_back({i, device});
  }
}

std::string DifferenceOfSearch(const RandomCase& c, int trials, Dice& dice) {
  const Problem problem(c.graph, c.cluster, c.costs);
  const auto simulator = MakeSimulator(problem);
  const auto incremental = MakeIncrementalSimulator(problem);
  Placement base = c.placement;
  if (dice.Percent(50)) base.device = Blocks(c.graph, c.cluster, dice);
  const auto compare = [&](const Outcome& actual, const Placement& placement, const RunOptions& options,
                           const std::vector<Move>& moves) -> std::string {
    const Outcome expected = simulator->Run(placement, options);
    const std::string difference = expected.stopped != actual.stopped
                                       ? "stopped"
                                       : FirstDifference(expected, actual, c.graph, c.cluster);
    if (difference.empty()) return "";
    return difference + "\n" + Text(base, moves) + PrintCase(c);
  };
  std::string difference = compare(incremental->Base(base), base, {}, {});
  for (int i = 0; i < trials && difference.empty(); ++i) {
    std::vector<Move> moves;
    for (auto n = dice.OneOf<int>({0, 1, 1, 1, 1, 2, 3, 5}); n > 0; --n) {
      AddMove(moves, c.graph, c.cluster, dice);
    }
    Placement moved = base;
    for (const Move& move : moves) moved.device[static_cast<std::size_t>(move.op)] = move.device;
    RunOptions options;
    if (dice.Percent(20)) {
      const Picos runtime = simulator->Run(moved).runtime;
      options.cutoff =
          dice.OneOf<Picos>({0, runtime / 3, runtime - 30 * kPicosPerMicro, runtime - 1, runtime});
    }
    if (dice.Percent(5)) options.record = RunOptions::Record::kTimeline;
    difference = compare(incremental->RunTrial(moves, options), moved, options, moves);
    if (difference.empty() && dice.Percent(20)) {
      incremental->Commit();
      std::swap(base, moved);
      // `moved` is what was before.
      if (dice.Percent(30)) {
        for (Move& move : moves) move.device = moved.device[static_cast<std::size_t>(move.op)];
        difference = compare(incremental->RunTrial(moves), moved, {}, moves);
        incremental->Commit();
        base = moved;
      }
      if (difference.empty() && incremental->base().device != base.device) difference = "base() is another";
    }
  }
  return difference;
}

}  // namespace berth::sim
