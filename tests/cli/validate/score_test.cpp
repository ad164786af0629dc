#include "cli/validate/score.h"

#include "cli/validate/timelines.h"
#include "sim/formats/document/json_reader.h"
#include "sim/formats/formats.h"
#include "tests/testing.h"

namespace stowplan::cli {
namespace {

// Two ops of 100 us; together 203 us where the copy of 1 kB takes 3 us.
class ScoreTest : public ::testing::Test {
 protected:
  ScoreTest() {
    formats::WriteFile(costs_, R"({"format": "stowplan.cost_model", "version": 1, "name": "t",
      "provenance": {"machine": "some machine", "driver": "none", "library": "l", "date": "2026-11-21", "commit": "c", "command": "x"},
      "kinds": [], "table": [
       {"kind": "cpu", "signature": "Opaque()->1000B", "us": 100, "low_us": 90, "high_us": 120, "samples": 5},
       {"kind": "cpu", "signature": "Opaque(1000B)->1000B", "us": 100, "low_us": 90, "high_us": 120, "samples": 5}]})");
  }

  Recording Made(double together_us, double apart_us) const {
    Recording recording;
    recording.workload = "chain(ops=2,bytes=1000)";
    recording.origin = {"some machine", "2026-11-21T00:00:00Z", "abc", false, "stowplan validate", {}};
    recording.cluster =
        "{format: stowplan.cluster, version: 1, name: two, devices: [{name: a, kind: cpu, memory: 1GiB},"
        " {name: b, kind: cpu, memory: 1GiB}], links: [{name: l, ends: [a, b], bandwidth: 1GB/s, latency: "
        "2us}]}";
    recording.wanted_steps = 3;
    recording.placements = {
        {"one device",
         {{0, 0}, {}, {}},
         {together_us, together_us, together_us + 9},
         3,
         4,
         {2048, 0},
         {2048, 0},
         {2048, 0},
         {},
         {}},
        {"random", {{0, 1}, {}, {}}, {apart_us}, 1, 1, {1024, 2048}, {1024, 2048}, {1024, 2048}, {}, {}}};
    profiler::ExecutedStep& traced = recording.placements[1].traced.emplace();
    traced.ns = 203'000;
    traced.ops = {{0, 0, 0, 100'000}, {1, 1, 103'000, 203'000}};
    traced.copies = {{{0, 0}, 0, 1, 1000, 100'000, 103'000}};
    return recording;
  }

  tests::TempFolder folder_;
  std::string costs_ = folder_.path() + "/chain.cost_model.json";
};

TEST_F(ScoreTest, SaysHowFarSimulatedIsFromMeasured) {
  const Score score = ScoreRecording(Made(200, 406), costs_);
  ASSERT_THAT(score.placements, SizeIs(2));
  EXPECT_DOUBLE_EQ(score.placements[0].simulated_us, 200);
  EXPECT_DOUBLE_EQ(score.placements[0].busiest_us, 200);
  EXPECT_DOUBLE_EQ(score.placements[1].simulated_us, 203);
  EXPECT_DOUBLE_EQ(score.placements[1].busiest_us, 100);
  EXPECT_DOUBLE_EQ(score.median_error.value(), 0.25);  // of 0 and 0.5
  EXPECT_DOUBLE_EQ(score.bias.value(), -0.25);
  EXPECT_EQ(score.tau, 1);
  EXPECT_EQ(score.pairs, 1);
  EXPECT_EQ(score.baseline_tau, -1);
  EXPECT_EQ(score.regret, 0);
  EXPECT_DOUBLE_EQ(score.undisturbed.value(), 0.8);
  EXPECT_EQ(score.peak_error, 0);
  EXPECT_EQ(score.verdicts, score.right_verdicts);
  EXPECT_DOUBLE_EQ(score.op_time_ratio.value(), 1);
  EXPECT_DOUBLE_EQ(score.copy_time_ratio.value(), 1);
}

// The halves of `together` are 200 and 300, of `apart` 250 and 250: one pair, ordered either way.
TEST_F(ScoreTest, TauIsToldBesideWhatNoiseLeavesOfIt) {
  Recording recording = Made(200, 250);
  EXPECT_EQ(ScoreRecording(recording, costs_).tau_ceiling, 1);
  recording.placements[0].steps_us = {200, 200, 260, 300, 300};  // median 260, deviation 40: too close to 250
  EXPECT_EQ(ScoreRecording(recording, costs_).pairs, 0);
  recording.placements[0].steps_us = {200, 200, 299, 300, 300};  // median 299, deviation 1
  const Score score = ScoreRecording(recording, costs_);
  EXPECT_EQ(score.pairs, 1);
  EXPECT_EQ(score.tau_ceiling, 0);
  EXPECT_THAT(PrintScores({score}), HasSubstr("of at most"));
}

TEST_F(ScoreTest, AnotherMeasurementIsComparedWhereBothHaveAPlacement) {
  const tests::TempFolder then;
  Recording recording = Made(100, 210);  // twice as fast together; was in the other order before
  recording.placements.push_back(recording.placements[0]);
  recording.placements.back().placement.device = {1, 1};
  formats::WriteFile(then / "chain.json.zst", profiler::PrintStepRecording(recording));
  std::vector<Score> scores = {ScoreRecording(Made(200, 190), costs_)};
  CompareRepeats(then.path(), &scores);
  ASSERT_TRUE(scores[0].repeat.has_value());
  EXPECT_EQ(scores[0].repeat->placements, 2);
  EXPECT_EQ(scores[0].repeat->tau, -1);
  EXPECT_EQ(scores[0].repeat->simulated_tau, -1);  // 200 and 203 us
  EXPECT_NEAR(scores[0].repeat->speed, (2 + 190.0 / 210) / 2, 1e-9);
  EXPECT_THAT(PrintScores(scores), HasSubstr("Against another measurement"));
}

TEST_F(ScoreTest, AcceleratorsThatAreOneGpuAreMarked) {
  Recording recording = Made(200, 203);
  EXPECT_THAT(PrintScores({ScoreRecording(recording, costs_)}), ::testing::Not(HasSubstr("one GPU")));
  for (const char* device : {"{name: a, kind: cpu", "{name: b, kind: cpu"}) {
    const std::string gpu = std::string(device, 9) + "kind: gpu, copy_engines: 2";
    recording.cluster.replace(recording.cluster.find(device), 19, gpu);
  }
  const Score score = ScoreRecording(recording, "constant(us=100)");
  EXPECT_TRUE(score.shared_accelerator());
  EXPECT_THAT(PrintScores({score}), HasSubstr("chain(ops=2,bytes=1000) *"));
  EXPECT_THAT(PrintScores({score}), HasSubstr("accelerators that are one GPU"));
}

TEST_F(ScoreTest, RegretIsWhatTheSimulatorsChoiceCosts) {
  EXPECT_DOUBLE_EQ(ScoreRecording(Made(300, 200), costs_).regret.value(), 0.5);
}

TEST_F(ScoreTest, VerdictsAreWrongWhereTheMeasuredPeakIsElsewhere) {
  Recording recording = Made(200, 203);
  auto& measured = recording.placements[0];
  measured.peak_bytes = measured.least_peak_bytes = measured.most_peak_bytes = {4096, 0};
  const Score score = ScoreRecording(recording, costs_);
  EXPECT_EQ(score.verdicts - score.right_verdicts, 4);  // the limits above the simulated 2048
  EXPECT_DOUBLE_EQ(score.worst_peak_error.value(), 0.5);
}

TEST_F(ScoreTest, LimitsBetweenMeasuredPeaksAreLeftOut) {
  Recording recording = Made(200, 203);
  EXPECT_EQ(ScoreRecording(recording, costs_).undecided_verdicts, 0);
  recording.placements[0].most_peak_bytes = {2120, 0};  // 2048 · 1.02 is below 2120 · 1.01, 2048 · 1.05 above
  const Score score = ScoreRecording(recording, costs_);
  EXPECT_EQ(score.undecided_verdicts, 2);
  EXPECT_EQ(score.verdicts, score.right_verdicts);
  EXPECT_EQ(score.verdicts, 3 * 8 - 2);
}

// The copy took 3 us where 3 are simulated, but b ran 10 us longer than its probe said.
TEST_F(ScoreTest, TimelinesSayWhichOpAddsTheDifference) {
  Recording recording = Made(200, 213);
  recording.placements[1].traced->ns = 213'000;
  recording.placements[1].traced->ops[1].end_ns = 213'000;
  const Timelines timelines = CompareTimelines(recording, costs_);
  EXPECT_EQ(timelines.difference,
            formats::ReadFile(STOWPLAN_SOURCE_DIR "/tests/tables/golden/timeline_difference.txt"));
  for (const std::string* trace : {&timelines.measured_trace, &timelines.simulated_trace}) {
    EXPECT_NO_THROW(formats::ParseJson(*trace, "trace"));
    EXPECT_THAT(*trace, HasSubstr("\"name\": \"op0\""));
  }
  EXPECT_THAT(timelines.measured_trace, HasSubstr("\"runtime_us\": 213"));
  EXPECT_THAT(timelines.simulated_trace, HasSubstr("\"runtime_us\": 203"));
}

TEST_F(ScoreTest, NoTracedStepNoTimelines) {
  Recording recording = Made(200, 213);
  recording.placements[1].traced.reset();
  EXPECT_THROW(CompareTimelines(recording, costs_), InputError);
}

TEST_F(ScoreTest, ARealLimitIsAVerdictAndNoStep) {
  Recording recording = Made(200, 203);
  const int before = ScoreRecording(recording, costs_).verdicts;
  const std::string roomy = "{name: a, kind: cpu, memory: 1GiB}";
  recording.cluster.replace(recording.cluster.find(roomy), roomy.size(),
                            "{name: a, kind: cpu, memory: 1500B}");
  MeasuredPlacement& together = recording.placements[0];
  together.steps_us.clear();
  together.oom = {
      .device = 0, .op = 1, .what = sim::OutOfMemory::What::kOutput, .needed = 2048, .capacity = 1500};
  const Score right = ScoreRecording(recording, costs_);
  EXPECT_THAT(right.placements, SizeIs(1));
  EXPECT_EQ(right.verdicts, right.right_verdicts);
  EXPECT_GT(right.verdicts, 0);
  EXPECT_NE(right.verdicts, before);
  // Both ran out, it says, but the simulator has room for what is apart.
  recording.placements[1].oom = together.oom;
  recording.placements[1].steps_us.clear();
  recording.placements.push_back(Made(200, 203).placements[1]);
  const Score wrong = ScoreRecording(recording, costs_);
  EXPECT_EQ(wrong.verdicts - wrong.right_verdicts, 1);
}

// Where the limit leaves no placement, verdicts are all there is; the other workloads are scored as ever.
TEST_F(ScoreTest, NoPlacementThatFittedLeavesVerdicts) {
  Recording recording = Made(200, 203);
  const std::string roomy = "{name: a, kind: cpu, memory: 1GiB}";
  recording.cluster.replace(recording.cluster.find(roomy), roomy.size(), "{name: a, kind: cpu, memory: 10B}");
  for (MeasuredPlacement& placement : recording.placements) {
    placement.steps_us.clear();
    placement.traced.reset();
    placement.oom = {
        .device = 0, .op = 0, .what = sim::OutOfMemory::What::kOutput, .needed = 1024, .capacity = 10};
  }
  std::vector<Score> scores(5, ScoreRecording(Made(200, 203), costs_));
  scores.insert(scores.begin(), ScoreRecording(recording, costs_));
  SetIntervals(&scores);
  EXPECT_FALSE(scores[0].median_error.has_value());
  EXPECT_FALSE(scores[0].tau.has_value());
  EXPECT_FALSE(scores[0].peak_error.has_value());
  EXPECT_EQ(scores[0].verdicts, 2);
  EXPECT_EQ(scores[0].right_verdicts, 2);
  EXPECT_FALSE(scores[0].coverage.has_value());
  EXPECT_TRUE(scores[1].coverage.has_value());
  EXPECT_THAT(PrintScores(scores), HasSubstr("chain(ops=2,bytes=1000)           0       –      –"));
  EXPECT_THAT(PrintScoresJson(scores), HasSubstr("\"median_error\": null"));
  EXPECT_NO_THROW(formats::ParseJson(PrintScoresJson(scores), "scores"));
}

// The first request that is refused may lie a byte above the capacity, however much more was wanted: what decides is the
// demand.
TEST_F(ScoreTest, AVerdictIsDecidedByTheDemandAndNotByTheRefusedRequest) {
  const std::string roomy = "{name: a, kind: cpu, memory: 1GiB}";
  const auto verdicts = [&](const char* memory) {
    Recording recording = Made(200, 203);
    recording.cluster.replace(recording.cluster.find(roomy), roomy.size(),
                              std::string("{name: a, kind: cpu, memory: ") + memory + "}");
    recording.placements.resize(1);
    recording.placements[0].steps_us.clear();
    recording.placements[0].oom = {
        .device = 0, .op = 1, .what = sim::OutOfMemory::What::kOutput, .needed = 2048, .capacity = 2040};
    const Score score = ScoreRecording(recording, costs_);
    return std::pair(score.enforced_verdicts, score.undecided_verdicts);
  };
  EXPECT_EQ(verdicts("1500B"), std::pair(1, 0));
  EXPECT_EQ(verdicts("2040B"), std::pair(0, 1));
}

TEST_F(ScoreTest, OneCostModelMayPriceAllRecordings) {
  formats::WriteFile(folder_.path() + "/other.json.zst", profiler::PrintStepRecording(Made(200, 406)));
  EXPECT_THROW(ScoreFolder(folder_.path()), InputError);
  EXPECT_THAT(ScoreFolder(folder_.path(), costs_), SizeIs(1));
}

TEST_F(ScoreTest, TheFolderMayHaveOneCostModelForAll) {
  formats::WriteFile(folder_ / "some.json.zst", profiler::PrintStepRecording(Made(200, 406)));
  std::filesystem::rename(costs_, folder_ / "cost_model.json");
  EXPECT_THAT(ScoreFolder(folder_.path()), SizeIs(1));
}

TEST_F(ScoreTest, PricesOfAnotherMachineAreRefused) {
  Recording recording = Made(200, 406);
  recording.origin.machine = "another machine";
  formats::WriteFile(folder_ / "chain.json.zst", profiler::PrintStepRecording(recording));
  EXPECT_THAT(tests::ErrorOf([&] { ScoreFolder(folder_.path()); }),
              AllOf(HasSubstr("on another machine"), HasSubstr("on some machine")));
  EXPECT_THAT(ScoreFolder(folder_.path(), costs_), SizeIs(1));  // who names them knows
}

TEST_F(ScoreTest, SaysWhatThePricesRestOn) {
  EXPECT_THAT(ScoreRecording(Made(200, 203), costs_).by_tier, ElementsAre(1, 0, 0));
  EXPECT_THAT(ScoreRecording(Made(200, 203), "constant(us=100)").by_tier, ElementsAre(0, 0, 1));
}

// Four workloads; in that which is held out steps take 1.5 times as long as simulated, in the others as long or twice as long.
TEST(SetIntervalsTest, AreWhatTheOtherWorkloadsSay) {
  const auto scored = [](std::vector<double> ratios) {
    Score score;
    for (const double ratio : ratios)
      score.placements.push_back({.measured_us = 100 * ratio, .simulated_us = 100});
    return score;
  };
  std::vector<Score> scores = {scored({1.5, 1.5, 3}), scored({1}), scored({2, 2}), scored({1, 1, 2, 2})};
  SetIntervals(&scores);
  EXPECT_DOUBLE_EQ(scores[0].placements[0].low_us, 100);
  EXPECT_DOUBLE_EQ(scores[0].placements[0].high_us, 200);
  EXPECT_DOUBLE_EQ(scores[0].coverage.value(), 2.0 / 3);
  scores.pop_back();
  for (Score& score : scores) score.coverage.reset();
  SetIntervals(&scores);
  EXPECT_FALSE(scores[0].coverage.has_value());  // three tell too little
}

TEST_F(ScoreTest, RecordingsReadBackEqual) {
  const std::string path = folder_.path() + "/chain.json.zst";
  const std::string text = profiler::PrintStepRecording(Made(200, 406));
  formats::WriteFile(path, text);
  EXPECT_EQ(profiler::PrintStepRecording(ReadValidation(path)), text);
  EXPECT_THAT(ScoreFolder(folder_.path()), SizeIs(1));
}

// Version 1 did not ask for the ends of the peaks; they are the peak then.
TEST_F(ScoreTest, RecordingsOfVersionOneAreRead) {
  const std::string path = folder_.path() + "/chain.json";
  const auto write = [&](int version, bool ends) {
    std::string text = profiler::PrintStepRecording(Made(200, 406));
    text.replace(text.find("\"version\": 2"), 12, "\"version\": " + std::to_string(version));
    for (const char* key : {", \"least_peak_bytes\": [2048,0]", ", \"most_peak_bytes\": [2048,0]"})
      if (!ends) text.erase(text.find(key), std::string_view(key).size());
    formats::WriteFile(path, text);
  };
  const auto message = [&]() -> std::string {
    return tests::ErrorOf([&] { ReadValidation(path); }, "taken");
  };
  write(1, false);
  EXPECT_EQ(profiler::PrintStepRecording(ReadValidation(path)), profiler::PrintStepRecording(Made(200, 406)));
  write(2, false);
  EXPECT_THAT(message(), HasSubstr("placements[0] has no \"least_peak_bytes\""));
  write(3, true);
  EXPECT_THAT(message(), HasSubstr("version is 3, but this program knows stowplan.validation only up to"));
}

TEST_F(ScoreTest, WhatIsWrongInARecordingIsSaidWithItsPlace) {
  const std::string path = folder_.path() + "/chain.json";
  const auto message = [&](const std::string& from, const std::string& to) -> std::string {
    std::string text = profiler::PrintStepRecording(Made(200, 406));
    text.replace(text.find(from), from.size(), to);
    formats::WriteFile(path, text);
    return tests::ErrorOf([&] { ReadValidation(path); }, "taken");
  };
  EXPECT_THAT(message("\"01\"", "\"02\""), HasSubstr("placements[1].device must have one digit for each op"));
  EXPECT_THAT(message("\"01\"", "\"010\""), HasSubstr("must have 2 digits"));
  EXPECT_THAT(message("[406.000]", "[]"), HasSubstr("placements[1].steps_us must have at least one step"));
  EXPECT_THAT(message("[1024,2048]", "[1024]"), HasSubstr("peak_bytes must have one number for each device"));
  EXPECT_THAT(message("[1,1,103000,203000]", "[2,1,103000,203000]"), HasSubstr("begin with the number of"));
  EXPECT_THAT(message("[1,1,103000,203000]", "[1,0,103000,203000]"), HasSubstr("the op's device in the"));
  EXPECT_THAT(message("[1,1,103000,203000]", "[0,0,103000,203000]"), HasSubstr("names an op that ran"));
  EXPECT_THAT(message("[1,1,103000,203000]", "[1,1,103000,102999]"), HasSubstr("an end that is no earlier"));
  EXPECT_THAT(message("[0,0,0,1,100000,103000]", "[0,0,0,7,100000,103000]"), HasSubstr("devices of the"));
  EXPECT_THAT(message("\"ns\": 203000", "\"ns\": 0"), HasSubstr("traced.ns must be"));
  EXPECT_THAT(message("\"least_peak_bytes\": [2048,0]", "\"least_peak_bytes\": [4096,0]"),
              HasSubstr("between least_peak_bytes and most_peak_bytes"));
  EXPECT_THAT(message("\"placement\": 1", "\"placement\": 2"), HasSubstr("traced.placement"));
}

TEST(FileStemTest, TellsWorkloadsApart) {
  EXPECT_EQ(FileStem("rnnlm(batch=4,steps=8)"), "rnnlm-batch=4-steps=8");
  EXPECT_EQ(FileStem("some/where/graph.json"), "graph.json");
}

}  // namespace
}  // namespace stowplan::cli
