// stowplan place: its files, what interrupts it, and what goes on after.
#include <nlohmann/json.hpp>
#include <signal.h>

#include "output/interrupt.h"
#include "sim/formats/formats.h"
#include "tests/cli/program.h"
#include "tests/testing.h"

namespace stowplan::cli {
namespace {

using testing::ExpectRefused;
using testing::JsonOf;
using testing::RunStowplan;
using tests::TempFolder;

const std::string kPlaceCluster = "k80(gpus=2)";

TEST(Place, HasItsKeysAndFiles) {
  const TempFolder folder;
  const auto json = JsonOf(
      RunStowplan({"place", "--agent", "random", "--graph", "diamond(width=6)", "--cluster", kPlaceCluster,
                   "--samples", "40", "--seed", "7", "--out", folder / "run", "--json", "-"}));
  for (const char* key : {"agent", "scenario", "seed", "samples", "samples_to_best", "samples_to_1pct",
                          "best_runtime_us", "feasible", "lower_bound_us", "wall_seconds"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json["seed"], 7);
  EXPECT_EQ(json["samples"], 40);
  EXPECT_TRUE(json["feasible"]);
  EXPECT_GE(json["best_runtime_us"].get<double>(), json["lower_bound_us"].get<double>());
  EXPECT_LE(json["samples_to_1pct"].get<int>(), json["samples_to_best"].get<int>());
  for (const char* file : {"placement.json", "outcome.json", "curve.csv", "trace.json", "run.json"}) {
    EXPECT_TRUE(std::filesystem::exists(folder / (std::string("run/") + file))) << file;
  }
  // The placement that was saved is the one that is told, next to the best that was found at most.
  EXPECT_LE(json["runtime_us"].get<double>(), 1.01 * json["best_runtime_us"].get<double>());
  const auto again =
      JsonOf(RunStowplan({"simulate", "--graph", "diamond(width=6)", "--cluster", kPlaceCluster,
                          "--placement", folder / "run/placement.json", "--json", "-"}));
  EXPECT_EQ(again["runtime_us"], json["runtime_us"]);
}

// The placement of the member that is told is the one that was found.
TEST(Place, SaysWhoOfThePortfolioFoundTheBest) {
  const std::vector<std::string> call = {"--graph",     "diamond(width=6)", "--cluster",
                                         kPlaceCluster, "--json",           "-"};
  const auto place = [&](const std::string& agent, const std::string& samples) {
    std::vector<std::string> words = {"place", "--agent", agent, "--samples", samples};
    words.insert(words.end(), call.begin(), call.end());
    return JsonOf(RunStowplan(words));
  };
  const auto first = place("portfolio", "1");
  ASSERT_TRUE(first.contains("found_by"));
  EXPECT_EQ(first["best_runtime_us"], place(first["found_by"], "1")["best_runtime_us"]);
  const auto all = place("portfolio", "200");
  EXPECT_GE(all["samples_to_best"], 1);
  EXPECT_FALSE(place("random", "5").contains("found_by"));
  const std::string told =
      RunStowplan({"place", "diamond(width=6)", "--cluster", kPlaceCluster, "--samples", "200"}).out;
  EXPECT_THAT(told, HasSubstr("ound by " + all["found_by"].get<std::string>() + ", one of the portfolio."));
}

TEST(Place, SaysWhenNothingFits) {
  const TempFolder folder;
  const auto json =
      JsonOf(RunStowplan({"place", "--agent", "single_gpu", "--graph", "chain(bytes=1000000)", "--cluster",
                          kPlaceCluster, "--memory", "gpu=301MiB", "--out", folder / "run", "--json", "-"}));
  EXPECT_FALSE(json["feasible"]);
  EXPECT_TRUE(json["best_runtime_us"].is_null());
  EXPECT_TRUE(json["samples_to_best"].is_null());
  EXPECT_FALSE(std::filesystem::exists(folder / "run/placement.json"));
  EXPECT_TRUE(std::filesystem::exists(folder / "run/run.json"));
}

TEST(Place, SaysWhenItIsProvenThatNothingFits) {
  const std::vector<std::string> call = {
      "place",     "--agent",     "single_gpu", "--graph", "chain(ops=4,bytes=400000000)",
      "--cluster", kPlaceCluster, "--devices",  "gpu",     "--memory",
      "gpu=301MiB"};
  EXPECT_THAT(RunStowplan(call).out, HasSubstr("proven that the graph does not fit"));
  auto with_json = call;
  with_json.insert(with_json.end(), {"--json", "-"});
  const auto json = JsonOf(RunStowplan(with_json));
  EXPECT_TRUE(json["proven_infeasible"]);
  EXPECT_EQ(json["reference"], "gpu0, which does not fit");
}

// What the search for what would fit comes by is no result of the agent; but it is told how to get it.
TEST(Place, SaysWhoFindsWhatFits) {
  const TempFolder folder;
  const auto told =
      RunStowplan({"place", "random_dag(ops=60)", "--cluster", "k40(gpus=2)", "--devices", "gpu", "--memory",
                   "gpu=318MiB", "--agent", "single_gpu", "--samples", "1", "--out", folder / "run"});
  EXPECT_EQ(
      told.out,
      "single_gpu: no placement that fits in 1 samples, but the portfolio finds one:\n"
      "  stowplan place --agent 'portfolio(plan=40000)' --graph 'random_dag(ops=60)' --cluster 'k40(gpus=2)' "
      "--devices gpu --memory gpu=318MiB --samples 1000\n");
  const auto run = nlohmann::json::parse(formats::ReadFile(folder / "run/run.json"));
  EXPECT_FALSE(run["feasible"]);
  EXPECT_FALSE(run["brief"]);
  EXPECT_FALSE(std::filesystem::exists(folder / "run/placement.json"));
  const auto found = JsonOf(RunStowplan({"place", "--agent", "portfolio", "--graph", "random_dag(ops=60)",
                                         "--cluster", "k40(gpus=2)", "--devices", "gpu", "--memory",
                                         "gpu=318MiB", "--samples", "1000", "--json", "-"}));
  EXPECT_TRUE(found["feasible"]);
}

// What is proven not to exist is not sought for as long as anything else: on a large graph that would be most of a minute.
TEST(Place, SeeksWhatWouldFitNoLongerThanTheGraphAllows) {
  const auto json = JsonOf(RunStowplan({"place", "random_dag(ops=4000)", "--cluster", kPlaceCluster,
                                        "--devices", "gpu", "--memory", "gpu=301MiB", "--json", "-"}));
  EXPECT_TRUE(json["proven_infeasible"]);
  EXPECT_EQ(json["samples"], 250);
  EXPECT_EQ(json["budget"], 1000);
  EXPECT_TRUE(json["brief"]);
  EXPECT_LT(json["screens"], 20'000);
}

// Ctrl-C in a search of hours: the status that is documented, and the best so far is written. How far it came by then is the
// machine's affair, so it is given more time until it has a sample.
TEST(Place, InterruptedPlaceKeepsItsBestSoFar) {
  for (int milliseconds = 50; milliseconds < 60'000; milliseconds *= 2) {
    const TempFolder folder;
    testing::RunningProgram running({"place", "--agent", "random", "--graph", "diamond(width=6)", "--cluster",
                                     kPlaceCluster, "--samples", "1000000000000", "--out", folder / "run"},
                                    folder.path());
    for (int waited = 0; waited < 60'000 && !std::filesystem::exists(folder / "run"); ++waited)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    ASSERT_EQ(running.StopAndWait(SIGINT), output::kInterruptedStatus);
    const auto run = nlohmann::json::parse(formats::ReadFile(folder / "run/run.json"));
    EXPECT_TRUE(run["interrupted"]);
    if (run["samples"] == 0) continue;
    const auto outcome = nlohmann::json::parse(formats::ReadFile(folder / "run/outcome.json"));
    EXPECT_EQ(outcome["runtime_us"], run["runtime_us"]);
    for (const char* file : {"placement.json", "curve.csv", "trace.json"})
      EXPECT_TRUE(std::filesystem::exists(folder / (std::string("run/") + file))) << file;
    return;
  }
  FAIL() << "no sample in a minute";
}

// A kill leaves what was told to the agent; the same call with --resume ends as if nothing had been.
TEST(Place, KilledSearchesGoOn) {
  for (const char* agent : {"local_search", "annealing", "genetic", "cross_entropy", "random"}) {
    const TempFolder folder;
    const auto call = [&](const std::string& out, const std::vector<std::string>& more) {
      std::vector<std::string> words = {
          "place", "--agent",    agent,       "--graph",     "random_dag(ops=80)",
          "--out", folder / out, "--cluster", kPlaceCluster, "--log-samples"};
      words.insert(words.end(), more.begin(), more.end());
      return words;
    };
    // Killed once there is something of it, wherever that is; where it was done by then, a longer one.
    std::string samples;
    for (const char* more : {"6000", "60000"}) {
      samples = more;
      std::filesystem::remove_all(folder / "parts");
      testing::RunningProgram running(call("parts", {"--samples", samples, "--seed", "3"}), folder.path());
      const std::string checkpoint = folder / "parts/checkpoint";
      for (int waited = 0; waited < 60'000; ++waited) {
        if (std::filesystem::exists(checkpoint) && std::filesystem::file_size(checkpoint) > 10'000) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      running.StopAndWait(SIGKILL);
      if (!std::filesystem::exists(folder / "parts/outcome.json")) break;
    }
    ASSERT_FALSE(std::filesystem::exists(folder / "parts/outcome.json")) << agent << " was done first";
    const std::vector<std::string> budget = {"--samples", samples, "--seed", "3"};
    auto resumed = budget;
    resumed.emplace_back("--resume");
    ASSERT_EQ(RunStowplan(call("whole", budget)).status, 0);
    ExpectRefused(call("parts", {"--samples", samples, "--seed", "4", "--resume"}), "holds results of");
    ASSERT_EQ(RunStowplan(call("parts", resumed)).status, 0) << agent;
    for (const char* file : {"placement.json", "samples.csv", "outcome.json"})
      EXPECT_EQ(formats::ReadFile(folder / (std::string("parts/") + file)),
                formats::ReadFile(folder / (std::string("whole/") + file)))
          << agent << " " << file;
    const auto whole = nlohmann::json::parse(formats::ReadFile(folder / "whole/run.json"));
    const auto parts = nlohmann::json::parse(formats::ReadFile(folder / "parts/run.json"));
    for (const char* key : {"samples", "distinct", "samples_to_best", "best_runtime_us", "interrupted"})
      EXPECT_EQ(parts[key], whole[key]) << agent << " " << key;
  }
}

// With fewer samples than there are the search would end earlier, and write what it had by then over what was found later.
TEST(Place, FewerSamplesThanThereAreAreNotGoneOnWith) {
  const TempFolder folder;
  const auto call = [&](const std::string& samples, const std::vector<std::string>& more) {
    std::vector<std::string> words = {
        "place",     "--agent",     "local_search", "--graph", "random_dag(ops=40)", "--out", folder / "run",
        "--cluster", kPlaceCluster, "--samples",    samples};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  ASSERT_EQ(RunStowplan(call("60", {"--log-samples"})).status, 0);
  const auto read = [&](const char* file) {
    return formats::ReadFile(folder / ("run/" + std::string(file)));
  };
  const auto kept = {"run.json", "placement.json", "curve.csv", "samples.csv", "checkpoint"};
  std::vector<std::string> before;
  for (const char* file : kept) before.push_back(read(file));
  const std::string says =
      "run: holds 60 samples of this search; --samples must be at least 60 to go on, or --force";
  ExpectRefused(call("10", {"--resume", "--log-samples"}), says);
  // As a kill leaves it: the record says nothing of how far it came.
  auto killed = nlohmann::json::parse(read("run.json"));
  killed["interrupted"] = true;
  killed["samples"] = 0;
  before.front() = killed.dump();
  formats::WriteFile(folder / "run/run.json", before.front());
  ExpectRefused(call("59", {"--resume"}), says);
  std::vector<std::string> after;
  for (const char* file : kept) after.push_back(read(file));
  EXPECT_EQ(after, before);
  EXPECT_EQ(RunStowplan(call("60", {"--resume"})).status, 0);
  EXPECT_EQ(RunStowplan(call("70", {"--resume"})).status, 0);
  EXPECT_EQ(RunStowplan(call("10", {"--force"})).status, 0);
}

TEST(Place, ResultsOfSomethingElseAreNotReplaced) {
  const TempFolder folder;
  const auto call = [&](const char* agent, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"place", "--agent",   agent,         "--graph",
                                      "chain", "--cluster", kPlaceCluster, "--samples",
                                      "9",     "--out",     folder / "run"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  ASSERT_EQ(RunStowplan(call("random", {})).status, 0);
  EXPECT_EQ(RunStowplan(call("random", {})).status, 0) << "the same again";
  ExpectRefused(call("annealing", {}), "holds results of something else, `stowplan place --agent random");
  ExpectRefused(call("random", {"--seed", "2"}), "(seed is 1 there, 2 here); give another --out, or --force");
  ExpectRefused(call("random", {"--resume", "--force"}), "give one of them");
  EXPECT_EQ(RunStowplan(call("annealing", {"--force"})).status, 0);
  // A record that somebody made: nested too deep to be shown, and with a text where a truth value is wanted.
  for (const std::string key : {"agent", "interrupted"}) {
    auto run = nlohmann::json::parse(formats::ReadFile(folder / "run/run.json"));
    run[key] = "here";
    std::string text = run.dump();
    const std::string deep =
        key == "agent" ? std::string(300'000, '[') + std::string(300'000, ']') : "\"maybe\"";
    text.replace(text.find("\"here\""), 6, deep);
    formats::WriteFile(folder / "run/made.json", text);
    std::filesystem::copy_file(folder / "run/run.json", folder / "kept.json");
    std::filesystem::rename(folder / "run/made.json", folder / "run/run.json");
    const auto result = RunStowplan(call("annealing", {}));
    EXPECT_EQ(result.status, key == "agent" ? 2 : 0) << result.err;
    std::filesystem::remove(folder / "run/run.json");
    std::filesystem::rename(folder / "kept.json", folder / "run/run.json");
  }
  std::filesystem::remove(folder / "run/run.json");
  ExpectRefused(call("annealing", {}), "holds checkpoint and no run.json that says what it is of");
  std::filesystem::remove_all(folder / "run");
  formats::WriteFile(folder / "units.json", "mine");
  std::filesystem::create_directory(folder / "run");
  std::filesystem::rename(folder / "units.json", folder / "run/units.json");
  ExpectRefused(call("random", {}), "holds units.json and no run.json that says what it is of");
}

TEST(Place, DoesNotDependOnThreads) {
  std::vector<nlohmann::json> results;
  for (const char* threads : {"1", "3"}) {
    auto json =
        JsonOf(RunStowplan({"place", "--agent", "random", "--graph", "random_dag(ops=80)", "--cluster",
                            kPlaceCluster, "--samples", "100", "--threads", threads, "--json", "-"}));
    for (const char* key : {"wall_seconds", "simulator_seconds", "date", "command"}) json.erase(key);
    results.push_back(json);
  }
  EXPECT_EQ(results[0], results[1]);
}

}  // namespace
}  // namespace stowplan::cli
