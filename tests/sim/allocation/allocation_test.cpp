// Nothing is allocated in a run: a simulator that has run once in each issue order runs any other placement
// and recording of ops without a call of operator new. A program of its own, because it replaces that operator
// (count_allocations.cpp).
#include "sim/simulator.h"
#include "tests/sim/allocation/count_allocations.h"
#include "tests/sim/random_case.h"
#include "tests/testing.h"

namespace stowplan::sim {
namespace {

std::int64_t AllocationsOf(Simulator& simulator, const Placement& placement, const RunOptions& options) {
  const std::int64_t before = CountAllocations();
  simulator.Run(placement, options);
  return CountAllocations() - before;
}

// All on one device, which sends nothing; then placements that scatter, so that the first run needs least.
std::vector<Placement> Placements(const RandomCase& c) {
  std::vector<Placement> placements(1);
  placements[0].device.assign(c.graph.ops.size(), 0);
  Dice dice(c.seed);
  for (int i = 0; i < 6; ++i) placements.push_back(MakeRandomPlacement(c.graph, c.cluster, dice));
  Placement& prioritised = placements.emplace_back(placements.back());
  prioritised.order.clear();
  prioritised.priority.resize(c.graph.ops.size());
  std::iota(prioritised.priority.begin(), prioritised.priority.end(), 0.0);
  Placement& ordered = placements.emplace_back(prioritised);
  ordered.priority.clear();
  ordered.order = c.graph.topological_order();
  return placements;
}

struct Machine {
  Rules rules;
  std::string interconnect;
  Dispatch::Per per;
  Dispatch::Order order;
};

std::vector<Machine> Machines() {
  std::vector<Machine> machines;
  for (const char* interconnect : {"ideal", "fifo", "fair"}) {
    for (const auto per : {Dispatch::Per::kDevice, Dispatch::Per::kProcess}) {
      for (const auto order : {Dispatch::Order::kReady, Dispatch::Order::kProgram})
        machines.push_back({Rules::kNative, interconnect, per, order});
    }
  }
  machines.push_back({Rules::kPublished, "fifo", Dispatch::Per::kDevice, Dispatch::Order::kReady});
  return machines;
}

TEST(Allocation, TheCounterCounts) {
  const std::int64_t before = CountAllocations();
  std::vector<int> numbers(100);
  EXPECT_GT(CountAllocations(), before) << numbers.size();
}

TEST(Allocation, NoRunButTheFirstAllocates) {
  for (const Machine& machine : Machines()) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      RandomCase c = MakeRandomCase(seed, {.max_ops = 200, .solo = seed % 2 == 0});
      c.cluster.rules = machine.rules;
      if (!c.cluster.links.empty()) c.cluster.interconnect = machine.interconnect;
      c.cluster.dispatch.per = machine.per;
      c.cluster.dispatch.order = machine.order;
      const Problem problem(c.graph, c.cluster, c.costs);
      for (const auto record : {RunOptions::Record::kNothing, RunOptions::Record::kOps}) {
        const auto simulator = MakeSimulator(problem);
        const std::vector<Placement> placements = Placements(c);
        for (const std::size_t first : {std::size_t{0}, placements.size() - 2, placements.size() - 1})
          simulator->Run(placements[first], {record, {}});
        for (const Placement& placement : placements) {
          ASSERT_EQ(0, AllocationsOf(*simulator, placement, {record, {}}))
              << machine.interconnect << " " << PrintCase(c);
        }
      }
    }
  }
}

// Layers of `width` ops, each of which reads two of the layer before, on four devices that are linked with each other.
struct Layers {
  Layers(int ops, int width) {
    graph.name = "layers";
    Dice dice(1);
    for (int i = 0; i < ops; ++i) {
      Op op;
      op.name = std::to_string(i);
      op.type = "Opaque";
      op.outputs.push_back({.bytes = dice.Between(1, 1 << 20)});
      for (int k = 0; k < 2 && i >= width; ++k)
        op.inputs.push_back({static_cast<OpIndex>(i / width * width - dice.Between(1, width)), 0});
      graph.ops.push_back(std::move(op));
    }
    graph.Finish();
    cluster.name = "four";
    for (int d = 0; d < 4; ++d) {
      cluster.devices.push_back({.name = "gpu" + std::to_string(d), .kind = "gpu", .memory = Bytes{1} << 40});
      for (int other = 0; other < d; ++other)
        cluster.links.push_back({.name = "link" + std::to_string(other) + std::to_string(d),
                                 .ends = {other, d},
                                 .bandwidth = 10'000'000'000});
    }
    cluster.Finish();
    costs = {.cost_model = "drawn", .devices = 4, .picos = {}, .tier = {}};
    for (int i = 0; i < 4 * ops; ++i) costs.picos.push_back(dice.Between(1, 100) * kPicosPerMicro);
    costs.tier.assign(costs.picos.size(), Tier::kMeasured);
    for (int i = 0; i < ops; ++i) placement.device.push_back(static_cast<DeviceIndex>(dice.Between(0, 3)));
  }

  OpGraph graph;
  Cluster cluster;
  CostTable costs;
  Placement placement;
};

// The goal: at most 200 bytes for each op and edge, of what is compiled and of what runs it together; the
// graph and the costs are the caller's.
TEST(Allocation, TheEngineTakesFewBytesForEachOpAndEdge) {
  constexpr std::int64_t kMost = 200;
  Layers layers(20'000, 100);
  const auto size = static_cast<std::int64_t>(layers.graph.ops.size() + layers.graph.edges());
  for (const Machine& machine : Machines()) {
    layers.cluster.rules = machine.rules;
    layers.cluster.interconnect = machine.interconnect;
    layers.cluster.dispatch.per = machine.per;
    layers.cluster.dispatch.order = machine.order;
    const std::int64_t before = BytesInUse();
    const Problem problem(layers.graph, layers.cluster, layers.costs);
    const auto simulator = MakeSimulator(problem);
    simulator->Run(layers.placement);
    const std::int64_t all = BytesInUse() - before;
    EXPECT_LE(all / size, kMost) << ToString(machine.rules) << " " << machine.interconnect;
  }
}

}  // namespace
}  // namespace stowplan::sim
