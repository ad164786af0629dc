#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include "cli/validate/recorder.h"
#include "cli/validate/recording.h"
#include "cost_models/cost_models.h"
#include "profiler/host_machine.h"
#include "sim/formats/formats.h"
#include "tests/cli/program.h"
#include "tests/testing.h"

namespace stowplan::cli {
namespace {

TEST(ValidateCommandTest, WhatIsNoScoreIsNotReplaced) {
  const tests::TempFolder folder;
  const auto error = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"validate", "--recordings", "/no/such/folder", "--out", folder.path()};
    words.insert(words.end(), more.begin(), more.end());
    const testing::ProgramResult result = testing::RunStowplan(words);
    EXPECT_EQ(result.status, 2);
    return result.err;
  };
  formats::WriteFile(folder / "rows.csv", "block,row\n");
  EXPECT_THAT(error({}), HasSubstr("holds rows.csv and no scores of stowplan validate; give another --out"));
  EXPECT_THAT(error({"--force"}), HasSubstr("is no folder of recordings"));
  formats::WriteFile(folder / "scores.json", "[1, 2]");
  EXPECT_THAT(error({}), HasSubstr("holds scores.json and no scores of stowplan validate"));
  formats::WriteFile(folder / "scores.json", "{\"workloads\": []}\n");
  EXPECT_THAT(error({}), HasSubstr("is no folder of recordings"));
}

// A recording says what it is of, and may say anything.
TEST(ValidateCommandTest, ADeviceIsNoWorkloadOfARecording) {
  for (const char* workload : {"/dev/zero", "-"})
    EXPECT_THROW(LoadMeasuredGraph(workload, "recordings"), InputError) << workload;
}

TEST(ValidateCommandTest, ChoosesWhatIsMeasuredElsewhere) {
  const tests::TempFolder folder;
  formats::WriteFile(
      folder / "two.yaml",
      "{format: stowplan.cluster, version: 1, name: two, devices: [{name: a, kind: cpu, memory: 1GiB},"
      " {name: b, kind: cpu, memory: 1GiB}], links: [{name: l, ends: [a, b], bandwidth: 1GB/s}]}");
  const std::string workload = "rnnlm(batch=2,hidden=8,steps=3,vocabulary=20)", out = folder / "work";
  const testing::ProgramResult result =
      testing::RunStowplan({"validate", "--choose", "--workloads", workload, "--cluster", folder / "two.yaml",
                            "--cost-model", "constant(us=10)", "--placements", "6", "--out", out});
  ASSERT_EQ(result.status, 0) << result.err;
  const sim::OpGraph graph = formats::ReadGraph(out + "/graph.json.zst");
  const sim::Cluster cluster = formats::ReadCluster(out + "/cluster.yaml", cost_models::BuiltinCatalogue());
  int placements = 0;
  for (const auto& entry : std::filesystem::directory_iterator(out + "/placements")) {
    EXPECT_NO_THROW(formats::ReadPlacement(entry.path().string(), graph, cluster));
    ++placements;
  }
  EXPECT_EQ(placements, 6);
  EXPECT_TRUE(std::filesystem::exists(out + "/placements/one_device-01.json"));
}

// What `--record` measures, on two cores of whatever machine this is, as fast or as slow as they are.
class RecordedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (profiler::AvailableCores().size() < 2) GTEST_SKIP() << "this process may use one core";
  }

  RecorderOptions Options(int placements) const {
    return {.folder = folder_ / "recorded",
            .placements = placements,
            .steps = 2,
            .at_most = 20,
            .again_seconds = 0,
            .rehearsal = true,
            .quiet = true};
  }
  std::string File(const std::string& name) const {
    return formats::ReadFile(folder_ / ("recorded/" + name));
  }

  tests::TempFolder folder_;
  const std::string workload_ = "chain(ops=6,us=10,bytes=1000,cost=flops)";
  const std::string stem_ = FileStem(workload_);
};

TEST_F(RecordedTest, GoesOnWhereItWasStopped) {
  ASSERT_TRUE(RecordWorkload(workload_, Options(2)));
  const Recording first = ReadValidation(folder_ / ("recorded/" + stem_ + ".json.zst"));
  const std::string costs = File(stem_ + ".cost_model.json");
  ASSERT_THAT(first.placements, SizeIs(2));
  ASSERT_TRUE(RecordWorkload(workload_, Options(5)));
  const Recording more = ReadValidation(folder_ / ("recorded/" + stem_ + ".json.zst"));
  ASSERT_THAT(more.placements, SizeIs(5));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(more.placements[i].placement.device, first.placements[i].placement.device);
    EXPECT_EQ(more.placements[i].steps_us, first.placements[i].steps_us);
  }
  EXPECT_EQ(more.cluster, first.cluster);
  EXPECT_EQ(File(stem_ + ".cost_model.json"), costs);  // probed once
  const std::string all = File(stem_ + ".json.zst");
  ASSERT_TRUE(RecordWorkload(workload_, Options(5)));
  EXPECT_EQ(File(stem_ + ".json.zst"), all);
  RecorderOptions longer = Options(5);
  longer.steps = 3;
  EXPECT_THROW(RecordWorkload(workload_, longer), InputError);
}

// Killed ten times at any moment, with kill -9, and gone on each time: what was measured stays, and in the end the placements are
// those of a recording that nobody disturbed. A rehearsal, so that it can be tried on a machine that is never quiet.
TEST_F(RecordedTest, TenKillsLoseNothing) {
  constexpr int kPlacements = 12, kKills = 10;
  const std::string path = folder_ / ("recorded/" + stem_ + ".json.zst");
  const auto measured = [&] {
    std::vector<std::vector<double>> steps;
    if (std::filesystem::exists(path)) {
      for (const MeasuredPlacement& placement : ReadValidation(path).placements)
        steps.push_back(placement.steps_us);
    }
    return steps;
  };
  std::mt19937_64 moments(1);
  std::size_t kept = 0;
  for (int kill_number = 0; kill_number < kKills; ++kill_number) {
    const std::vector<std::vector<double>> before = measured();
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      RecorderOptions options = Options(kPlacements);
      options.steps = options.at_most = 400;  // so that there is something to be killed in
      bool done = false;
      try {
        done = RecordWorkload(workload_, options);
      } catch (const std::exception&) {
      }
      _exit(done ? 0 : 1);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(moments() % 150));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << status;
    const std::vector<std::vector<double>> now = measured();
    ASSERT_GE(now.size(), before.size());
    for (std::size_t i = 0; i < before.size(); ++i)
      EXPECT_EQ(now[i], before[i]) << "lost by kill " << kill_number;
    kept = now.size();
  }
  RecordProperty("kept", static_cast<int>(kept));
  RecorderOptions options = Options(kPlacements);
  options.steps = options.at_most = 400;
  ASSERT_TRUE(RecordWorkload(workload_, options));
  const Recording resumed = ReadValidation(path);
  options.folder = folder_ / "undisturbed";
  ASSERT_TRUE(RecordWorkload(workload_, options));
  const Recording whole = ReadValidation(folder_ / ("undisturbed/" + stem_ + ".json.zst"));
  ASSERT_EQ(resumed.placements.size(), whole.placements.size());
}

TEST_F(RecordedTest, ABusyMachineIsRefusedBeforeAnythingIsRecorded) {
  RecorderOptions options = Options(2);
  options.rehearsal = false;
  options.least_quiet = 1.1;  // no machine has it
  EXPECT_THAT(tests::ErrorOf<RunError>([&] { RecordWorkload(workload_, options); }),
              AllOf(HasSubstr("too busy to measure"), HasSubstr("110 % is wanted")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "recorded"));
}

TEST_F(RecordedTest, OfAnotherMachineIsNotMixed) {
  ASSERT_TRUE(RecordWorkload(workload_, Options(2)));
  const std::string path = folder_ / ("recorded/" + stem_ + ".json.zst");
  Recording elsewhere = ReadValidation(path);
  elsewhere.origin.machine = "elsewhere";
  formats::WriteFile(path, profiler::PrintStepRecording(elsewhere));
  EXPECT_THAT(tests::ErrorOf([&] { RecordWorkload(workload_, Options(3)); }),
              HasSubstr("on another machine (elsewhere)"));
}

// All of it on one device needs more than four fifths of what it needs.
TEST_F(RecordedTest, ALimitOfMemoryIsInForce) {
  RecorderOptions options = Options(4);
  options.memory_share = 0.8;
  ASSERT_TRUE(RecordWorkload(workload_, options));
  const Recording recording = ReadValidation(folder_ / ("recorded/" + stem_ + ".json.zst"));
  ASSERT_EQ(recording.placements[0].family, "one device");
  EXPECT_TRUE(recording.placements[0].oom.has_value());
}

TEST_F(RecordedTest, IsScoredByTheProgram) {
  ASSERT_TRUE(RecordWorkload(workload_, Options(4)));
  const std::string recorded = folder_ / "recorded", out = folder_ / "out", timelines = folder_ / "timelines";
  const testing::ProgramResult result =
      testing::RunStowplan({"validate", "--recordings", recorded, "--again", recorded, "--out", out,
                            "--timelines", timelines, "--json", folder_ / "scores.json"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr(workload_), HasSubstr("A measured"), HasSubstr("100.0 %"),
                                HasSubstr("Against another measurement")));
  EXPECT_EQ(formats::ReadFile(out + "/report.txt"), result.out);
  EXPECT_EQ(formats::ReadFile(out + "/scores.json"), formats::ReadFile(folder_ / "scores.json"));
  EXPECT_THAT(formats::ReadFile(out + "/rows.csv"), HasSubstr("one device"));
  for (const char* ending : {".difference.txt", ".measured.trace.json", ".simulated.trace.json"})
    EXPECT_TRUE(std::filesystem::exists(timelines + "/" + stem_ + ending)) << ending;
  // Nothing of it was measured on what `constant` knows.
  const testing::ProgramResult other =
      testing::RunStowplan({"validate", "--recordings", recorded, "--cost-model", "constant(us=10)"});
  ASSERT_EQ(other.status, 0) << other.err;
  EXPECT_THAT(other.out, HasSubstr("C structural"));
}

TEST_F(RecordedTest, BecomesATableOfAccuracy) {
  RecorderOptions options = Options(4);
  options.folder = folder_ / "results/accuracy/here";
  ASSERT_TRUE(RecordWorkload(workload_, options));
  const testing::ProgramResult result =
      testing::RunStowplan({"table", "derive", "accuracy", "--export"}, folder_.path());
  ASSERT_EQ(result.status, 0) << result.err;
  // A long name goes on in the next line, so that the table fits the terminal.
  EXPECT_THAT(result.out, AllOf(HasSubstr(workload_.substr(0, workload_.find(','))), HasSubstr("tier A")));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "results/accuracy/table.html"));
  EXPECT_THAT(formats::ReadFile(folder_ / "results/accuracy/details.md"), HasSubstr(workload_));
  EXPECT_THAT(formats::ReadFile(folder_ / "results/accuracy/table.md"), HasSubstr("## here"));
}

}  // namespace
}  // namespace stowplan::cli
