// random_dag: a seeded graph in layers. Every op but the first layer's reads 1 to `fan_in` different ops, the
// first of them from the layer before, the others from any earlier one. Times are uniform in [1, 2 us - 1]
// whole microseconds, bytes uniform in [0, 2 bytes]; the same seed gives the same graph on every platform. ops times
// fan_in is 10 million at most.
//
//   ops=200   width=10   fan_in=3   us=100: mean   bytes=1000000: mean   seed=1   cost=us|flops (chain.cpp)
#include <algorithm>

#include "scenarios/builder/workload_options.h"
#include "scenarios/workloads/dice.h"
#include "scenarios/workloads/specimen.h"
#include "scenarios/workloads/workloads.h"
#include "sim/base/error.h"

namespace stowplan::scenarios {
namespace {

constexpr std::int64_t kMostReads = 10'000'000;

std::vector<Tensor> Producers(Dice& dice, std::int64_t op, std::int64_t width, std::int64_t fan_in) {
  const std::int64_t layer_begin = op / width * width;
  if (layer_begin == 0) return {};
  std::vector<Tensor> producers = {{static_cast<sim::OpIndex>(layer_begin - width + dice.Roll(width)), 0}};
  const std::int64_t more = dice.Roll(fan_in);
  for (std::int64_t i = 0; i < more; ++i) {
    const Tensor drawn = {static_cast<sim::OpIndex>(dice.Roll(layer_begin)), 0};
    if (std::find(producers.begin(), producers.end(), drawn) == producers.end()) producers.push_back(drawn);
  }
  return producers;
}

}  // namespace

sim::OpGraph BuildRandomDag(const Settings& read) {
  const std::int64_t ops = read.Int("ops");
  const std::int64_t width = read.Int("width");
  const std::int64_t fan_in = read.Int("fan_in");
  if (ops * fan_in > kMostReads) {
    throw InputError("random_dag of " + std::to_string(ops) + " ops that read up to " +
                     std::to_string(fan_in) + " others each; ops times fan_in may be " +
                     std::to_string(kMostReads) + " at most");
  }
  const std::int64_t us = read.Int("us");
  const sim::Bytes bytes = read.Int("bytes");
  const std::int64_t seed = read.Int("seed");
  const SpecimenCost cost = ReadSpecimenCost(read);

  sim::OpGraph graph;
  graph.name = read.name();
  graph.attributes = Describe(read, (ops + width - 1) / width, "stage");
  Dice dice(static_cast<std::uint64_t>(seed));
  for (std::int64_t i = 0; i < ops; ++i) {
    std::vector<Tensor> producers = Producers(dice, i, width, fan_in);
    const auto time = static_cast<double>(1 + dice.Roll(2 * us - 1));
    sim::Op op = SpecimenOp("op" + std::to_string(i), cost, time, dice.Roll(2 * bytes + 1));
    op.inputs = std::move(producers);
    op.attributes =
        LocationAttributes({.stage = static_cast<int>(i / width), .branch = static_cast<int>(i % width)});
    graph.ops.push_back(std::move(op));
  }
  graph.Finish();
  return graph;
}

}  // namespace stowplan::scenarios
