// Golden timelines: the whole course of a few small runs as text, tests/golden/timelines/<case>.txt.
#include "sim/formats/formats.h"
#include "sim/simulator.h"
#include "tests/sim/world.h"
#include "tests/testing.h"

namespace stowplan::sim {
namespace {

namespace fs = std::filesystem;

const char* const kFolder = STOWPLAN_SOURCE_DIR "/tests/golden/timelines";
constexpr const char* kRegenerate =
    "if the change is meant, run: STOWPLAN_UPDATE_GOLDENS=1 build/release/tests/test_sim "
    "--gtest_filter='*Timelines*'";

// a on gpu0 sends two outputs to gpu1; b there sends one back while they move.
void BothDirections(World& w, const char* interconnect) {
  w.Gpu();
  w.Gpu();
  w.Connect(0, 1).both_ppm = 710'000;
  w.cluster.interconnect = interconnect;
  w.device(0).copy_engines = 4;
  const OpIndex a = w.Add(0, 10, {kMB, kMB / 2}), b = w.Add(1, 40, {kMB});
  const OpIndex c = w.Add(1, 20, {1000}, {{a, 0}}), d = w.Add(1, 20, {}, {{a, 1}}, {c});
  w.Add(0, 30, {}, {{b, 0}, {c, 0}}, {d});
}

void Fifo(World& w) {
  BothDirections(w, "fifo");
}
void Fair(World& w) {
  BothDirections(w, "fair");
}
void Ideal(World& w) {
  BothDirections(w, "ideal");
}

// One host thread, CPU and GPU, weights on the CPU.
void Process(World& w) {
  w.Cpu();
  w.Gpu();
  w.Connect(0, 1).latency = 2 * kUs;
  w.cluster.dispatch = {.per = Dispatch::Per::kProcess, .cost = 5 * kUs};
  const OpIndex weights = w.Add(0, 0, {kMB});
  w.op(weights).type = "Variable";
  w.op(weights).persistent_bytes = 3 * kMB;
  w.op(weights).outputs[0].storage = Output::Storage::kPersistent;
  const OpIndex load = w.Add(0, 50, {200'000});
  const OpIndex forward = w.Add(1, 30, {400'000}, {{weights, 0}, {load, 0}});
  w.op(forward).workspace_bytes = 70'000;
  const OpIndex backward = w.Add(1, 60, {kMB}, {{weights, 0}, {forward, 0}});
  w.Add(0, 25, {}, {{backward, 0}, {weights, 0}});
}

// Streams that share, slowed by copies, with views; the second device is too small.
void StreamsAndViews(World& w) {
  w.Gpu();
  w.Gpu();
  w.Connect(0, 1);
  w.device(0).streams = 2;
  w.device(0).concurrency_ppm = {kPpm, 600'000};
  w.device(0).overlap_copy_ppm = 900'000;
  w.device(1).memory = 1'200'000;
  const OpIndex a = w.Add(0, 10, {kMB}), b = w.Add(0, 12, {500'000});
  const OpIndex flat = w.Add(1, 1, {}, {{a, 0}});
  const TensorRef view = w.AddView(flat, {a, 0});
  w.Add(0, 200, {1000}, {{a, 0}, {b, 0}});
  w.Add(1, 30, {}, {view, {b, 0}});
}

const std::map<std::string, std::function<void(World&)>>& Cases() {
  static const std::map<std::string, std::function<void(World&)>> cases = {
      {"both_directions_fifo", Fifo},
      {"both_directions_fair", Fair},
      {"both_directions_ideal", Ideal},
      {"one_process_with_cpu", Process},
      {"streams_and_views", StreamsAndViews}};
  return cases;
}

class Timelines : public testing::TestWithParam<std::string> {};

TEST_P(Timelines, AreTheGoldenOnes) {
  World w;
  Cases().at(GetParam())(w);
  const Outcome out = w.Run();
  const Problem problem(w.graph, w.cluster, w.costs());
  const std::string actual = formats::PrintTimeline(out, problem, w.placement);
  const std::string golden = std::string(kFolder) + "/" + GetParam() + ".txt";
  if (std::getenv("STOWPLAN_UPDATE_GOLDENS") != nullptr) formats::WriteFile(golden, actual);
  ASSERT_TRUE(fs::exists(golden)) << golden << " is missing; " << kRegenerate;
  const std::string expected = formats::ReadFile(golden);
  if (actual == expected) return;
  const std::string found = std::string(kFolder) + "/" + GetParam() + ".new.txt";
  formats::WriteFile(found, actual);
  FAIL() << "the timeline differs; expected " << golden << "\nfound " << found << "\n" << kRegenerate;
}

INSTANTIATE_TEST_SUITE_P(Golden, Timelines, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& [name, build] : Cases()) names.push_back(name);
                           return names;
                         }()),
                         [](const auto& test) { return test.param; });

TEST(TimelineGoldens, HaveACaseEach) {
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".new.txt")) continue;
    EXPECT_TRUE(Cases().contains(name.substr(0, name.size() - 4))) << entry.path() << " belongs to no case";
  }
}

}  // namespace
}  // namespace stowplan::sim
