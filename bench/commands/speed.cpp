// berth speed: N different random placements, drawn before the clock starts, through the batch simulator;
// peak memory is tracked, nothing is recorded. One placement for each thread is run beforehand, so that the
// scratch memory of the threads is allocated; it is not counted.
//
// With --moves K the placements are bases instead, and what is timed is K times one op moved (move_speed.h).
#include <chrono>
#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/commands/commands.h"
#include "bench/console.h"
#include "bench/loaded_problem.h"
#include "bench/move_speed.h"
#include "bench/options.h"
#include "bench/provenance.h"
#include "bench/random_placements.h"
#include "bench/reference.h"
#include "sim/error.h"
#include "sim/formats/formats.h"

namespace berth::bench {
namespace {

class SpeedCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("--graph", source_.graph, "a workload or a graph file")->required()->option_text("G");
    app.add_option("--cluster", source_.cluster, "a cluster or a cluster file")->required()->option_text("C");
    Whole(app.add_option("--placements", placements_, "how many random placements"), 1, 10'000'000)
        ->capture_default_str()
        ->option_text("N");
    Threads(app.add_option("--threads", threads_, "0 = one per core"))
        ->capture_default_str()
        ->option_text("T");
    Whole(app.add_option("--seed", seed_, "of the placements"), 0, kMaxSeed)
        ->capture_default_str()
        ->option_text("K");
    Whole(app.add_option(
              "--moves", moves_,
              "instead: from each of N block and N random placements move one op K times, incrementally and "
              "from scratch"),
          1, 10'000'000)
        ->option_text("K");
    DeclareProblemOptions(app, source_);
    JsonFile(app.add_option("--json", json_, "write JSON to this file; - is standard output"))
        ->option_text("FILE");
    AddExamples(app,
                {"berth speed --graph nmt --cluster 'k40(gpus=2)' --threads 2",
                 "berth speed --graph inception_v3 --cluster 'k80(gpus=2)' --placements 10 --moves 100"});
  }

  void Run() override {
    const LoadedProblem loaded(source_);
    if (moves_ > 0) {
      ReportMoves(loaded, MeasureMoves(loaded, placements_, moves_, seed_));
      return;
    }
    const std::vector<sim::Placement> placements =
        DrawPlacements(loaded.graph(), loaded.cluster(), placements_, seed_);
    sim::BatchSimulator simulator(loaded.problem(), threads_);
    simulator.Run(std::span(placements)
                      .first(std::min(placements.size(), static_cast<std::size_t>(simulator.threads()))));
    const auto start = std::chrono::steady_clock::now();
    const std::vector<sim::Outcome> outcomes = simulator.Run(placements);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    Report(loaded, outcomes, simulator.threads(), seconds);
  }

 private:
  void Report(const LoadedProblem& loaded, const std::vector<sim::Outcome>& outcomes, int threads,
              double seconds) const {
    const double runs = static_cast<double>(outcomes.size());
    const double ops_per_second = runs * loaded.graph().size() / seconds;
    const auto feasible =
        std::count_if(outcomes.begin(), outcomes.end(), [](const sim::Outcome& o) { return o.feasible(); });
    if (json_.empty()) {
      PrintProblem(loaded);
      fmt::print("{} random placements ({} fit) on {} thread{}: {}, {}, {} a placement\n",
                 CountText(static_cast<std::int64_t>(runs)), CountText(feasible), threads,
                 threads == 1 ? "" : "s", TimeText(seconds * 1e6), RateText(ops_per_second, "ops"),
                 TimeText(seconds * 1e6 * threads / runs));
      return;
    }
    nlohmann::ordered_json json = Describe(loaded);
    json["placements"] = outcomes.size();
    json["feasible"] = feasible;
    json["threads"] = threads;
    json["seconds"] = seconds;
    json["ops_per_second"] = ops_per_second;
    Write(std::move(json));
  }

  void ReportMoves(const LoadedProblem& loaded, const std::vector<MoveSpeed>& speeds) const {
    if (json_.empty()) {
      PrintProblem(loaded);
      for (const MoveSpeed& speed : speeds) {
        fmt::print(
            "{}: {} trials, median from scratch {}, one op moved {}; ratio median {:.1f}, 10 % {:.1f}, "
            "90 % {:.1f}; a base takes {}\n",
            speed.base, CountText(speed.trials), TimeText(speed.scratch_us), TimeText(speed.incremental_us),
            speed.ratio, speed.ratio_low, speed.ratio_high, TimeText(speed.base_us));
      }
      return;
    }
    nlohmann::ordered_json json = Describe(loaded);
    for (const MoveSpeed& speed : speeds) {
      json["moves"].push_back({{"base", speed.base},
                               {"bases", placements_},
                               {"trials", speed.trials},
                               {"base_us", speed.base_us},
                               {"scratch_us", speed.scratch_us},
                               {"incremental_us", speed.incremental_us},
                               {"ratio", speed.ratio},
                               {"ratio_10", speed.ratio_low},
                               {"ratio_90", speed.ratio_high}});
    }
    Write(std::move(json));
  }

  static void PrintProblem(const LoadedProblem& loaded) {
    fmt::print("{} ({} ops, {} edges) on {} ({} devices, {}{})\n", loaded.graph().name,
               CountText(loaded.graph().size()), CountText(loaded.graph().edges()), loaded.cluster().name,
               loaded.cluster().size(), sim::ToString(loaded.cluster().rules),
               loaded.cluster().rules == sim::Rules::kNative ? ", " + loaded.cluster().interconnect : "");
  }

  nlohmann::ordered_json Describe(const LoadedProblem& loaded) const {
    return {{"graph", loaded.graph().name},
            {"cluster", loaded.cluster().name},
            {"rules", sim::ToString(loaded.cluster().rules)},
            {"interconnect", loaded.cluster().interconnect},
            {"devices", loaded.cluster().size()},
            {"ops", loaded.graph().size()},
            {"edges", loaded.graph().edges()},
            {"seed", seed_}};
  }

  void Write(nlohmann::ordered_json json) const {
    const Provenance now = CurrentProvenance();
    json["command"] = now.command;
    json["revision"] = now.revision;
    json["dirty"] = now.dirty;
    json["machine"] = now.machine;
    json["date"] = now.date;
    formats::WriteFile(json_, json.dump(1) + "\n");
  }

  ProblemSource source_;
  std::int64_t placements_ = 100;
  std::int64_t moves_ = 0;
  int threads_ = 1;
  std::uint64_t seed_ = 1;
  std::string json_;
};

}  // namespace

std::unique_ptr<Command> MakeSpeedCommand() {
  return std::make_unique<SpeedCommand>();
}

}  // namespace berth::bench
