#include "cli/validate/accuracy_table.h"
#include "cli/validate/held_out.h"
#include "cli/validate/score.h"
#include "sim/formats/document/json_reader.h"
#include "sim/formats/formats.h"
#include "tests/testing.h"

namespace stowplan::cli {
namespace {

constexpr double kMostHeldOut = 0.40;  // mean error of an op's price in a workload that was not probed

// The recordings of results/accuracy/cpu must not be simulated worse than scores.json beside them says: a change
// that loses more than these margins has to say why, and to write the scores anew.
TEST(CommittedAccuracyTest, IsNoWorseThanCommitted) {
  constexpr double kErrorMargin = 0.01;
  constexpr double kTauMargin = 0.02;
  const std::string folder = STOWPLAN_SOURCE_DIR "/results/accuracy/cpu";
  const std::string path = folder + "/scores.json";
  const formats::Document document = formats::ParseJson(formats::ReadFile(path), path);
  static constexpr std::string_view kTop[] = {"workloads"};
  const formats::Value committed = formats::Fields(document.root(), kTop).Require("workloads");
  const std::vector<Score> scores = ScoreFolder(folder);
  ASSERT_EQ(scores.size(), committed.size());
  std::size_t i = 0;
  for (const formats::Value then : committed.items()) {
    const Score& now = scores[i++];
    const auto number = [&then](std::string_view key) {
      for (const auto [name, value] : then.members())
        if (name == key) return value.Number();
      ADD_FAILURE() << "no " << key;
      return 0.0;
    };
    SCOPED_TRACE(now.workload);
    ASSERT_TRUE(now.median_error && now.p95_error && now.tau) << now.workload;
    EXPECT_LE(now.median_error, number("median_error") + kErrorMargin);
    EXPECT_LE(now.p95_error, number("p95_error") + 3 * kErrorMargin);
    EXPECT_GE(now.tau, number("tau_b") - kTauMargin);
    EXPECT_GE(now.right_verdicts, number("right_verdicts"));
    EXPECT_LE(std::filesystem::file_size(folder + "/" + FileStem(now.workload) + ".json.zst"), 4U << 20);
  }
}

// Workloads predicted from one another's probes; by curves of a class it was 85 % for ops that move bytes and 28 % for
// contractions, which are a third of these.
TEST(CommittedAccuracyTest, OpsOfHeldOutWorkloadsAreNoWorseThanTheyWere) {
  const std::vector<HeldOutOps> held_out = HoldWorkloadsOut(STOWPLAN_SOURCE_DIR "/results/accuracy/cpu").ops;
  ASSERT_FALSE(held_out.empty());
  EXPECT_EQ(held_out.back().family, "all");
  EXPECT_GT(held_out.back().errors.n, 350u);
  EXPECT_LT(held_out.back().errors.mape, kMostHeldOut);
}

// What is rendered in results/accuracy is what these recordings say now.
TEST(CommittedAccuracyTest, TheTableIsFresh) {
  const std::string folder = STOWPLAN_SOURCE_DIR "/results/accuracy";
  const std::vector<ScoredFolder> folders = ScoreFolders(folder);
  const GpuAccuracy gpus = ReadGpuAccuracy(STOWPLAN_SOURCE_DIR "/results/gpu");
  EXPECT_EQ(formats::ReadFile(folder + "/table.md"),
            output::PrintReportMarkdown(MakeAccuracyVerdict(folders, gpus)))
      << "write it anew: build/release/cli/stowplan table derive accuracy --export";
}

}  // namespace
}  // namespace stowplan::cli
