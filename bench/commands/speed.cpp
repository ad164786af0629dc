// berth speed: N different random placements, drawn before the clock starts, through the batch simulator; peak memory
// is tracked, nothing is recorded. One placement for each thread is run beforehand, so that the scratch memory of the
// threads is allocated; it is not counted.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bench/commands/commands.h"
#include "bench/console.h"
#include "bench/loaded_problem.h"
#include "bench/provenance.h"
#include "bench/random_placements.h"
#include "sim/error.h"
#include "sim/formats/formats.h"

namespace berth::bench {
namespace {

class SpeedCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("--graph", source_.graph, "a workload or a graph file")->required()->option_text("G");
    app.add_option("--cluster", source_.cluster, "a cluster or a cluster file")->required()->option_text("C");
    app.add_option("--placements", placements_, "how many random placements")->capture_default_str()->option_text("N");
    app.add_option("--threads", threads_, "0 = one per core")->capture_default_str()->option_text("T");
    app.add_option("--seed", seed_, "of the placements")->capture_default_str()->option_text("K");
    DeclareProblemOptions(app, source_);
    app.add_option("--json", json_, "write JSON to this file; - is standard output")->option_text("FILE");
  }

  void Run() override {
    if (placements_ < 1) throw InputError(fmt::format("--placements {}: at least 1 is wanted.", placements_));
    if (threads_ < 0) throw InputError(fmt::format("--threads {}: 0 (one per core) or more is wanted.", threads_));
    const LoadedProblem loaded(source_);
    const std::vector<sim::Placement> placements = DrawPlacements(loaded.graph(), loaded.cluster(), placements_, seed_);
    sim::BatchSimulator simulator(loaded.problem(), threads_);
    simulator.Run(std::span(placements).first(std::min(placements.size(), static_cast<std::size_t>(simulator.threads()))));
    const auto start = std::chrono::steady_clock::now();
    const std::vector<sim::Outcome> outcomes = simulator.Run(placements);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    Report(loaded, outcomes, simulator.threads(), seconds);
  }

 private:
  void Report(const LoadedProblem& loaded, const std::vector<sim::Outcome>& outcomes, int threads, double seconds) const {
    const double runs = static_cast<double>(outcomes.size());
    const double ops_per_second = runs * loaded.graph().size() / seconds;
    const auto feasible = std::count_if(outcomes.begin(), outcomes.end(), [](const sim::Outcome& o) { return o.feasible(); });
    if (json_.empty()) {
      fmt::print("{} ({} ops, {} edges) on {} ({} devices, {}{})\n", loaded.graph().name, CountText(loaded.graph().size()),
                 CountText(loaded.graph().edges()), loaded.cluster().name, loaded.cluster().size(), sim::ToString(loaded.cluster().preset),
                 loaded.cluster().preset == sim::Preset::kNative ? ", " + loaded.cluster().interconnect : "");
      fmt::print("{} random placements ({} fit) on {} thread{}: {}, {}, {} a placement\n", CountText(static_cast<std::int64_t>(runs)),
                 CountText(feasible), threads, threads == 1 ? "" : "s", TimeText(seconds * 1e6), RateText(ops_per_second, "ops"),
                 TimeText(seconds * 1e6 * threads / runs));
      return;
    }
    const Provenance now = CurrentProvenance();
    const nlohmann::ordered_json json = {{"graph", loaded.graph().name},
                                         {"cluster", loaded.cluster().name},
                                         {"preset", sim::ToString(loaded.cluster().preset)},
                                         {"interconnect", loaded.cluster().interconnect},
                                         {"devices", loaded.cluster().size()},
                                         {"ops", loaded.graph().size()},
                                         {"edges", loaded.graph().edges()},
                                         {"placements", outcomes.size()},
                                         {"feasible", feasible},
                                         {"seed", seed_},
                                         {"threads", threads},
                                         {"seconds", seconds},
                                         {"ops_per_second", ops_per_second},
                                         {"command", now.command},
                                         {"revision", now.revision},
                                         {"dirty", now.dirty},
                                         {"machine", now.machine},
                                         {"date", now.date}};
    formats::WriteFile(json_, json.dump(1) + "\n");
  }

  ProblemSource source_;
  std::int64_t placements_ = 100;
  int threads_ = 1;
  std::uint64_t seed_ = 1;
  std::string json_;
};

}  // namespace

std::unique_ptr<Command> MakeSpeedCommand() { return std::make_unique<SpeedCommand>(); }

}  // namespace berth::bench
