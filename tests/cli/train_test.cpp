// stowplan train: one policy from several graphs, which places others; stopped and resumed it is the same.
#include <signal.h>

#include "sim/formats/formats.h"
#include "tests/cli/needs_learners.h"
#include "tests/cli/program.h"
#include "tests/testing.h"

namespace stowplan::cli {
namespace {

using testing::ExpectRefused;
using testing::JsonOf;
using testing::RunStowplan;
using tests::TempFolder;

std::vector<std::string> Train(const std::string& out, const std::vector<std::string>& more) {
  std::vector<std::string> call = {"train",
                                   "--agent",
                                   "placeto(preset=walk)",
                                   "--graph",
                                   "random_dag(ops=8)",
                                   "diamond",
                                   "--cluster",
                                   "k80(gpus=2)",
                                   "--devices",
                                   "gpu",
                                   "--out",
                                   out,
                                   "--json",
                                   "-"};
  call.insert(call.end(), more.begin(), more.end());
  return call;
}

using TrainWithLearners = testing::NeedsLearners;

TEST_F(TrainWithLearners, SharesTheBudgetAndWritesAPolicy) {
  const TempFolder folder;
  const auto json = JsonOf(RunStowplan(Train(folder / "p.ckpt", {"--samples", "101"})));
  EXPECT_EQ(json["samples"], 101);
  EXPECT_EQ(json["graphs"][0]["samples"], 51);
  EXPECT_EQ(json["graphs"][1]["samples"], 50);
  EXPECT_EQ(json["interrupted"], false);
  EXPECT_EQ(folder.Files(), (std::vector<std::string>{"p.ckpt", "p.ckpt.log.csv"}));
  const auto applied = JsonOf(RunStowplan(
      {"place", "--agent", "placeto(preset=walk)", "--init", folder / "p.ckpt", "--learn", "no", "--graph",
       "random_dag(ops=12)", "--cluster", "k80(gpus=2)", "--devices", "gpu", "--json", "-"}));
  EXPECT_EQ(applied["samples"], 13);  // one pass over the units, and where it started
}

TEST_F(TrainWithLearners, StoppedAndResumedIsTheSamePolicy) {
  const TempFolder folder;
  const std::vector<std::string> budget = {"--samples", "2000"};
  JsonOf(RunStowplan(Train(folder / "whole", budget)));
  // How far it came by then is the machine's affair: it is given more time until it can be asked to stop, and begins anew where it was
  // done by then.
  for (int milliseconds = 100; !std::filesystem::exists(folder / "parts.state");
       milliseconds += milliseconds / 4) {
    ASSERT_LT(milliseconds, 60'000);
    std::filesystem::remove(folder / "parts");
    testing::RunningProgram running(Train(folder / "parts", budget), folder.path());
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    running.StopAndWait(SIGINT);
  }
  auto resumed = budget;
  resumed.emplace_back("--resume");
  EXPECT_EQ(JsonOf(RunStowplan(Train(folder / "parts", resumed)))["samples"], 2000);
  EXPECT_EQ(formats::ReadFile(folder / "parts"), formats::ReadFile(folder / "whole"));
}

// Before anything is trained, and nothing is made for what is refused.
TEST_F(TrainWithLearners, LooksAtTheOutputFirst) {
  const TempFolder folder;
  formats::WriteFile(folder / "file", "mine");
  ExpectRefused(Train(folder / "file/p", {"--samples", "10"}), "cannot be made one");
  ExpectRefused(Train(folder / "absent/p", {"--samples", "1"}), "at least one for each");
  EXPECT_FALSE(std::filesystem::exists(folder / "absent"));
}

// One call for the first time and for every later one, as of `stowplan place` and `stowplan table run`.
TEST_F(TrainWithLearners, ResumesWhatWasNotBegunAndLeavesWhatIsComplete) {
  const TempFolder folder;
  const auto call = Train(folder / "p", {"--samples", "20", "--resume"});
  EXPECT_EQ(JsonOf(RunStowplan(call))["samples"], 20);
  const std::string policy = formats::ReadFile(folder / "p");
  ExpectRefused(call, "is complete");
  ExpectRefused(Train(folder / "p", {"--samples", "20"}), "--force replaces it");
  EXPECT_EQ(formats::ReadFile(folder / "p"), policy);
  EXPECT_EQ(JsonOf(RunStowplan(Train(folder / "p", {"--samples", "20", "--force"})))["samples"], 20);
}

}  // namespace
}  // namespace stowplan::cli
