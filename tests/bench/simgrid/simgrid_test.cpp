// Fair sharing and the schedule it leads to against SimGrid, a simulator by others whose network is max-min fair: small graphs
// on machines of which both have the same idea. Where all routes have one latency every op must end at the same time.
#include "bench/simgrid_peer.h"
#include "tests/sim/world.h"
#include "tests/testing.h"

namespace stowplan::bench {
namespace {

using sim::kMB;
using sim::kUs;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : bits_(seed) {}
  int Roll(int sides) { return static_cast<int>(bits_() % static_cast<std::uint64_t>(sides)); }

 private:
  std::mt19937_64 bits_;
};

struct SharedMachine : sim::World {
  // To be called before the first Run(): what SimGrid does not have.
  void DropHostLimits() { cluster = WithoutHostLimits(std::move(cluster)); }

  SimGridRun RunSimGrid(const sim::Outcome& outcome) const {
    const sim::Problem problem(graph, cluster, costs());
    return RunOnSimGrid(problem, placement, StartOrder(graph, outcome), SimGridUpdates::kFull);
  }
};

// Devices below one switch, or below two that are joined by a link.
void Connect(SharedMachine& m, Dice& dice, int devices, sim::Picos latency) {
  const bool two = latency == 0 && dice.Roll(2) == 0;  // routes of 2 and of 3 links
  const std::int32_t first = m.AddSwitch();
  const std::int32_t second = two ? m.AddSwitch() : first;
  const auto wire = [&](std::int32_t a, std::int32_t b) {
    sim::Link& link = m.Connect(a, b);
    link.latency = latency;
    link.bandwidth = (1 + dice.Roll(20)) * std::int64_t{1'000'000'000};
    link.duplex = dice.Roll(3) == 0 ? sim::Duplex::kHalf : sim::Duplex::kFull;
  };
  for (int i = 0; i < devices; ++i) wire(i, i % 2 == 0 ? first : second);
  if (two) wire(first, second);
}

void AddOps(SharedMachine& m, Dice& dice, int ops, int devices) {
  for (int i = 0; i < ops; ++i) {
    const sim::OpIndex op = m.Add(dice.Roll(devices), 1 + dice.Roll(100));
    for (int outputs = 1 + dice.Roll(2); outputs > 0; --outputs)
      m.op(op).outputs.emplace_back().bytes = dice.Roll(8) == 0 ? 0 : 1'000 * (1 + dice.Roll(2'000));
    for (int inputs = i == 0 ? 0 : dice.Roll(4); inputs > 0; --inputs) {
      const sim::OpIndex producer = dice.Roll(i);
      const int output = dice.Roll(static_cast<int>(m.op(producer).outputs.size()));
      if (dice.Roll(6) == 0) {
        m.op(op).control.push_back(producer);
      } else {
        m.op(op).inputs.push_back({producer, output});
      }
    }
  }
}

// 40 graphs, on stars of one latency and on machines without latency. Stowplan's rates are whole millibytes a second and its ends
// whole picoseconds; SimGrid's times are doubles.
TEST(SimGrid, EveryOpEndsAtTheSameTime) {
  int transfers = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Dice dice(seed);
    SharedMachine m;
    const int devices = 2 + dice.Roll(5);
    for (int i = 0; i < devices; ++i) m.Gpu();
    Connect(m, dice, devices, dice.Roll(2) == 0 ? 0 : 5 * kUs);
    AddOps(m, dice, 10 + dice.Roll(40), devices);
    m.DropHostLimits();
    const sim::Outcome ours = m.Run();
    const SimGridRun theirs = m.RunSimGrid(ours);
    transfers += static_cast<int>(ours.transfers.size());
    constexpr double kMicros = 1e-4;
    for (std::size_t op = 0; op < ours.ops.size(); ++op)
      ASSERT_NEAR(sim::ToMicros(ours.ops[op].end), theirs.end_us[op], kMicros)
          << "op " << op << ", seed " << seed;
    ASSERT_NEAR(sim::ToMicros(ours.runtime), theirs.runtime_us, kMicros) << seed;
  }
  EXPECT_GT(transfers, 500);
}

// Two flows of 1 MB over one link of 10 GB/s, behind routes of 10 and 25 us. The first moves 150 kB alone. Then stowplan gives
// 5 GB/s to each: the first has 850 kB left, until 25 + 170; the other has 150 kB then, until 195 + 15. SimGrid gives parts of
// 1/10 and 1/25, 5 to 2: the first needs 850 kB / (50/7 GB/s) = 119 more; the other, with 660 kB left, 66 more.
TEST(SimGrid, SharesByLatencyWhereStowplanDoesNot) {
  SharedMachine m;
  for (int i = 0; i < 3; ++i) m.Gpu();
  const auto plx = m.AddSwitch();
  m.Connect(0, plx);
  m.Connect(1, plx).latency = 20 * kUs;
  m.Connect(2, plx);
  for (const sim::OpIndex from : {0, 1}) m.Add(from, 0, {kMB});
  for (const sim::OpIndex from : {0, 1}) m.Add(2, 0, {}, {{from, 0}});
  m.DropHostLimits();
  const sim::Outcome ours = m.Run();
  EXPECT_EQ(ours.transfers[0].end, 195 * kUs);
  EXPECT_EQ(ours.transfers[1].end, 210 * kUs);
  const SimGridRun theirs = m.RunSimGrid(ours);
  EXPECT_NEAR(theirs.end_us[2], 144, 1e-3);
  EXPECT_NEAR(theirs.end_us[3], 210, 1e-3);
}

}  // namespace
}  // namespace stowplan::bench
