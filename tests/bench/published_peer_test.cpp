// The driver of Placeto's published simulator, with a stand-in for the checkout: a class of the same name and arguments that says
// what it was given.
#include "bench/published_peer.h"

#include "bench/speed_case.h"
#include "sim/formats/formats.h"
#include "tests/testing.h"

namespace stowplan::bench {
namespace {

// "Runtime": the sum of the costs, and 1000 for each input. "Peak": the bytes on each device.
constexpr const char* kStandIn = R"(
class ImportantOpsSimulator:
    def __init__(self, mg, op_perf, step_stats, devices):
        (stats,) = step_stats.dev_stats
        assert 'all' in stats.device
        self.costs = {n.node_name: n.all_end_rel_micros - n.op_start_rel_micros for n in stats.node_stats}
        self.bytes = {op.node: op.op_memory.output_memory for op in op_perf}
        self.inputs = [i for node in mg.graph_def.node for i in node.input]
        self.devices = devices

    def simulate(self, pl, sim_mem_usage=False):
        assert sim_mem_usage and all(':' in i or i[0] == '^' for i in self.inputs)
        peaks = [sum(sum(self.bytes[n]) for n, d in pl.items() if d == k) for k in range(len(self.devices))]
        return sum(self.costs.values()) + 1000 * len(self.inputs), peaks
)";

const LoadedCase& Case() {
  return Load({"chain(ops=10,us=10,bytes=8)", StarName(2), "published", ""});
}

TEST(PublishedPeer, HandsOverTheGraphAndThePlacements) {
  const tests::TempFolder checkout;
  std::filesystem::create_directories(checkout / "sim/tf_placement_sim");
  formats::WriteFile(checkout / "sim/tf_placement_sim/tf_pl_simulator.py", kStandIn);
  sim::Placement first, second;
  first.device.assign(10, 1);
  first.device[4] = 0;
  second.device.assign(10, 0);
  const auto runs = RunPublishedSimulator(checkout.path(), Case().loaded.problem(), {first, second});
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].runtime_us, 9100);
  EXPECT_THAT(runs[0].peak, ElementsAre(8, 72));
  EXPECT_THAT(runs[1].peak, ElementsAre(80, 0));
  EXPECT_GT(runs[0].seconds, 0);
}

TEST(PublishedPeer, SaysWhatIsNoCheckout) {
  EXPECT_THROW(RunPublishedSimulator("/no/such/folder", Case().loaded.problem(), {}), InputError);
  const tests::TempFolder empty;
  EXPECT_THROW(RunPublishedSimulator(empty.path(), Case().loaded.problem(), {}), RunError);
}

}  // namespace
}  // namespace stowplan::bench
