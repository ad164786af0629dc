#include "agents/task.h"

#include "tests/agents/problems.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

sim::Attributes Stage(std::int64_t stage) {
  return {{"stage", sim::Attribute{stage}}};
}

// v (variable) and u (its update) share a device; a reads v, b reads a twice, u reads b.
std::unique_ptr<Case> Colocated() {
  auto c = std::make_unique<Case>();
  sim::Op& v = c->Add("v", {0});
  v.type = "Variable";
  v.persistent_bytes = 100;
  v.colocate = "v";
  v.outputs[0].storage = sim::Output::Storage::kPersistent;
  c->Add("a", {10}, {0}, 2000).attributes = Stage(3);
  c->Add("b", {20, 5, 5}, {1, 1}, 500).attributes = Stage(1);
  sim::Op& u = c->Add("u", {1}, {2}, 10);
  u.colocate = "v";
  u.control.push_back(1);
  u.attributes = Stage(2);
  c->UseGpus(2);
  c->Finish();
  return c;
}

TEST(Task, SumsTheFeaturesOfItsUnits) {
  const auto c = Colocated();
  const Task task = MakeTask(*c->problem, "colocation");
  EXPECT_EQ(task.units.grouper, "colocation");
  EXPECT_THAT(task.units.unit_of_op, ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(task.units.ops, ElementsAre(ElementsAre(0, 3), ElementsAre(1), ElementsAre(2)));
  EXPECT_EQ(task.unit_cost(0, 0), 1'000'000);
  EXPECT_EQ(task.unit_cost(2, 0), 20'000'000);
  EXPECT_EQ(task.unit_cost(2, 2), 5'000'000);
  EXPECT_THAT(task.persistent, ElementsAre(100, 0, 0));
  EXPECT_THAT(task.output, ElementsAre(10, 2000, 500));  // the variable's output owns no storage
  EXPECT_THAT(task.stage, ElementsAre(2, 3, 1));
}

TEST(Task, KeepsTheLowestStageAndBranchOfAUnit) {
  const auto c = Colocated();
  c->graph.ops[1].attributes = {{"stage", sim::Attribute{2.0}}};
  c->graph.ops[3].attributes = {{"branch", sim::Attribute{std::int64_t{3}}}};
  const Task task = MakeTask(*c->problem, "colocation");
  EXPECT_THAT(task.stage, ElementsAre(-1, 2, 1));
  EXPECT_THAT(task.branch, ElementsAre(3, -1, -1));
}

TEST(Task, RefusesStagesAndBranchesThatCountNoPartsOfTheGraph) {
  for (const char* attribute : {"stage", "branch"}) {
    for (const auto& [value, text] : std::vector<std::pair<sim::Attribute, const char*>>{
             {{std::int64_t{-1}}, "-1"},
             {{std::int64_t{4}}, "4"},
             {{2e9}, "2000000000"},
             {{1.5}, "1.5"},
             {{std::numeric_limits<double>::quiet_NaN()}, "nan"},
             {{std::string("first")}, "no number"}}) {
      const auto c = Colocated();
      c->graph.ops[2].attributes = {{attribute, value}};
      EXPECT_THAT(
          [&] { MakeTask(*c->problem, ""); },
          ThrowsMessage<InputError>(HasSubstr(std::string("op b: attribute ") + attribute + " is " + text +
                                              ", wanted a whole number from 0 to below the graph's "
                                              "number of ops, 4")));
    }
  }
}

TEST(Task, CountsEachOutputOfAnEdgeOnce) {
  const auto c = Colocated();
  const Task task = MakeTask(*c->problem, "");
  std::vector<std::vector<std::int64_t>> edges;
  for (const UnitEdge& e : task.edges) edges.push_back({e.from, e.to, e.bytes});
  // v -> a 1024; a -> u is control alone; a -> b read twice, counted once; b -> u.
  EXPECT_THAT(edges, ElementsAre(ElementsAre(0, 1, 1024), ElementsAre(1, 0, 0), ElementsAre(1, 2, 2000),
                                 ElementsAre(2, 0, 500)));
}

TEST(Task, ChoosesDevicesByName) {
  const auto c = Colocated();
  EXPECT_THAT(MakeTask(*c->problem, "").devices, ElementsAre(0, 1, 2));
  EXPECT_THAT(MakeTask(*c->problem, "", {"gpu1", "gpu0", "gpu1"}).devices, ElementsAre(1, 2));
  EXPECT_THAT([&] { MakeTask(*c->problem, "", {"gpu7"}); },
              ThrowsMessage<InputError>(HasSubstr("no device \"gpu7\", only cpu0, gpu0 and gpu1")));
}

TEST(Task, TellsClassesApart) {
  const auto c = Colocated();
  EXPECT_THAT(Accelerators(MakeTask(*c->problem, "")), ElementsAre(1, 2));
  EXPECT_THAT(DevicesOf(MakeTask(*c->problem, ""), sim::DeviceClass::kCpu), ElementsAre(0));
  EXPECT_THAT(Accelerators(MakeTask(*c->problem, "", {"cpu0"})), ElementsAre(0));
}

TEST(Task, ExpandsUnitsToOps) {
  const auto c = Colocated();
  const Task task = MakeTask(*c->problem, "");
  EXPECT_THAT(Expand(task, {2, 0, 1}).device, ElementsAre(2, 0, 1, 2));
}

TEST(Task, EstimatesLoneTransfers) {
  const auto c = Colocated();
  const Task task = MakeTask(*c->problem, "");
  // Two links of 5 us and 10 GB/s, cut-through: 1 MB takes 2 * 5 + 100 us; nothing takes the latencies.
  EXPECT_EQ(task.TransferEstimate(1'000'000, 1, 2), 110'000'000);
  EXPECT_EQ(task.TransferEstimate(0, 1, 2), 10'000'000);
  EXPECT_EQ(task.TransferEstimate(1'000'000, 1, 1), 0);
}

TEST(Task, EstimatesTransfersUnderPublishedRules) {
  Case c;
  c.Add("a", {1});
  c.UseGpus(2);
  c.cluster.rules = sim::Rules::kPublished;
  const Task task = MakeTask(c.Finish(), "");
  EXPECT_EQ(task.TransferEstimate(7600, 1, 2), 1'000'000);  // 7600 bytes a microsecond
  EXPECT_EQ(task.TransferEstimate(1, 1, 2), 131);           // 131.58 ps, rounded down
}

// On one GPU 10 + 5 + 1 = 16 us, on the CPU 10 + 20 + 1 = 31 us.
TEST(Task, ReferenceIsTheFastestSingleDeviceThatFits) {
  const auto c = Colocated();
  EXPECT_EQ(MakeTask(*c->problem, "").reference_runtime, 16'000'000);
  EXPECT_EQ(MakeTask(*c->problem, "").reference, "gpu0");

  Case small;
  small.Add("a", {20, 10}, {}, 4096);
  small.UseGpus(1);
  small.cluster.devices[1].memory = 1024;
  const Task on_cpu = MakeTask(small.Finish(), "");
  EXPECT_EQ(on_cpu.reference_runtime, 20'000'000);  // the GPU is too small
  EXPECT_EQ(on_cpu.reference, "cpu0");

  Case nothing;
  nothing.Add("a", {20, 10}, {}, 4096);
  nothing.UseGpus(1);
  for (sim::Device& device : nothing.cluster.devices) device.memory = 1024;
  const Task nowhere = MakeTask(nothing.Finish(), "");
  EXPECT_EQ(nowhere.reference_runtime, 10'000'000);  // without memory limit
  EXPECT_EQ(nowhere.reference, "gpu0, which does not fit");
}

TEST(Task, ReferenceKeepsToTheDevicesOfTheTask) {
  const auto c = Colocated();
  const Task task = MakeTask(*c->problem, "", {"cpu0"});
  EXPECT_EQ(task.reference_runtime, 31'000'000);
  EXPECT_EQ(task.reference, "cpu0");
}

// Two ops of which one GPU holds one: 2 * 768 bytes against 1000.
std::unique_ptr<Case> TooBigForOne(bool cpu) {
  auto c = std::make_unique<Case>();
  const std::vector<double> costs = cpu ? std::vector<double>{50, 10, 10} : std::vector<double>{10};
  for (const int stage : {0, 1}) {
    sim::Op& op = c->Add(stage == 0 ? "a" : "b", costs, {}, 0);
    op.persistent_bytes = 600;
    op.attributes = Stage(stage);
  }
  c->UseGpus(2, cpu);
  for (sim::Device& device : c->cluster.devices) {
    if (device.device_class == sim::DeviceClass::kGpu) device.memory = 1000;
  }
  c->Finish();
  return c;
}

// One op on each GPU fits and runs for 10 us; both on the CPU would run for 100 us.
TEST(Task, ReferenceIsTheExpertsBeforeTheCpus) {
  const auto c = TooBigForOne(true);
  const Task task = MakeTask(*c->problem, "");
  EXPECT_EQ(task.reference_runtime, 10'000'000);
  EXPECT_EQ(task.reference, "expert");
}

TEST(Task, ReferenceTakesTheScenariosExpertIfItKeepsToTheDevices) {
  const auto c = TooBigForOne(true);
  sim::Placement expert;
  expert.device = {1, 0};
  const Task task = MakeTask(*c->problem, "", {}, &expert);
  EXPECT_EQ(task.reference_runtime, 50'000'000);
  EXPECT_EQ(task.reference, "the scenario's expert");
  EXPECT_THAT(task.expert, ElementsAre(1, 0));
  const Task gpus = MakeTask(*c->problem, "", {"gpu0", "gpu1"}, &expert);
  EXPECT_EQ(gpus.reference, "expert") << "the scenario's uses the CPU";
}

TEST(Task, RefusesAnExpertThatIsNoPlacement) {
  const auto c = Colocated();
  sim::Placement expert;
  expert.device = {0, 0, 0, 1};  // the variable and its update apart
  EXPECT_THROW(MakeTask(*c->problem, "", {}, &expert), InputError);
}

TEST(Task, FingerprintTellsTasksApart) {
  const auto c = Colocated();
  const std::uint64_t one = Fingerprint(MakeTask(*c->problem, ""));
  EXPECT_EQ(one, Fingerprint(MakeTask(*c->problem, "none")));
  EXPECT_NE(one, Fingerprint(MakeTask(*c->problem, "neighbour(groups=1)")));
  EXPECT_NE(one, Fingerprint(MakeTask(*c->problem, "", {"gpu0", "gpu1"})));
}

}  // namespace
}  // namespace stowplan::agents
