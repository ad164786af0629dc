// stowplan speed: N different random placements, drawn before the clock starts, through the batch simulator;
// peak memory is tracked, nothing is recorded. One placement for each thread is run beforehand, so that the
// scratch memory of the threads is allocated; it is not counted.
#include <chrono>
#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/reference.h"
#include "output/console.h"
#include "problem/loaded_problem.h"
#include "problem/options.h"
#include "problem/provenance.h"
#include "problem/random_placements.h"
#include "problem/this_machine.h"
#include "sim/base/error.h"
#include "sim/formats/formats.h"

namespace stowplan::cli {
namespace {

class SpeedCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    problem::DeclareProblem(app, source_);
    problem::Whole(app.add_option("--placements", placements_, "how many random placements"), 1, 10'000'000)
        ->capture_default_str()
        ->option_text("N");
    problem::Threads(app.add_option("--threads", threads_, "0 = one per core"))
        ->capture_default_str()
        ->option_text("T");
    problem::Whole(app.add_option("--seed", seed_, "of the placements"), 0, problem::kMaxSeed)
        ->capture_default_str()
        ->option_text("K");
    problem::DeclareProblemOptions(app, source_);
    problem::JsonFile(app.add_option("--json", json_, "write JSON to this file; - is standard output"))
        ->option_text("FILE");
    AddExamples(app, {"stowplan speed --graph nmt --cluster 'k40(gpus=2)' --threads 2",
                      "stowplan speed --graph inception_v3 --cluster 'k80(gpus=2)' --placements 10"});
  }

  void Run() override {
    problem::ResolveHere(source_);
    const problem::LoadedProblem loaded(source_);
    const std::vector<sim::Placement> placements =
        problem::DrawPlacements(loaded.graph(), loaded.cluster(), placements_, seed_);
    sim::BatchSimulator simulator(loaded.problem(), threads_);
    simulator.Run(std::span(placements)
                      .first(std::min(placements.size(), static_cast<std::size_t>(simulator.threads()))));
    const auto start = std::chrono::steady_clock::now();
    const std::vector<sim::Outcome> outcomes = simulator.Run(placements);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    Report(loaded, outcomes, simulator.threads(), seconds);
  }

 private:
  void Report(const problem::LoadedProblem& loaded, const std::vector<sim::Outcome>& outcomes, int threads,
              double seconds) const {
    const double runs = static_cast<double>(outcomes.size());
    const double ops_per_second = runs * loaded.graph().size() / seconds;
    const auto feasible =
        std::count_if(outcomes.begin(), outcomes.end(), [](const sim::Outcome& o) { return o.feasible(); });
    if (json_.empty()) {
      PrintProblem(loaded);
      output::Print(fmt::format("{} random placements ({} fit) on {} thread{}: {}, {}, {} a placement\n",
                                output::CountText(static_cast<std::int64_t>(runs)),
                                output::CountText(feasible), threads, threads == 1 ? "" : "s",
                                output::TimeText(seconds * 1e6), output::RateText(ops_per_second, "ops"),
                                output::TimeText(seconds * 1e6 * threads / runs)));
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

  static void PrintProblem(const problem::LoadedProblem& loaded) {
    output::Print(fmt::format(
        "{} ({} ops, {} edges) on {} ({} devices, {}{})\n", loaded.graph().name,
        output::CountText(loaded.graph().size()), output::CountText(loaded.graph().edges()),
        loaded.cluster().name, loaded.cluster().size(), sim::ToString(loaded.cluster().rules),
        loaded.cluster().rules == sim::Rules::kNative ? ", " + loaded.cluster().interconnect : ""));
  }

  nlohmann::ordered_json Describe(const problem::LoadedProblem& loaded) const {
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
    problem::AddProvenance(json);
    formats::WriteFile(json_, json.dump(1) + "\n");
  }

  problem::ProblemSource source_;
  std::int64_t placements_ = 100;
  int threads_ = 1;
  std::uint64_t seed_ = 1;
  std::string json_;
};

}  // namespace

std::unique_ptr<Command> MakeSpeedCommand() {
  return std::make_unique<SpeedCommand>();
}

}  // namespace stowplan::cli
