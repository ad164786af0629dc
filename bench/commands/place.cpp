// berth place: lets an agent search a placement and keeps what it found.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "agents/agent.h"
#include "agents/bounds.h"
#include "bench/commands/commands.h"
#include "bench/console.h"
#include "bench/csv.h"
#include "bench/interrupt.h"
#include "bench/loaded_problem.h"
#include "bench/placement_source.h"
#include "bench/provenance.h"
#include "bench/report.h"
#include "sim/error.h"
#include "sim/formats/formats.h"
#include "sim/formats/source.h"
#include "sim/spec.h"

namespace berth::bench {
namespace {

// What is searched; from --scenario or from single options.
struct Search {
  ProblemSource source;
  std::string scenario;  // its name
  std::string grouper = "colocation";
  std::string expert;  // placement file; empty = the rule
  std::string grouper_place,
      expert_place;  // in a scenario file, for messages; empty = the command line gives them
  std::int64_t samples = 1000;
  std::int64_t seed = 1;
};

struct Found {
  const agents::Task& task;
  const agents::Evaluator& evaluator;
  std::string agent;
  agents::LowerBound bound;
  double wall_seconds = 0;

  bool interrupted() const { return evaluator.stop_requested() && evaluator.remaining() > 0; }
};

// Paths in a scenario file are meant from where the file stands.
std::string FromFolderOf(const std::string& scenario_file, const std::string& name_or_path) {
  const auto beside = std::filesystem::path(scenario_file).parent_path() / name_or_path;
  return !name_or_path.empty() && std::filesystem::is_regular_file(beside) ? beside.string() : name_or_path;
}

nlohmann::ordered_json Summary(const Search& search, const Found& found) {
  const agents::Evaluator& evaluator = found.evaluator;
  const bool feasible = evaluator.has_best();
  const Provenance now = CurrentProvenance();
  nlohmann::ordered_json json = {{"agent", found.agent},
                                 {"scenario", search.scenario},
                                 {"graph", found.task.problem->graph().name},
                                 {"cluster", found.task.problem->cluster().name},
                                 {"cost_model", found.task.problem->costs().cost_model},
                                 {"grouper", found.task.units.grouper},
                                 {"units", found.task.units.size()},
                                 {"seed", search.seed},
                                 {"budget", search.samples},
                                 {"samples", evaluator.samples()},
                                 {"distinct", evaluator.distinct()},
                                 {"proposals", evaluator.proposals()},
                                 {"samples_to_best", nullptr},
                                 {"samples_to_1pct", nullptr},
                                 {"best_runtime_us", nullptr},
                                 {"feasible", feasible},
                                 {"lower_bound_us", sim::ToMicros(found.bound.best())},
                                 {"proven_infeasible", found.bound.nothing_fits},
                                 {"reference_runtime_us", sim::ToMicros(found.task.reference_runtime)},
                                 {"reference", found.task.reference},
                                 {"wall_seconds", found.wall_seconds},
                                 {"simulator_seconds", evaluator.simulator_seconds()},
                                 {"interrupted", found.interrupted()},
                                 {"command", now.command},
                                 {"revision", now.revision},
                                 {"dirty", now.dirty},
                                 {"machine", now.machine},
                                 {"date", now.date}};
  if (feasible) {
    json["samples_to_best"] = evaluator.samples_to_best();
    json["samples_to_1pct"] = evaluator.samples_to_within(0.01);
    json["best_runtime_us"] = sim::ToMicros(evaluator.best_runtime());
  }
  return json;
}

std::string CurveCsv(const agents::Evaluator& evaluator) {
  std::string text = PrintCsvLine({"sample", "best_runtime_us", "wall_seconds"});
  for (const agents::CurvePoint& point : evaluator.curve()) {
    text += PrintCsvLine({std::to_string(point.sample), fmt::format("{}", sim::ToMicros(point.best)),
                          fmt::format("{:.3f}", point.wall_seconds)});
  }
  return text;
}

class PlaceCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("--agent", agent_, "one of `berth list agents`, with parameters: placeto(rounds=8)")
        ->required()
        ->option_text("A");
    auto* scenario = app.add_option("--scenario", scenario_file_, "a berth.scenario file")->option_text("S");
    auto* graph =
        app.add_option("--graph", search_.source.graph, "a workload or a graph file")->option_text("G");
    auto* cluster =
        app.add_option("--cluster", search_.source.cluster, "a cluster or a cluster file")->option_text("C");
    graph->needs(cluster)->excludes(scenario);
    cluster->needs(graph)->excludes(scenario);
    samples_ = app.add_option("--samples", search_.samples,
                              "the budget: placements that may be evaluated; else the scenario's, else 1000")
                   ->option_text("N");
    seed_ = app.add_option("--seed", search_.seed, "of the agent; else the scenario's first, else 1")
                ->option_text("K");
    grouper_ =
        app.add_option(
               "--grouper", search_.grouper,
               "what is placed as one: one of `berth list groupers`; else the scenario's, else colocation")
            ->option_text("GROUPER");
    app.add_option("--devices", devices_,
                   "names, kinds or classes the agent may choose from: gpu, or cpu0,gpu1")
        ->option_text("D");
    DeclareProblemOptions(app, search_.source);
    app.add_option("--init", options_.init, "weights a learner starts from")->option_text("CKPT");
    app.add_option("--learn", learn_, "no: a learner applies its weights and changes none")
        ->capture_default_str()
        ->option_text("yes|no");
    app.add_option("--threads", options_.threads,
                   "threads of agent and simulator; results do not depend on it; 0 = one per core")
        ->capture_default_str()
        ->option_text("T");
    app.add_option("--out", out_, "folder for placement.json, outcome.json, curve.csv, trace.json, run.json")
        ->option_text("DIR");
    app.add_flag("--resume", options_.resume, "go on from the checkpoint in --out; learners alone keep one");
    app.add_option("--json", json_, "write a summary to this file; - is standard output")
        ->option_text("FILE");
  }

  void Run() override {
    const std::atomic<bool>& stop = StopRequested();  // from here on Ctrl-C ends the search, not the program
    Prepare();
    const LoadedProblem loaded(search_.source);
    sim::Placement expert;
    if (!search_.expert.empty()) {
      expert = formats::CheckedAt(search_.expert_place,
                                  [&] { return LoadPlacement(search_.expert, loaded.problem()); });
    }
    const std::vector<std::string> devices = SelectDevices(loaded.cluster(), devices_);
    const agents::Task task = formats::CheckedAt(search_.grouper_place, [&] {
      return agents::MakeTask(loaded.problem(), search_.grouper, devices,
                              search_.expert.empty() ? nullptr : &expert);
    });
    const auto agent = agents::MakeAgent(agent_);
    if (!out_.empty()) {
      std::filesystem::create_directories(out_);
      options_.checkpoint = (std::filesystem::path(out_) / "checkpoint").string();
    }
    Progress progress(agent->name() + " on " + search_.scenario, search_.samples);
    agents::Evaluator::Options limits;
    limits.budget = search_.samples;
    limits.threads = options_.threads;
    limits.stop = &stop;
    limits.on_sample = [&](const agents::Evaluator& now) {
      progress.Update(now.samples(),
                      now.has_best() ? "best " + TimeText(now.best_runtime()) : "nothing fits yet");
    };
    agents::Evaluator evaluator(task, limits);
    // Before the search, so that nothing stands between its end, or Ctrl-C, and what is saved.
    const agents::LowerBound bound = agents::ComputeLowerBound(loaded.problem(), task.devices);
    const auto start = std::chrono::steady_clock::now();
    agent->Search(task, evaluator, options_);
    progress.Finish();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    Save({task, evaluator, agent->name(), bound, wall.count()});
  }

 private:
  void Prepare() {
    if (scenario_file_.empty() == search_.source.graph.empty()) {
      throw InputError("berth place: give what to place, --scenario S or --graph G --cluster C.");
    }
    if (learn_ != "yes" && learn_ != "no")
      throw InputError(fmt::format("--learn {}: wanted yes or no.", learn_));
    if (options_.threads < 0)
      throw InputError(fmt::format("--threads {}: 0 (one per core) or more is wanted.", options_.threads));
    if (options_.resume && out_.empty())
      throw InputError("--resume: goes on from what --out DIR holds, so --out is wanted too.");
    if (options_.resume && !IsLearner()) {
      throw InputError(fmt::format(
          "--resume: {} keeps no checkpoint, only learners do; start it without --resume.", agent_));
    }
    if (!scenario_file_.empty()) ReadScenario();
    if (scenario_file_.empty()) search_.scenario = search_.source.graph + " on " + search_.source.cluster;
    if (search_.seed < 0) throw InputError(fmt::format("--seed {}: 0 or more is wanted.", search_.seed));
    if (search_.samples < 1)
      throw InputError(fmt::format("--samples {}: at least 1 is wanted.", search_.samples));
    options_.learn = learn_ == "yes";
    options_.seed = static_cast<std::uint64_t>(search_.seed);
  }

  bool IsLearner() const {
    const std::string name = Spec::Parse(agent_).name;
    const auto& rows = agents::Agents();
    return std::any_of(rows.begin(), rows.end(), [&](const agents::AgentRow& row) {
      return row.name == name && row.kind == agents::AgentKind::kLearner;
    });
  }

  // What was given on the command line wins over the file.
  void ReadScenario() {
    const formats::Scenario scenario = formats::ReadScenario(scenario_file_);
    search_.scenario = scenario.name;
    search_.source.graph = FromFolderOf(scenario_file_, scenario.workload);
    search_.source.cluster = FromFolderOf(scenario_file_, scenario.cluster);
    search_.source.graph_place = scenario.places.at("workload");
    search_.source.cluster_place = scenario.places.at("cluster");
    if (search_.source.cost_model.empty() && !scenario.cost_model.empty()) {
      search_.source.cost_model = FromFolderOf(scenario_file_, scenario.cost_model);
      search_.source.cost_model_place = scenario.places.at("cost_model");
    }
    if (!scenario.expert.empty()) {
      search_.expert = FromFolderOf(scenario_file_, scenario.expert);
      search_.expert_place = scenario.places.at("expert");
    }
    if (grouper_->count() == 0 && !scenario.grouper.empty()) {
      search_.grouper = scenario.grouper;
      search_.grouper_place = scenario.places.at("grouper");
    }
    if (samples_->count() == 0) search_.samples = scenario.samples;
    if (seed_->count() == 0 && !scenario.seeds.empty()) search_.seed = scenario.seeds.front();
  }

  void Save(const Found& found) const {
    const std::string summary = Summary(search_, found).dump(1) + "\n";
    const agents::Evaluator& evaluator = found.evaluator;
    sim::Placement best;
    if (evaluator.has_best()) best = agents::Expand(found.task, evaluator.best());
    const auto simulator = sim::MakeSimulator(*found.task.problem);
    const sim::Outcome* outcome =
        evaluator.has_best()
            ? &simulator->Run(best, {.record = sim::RunOptions::Record::kTimeline, .cutoff = {}})
            : nullptr;
    // PROTOCOL 1.5: what is printed is evaluated once more. They can only differ after a resume.
    if (outcome != nullptr && outcome->runtime != evaluator.best_runtime()) {
      throw InputError(
          fmt::format("{}: its best placement takes {} here, but the checkpoint says {}; it was made for "
                      "another graph or cluster, start without --resume.",
                      options_.checkpoint, TimeText(outcome->runtime), TimeText(evaluator.best_runtime())));
    }
    if (!out_.empty()) SaveFolder(found, outcome, best, summary);
    if (!json_.empty()) return formats::WriteFile(json_, summary);
    PrintSummary(found, outcome, best);
  }

  static void PrintSummary(const Found& found, const sim::Outcome* outcome, const sim::Placement& best) {
    const agents::Evaluator& evaluator = found.evaluator;
    const std::string samples =
        fmt::format("{} of {} samples{}", CountText(evaluator.samples()), CountText(evaluator.budget()),
                    found.interrupted() ? " (interrupted)" : "");
    if (outcome == nullptr) {
      fmt::print("{}: no placement that fits in {}; {}\n", found.agent, samples,
                 found.bound.nothing_fits
                     ? "none exists: it is proven that the graph does not fit on these devices"
                     : "proven lower bound " + TimeText(found.bound.best()));
      return;
    }
    const sim::Picos bound = found.bound.best();
    fmt::print("{}\n", PrintReport(*outcome, *found.task.problem, best));
    fmt::print("{}: best {} after {} of {} (within 1 % after {}), proven lower bound {} (gap {:.2f})\n",
               found.agent, TimeText(evaluator.best_runtime()), CountText(evaluator.samples_to_best()),
               samples, CountText(evaluator.samples_to_within(0.01)), TimeText(bound),
               bound > 0 ? static_cast<double>(evaluator.best_runtime()) / static_cast<double>(bound) : 0.0);
  }

  void SaveFolder(const Found& found, const sim::Outcome* outcome, const sim::Placement& best,
                  const std::string& summary) const {
    const auto path = [&](const char* name) { return (std::filesystem::path(out_) / name).string(); };
    const sim::Problem& problem = *found.task.problem;
    if (outcome != nullptr) {
      formats::WriteFile(path("placement.json"),
                         formats::PrintPlacement(best, problem.graph(), problem.cluster()));
      formats::WriteFile(path("outcome.json"), formats::PrintOutcome(*outcome, problem, best));
      formats::WriteFile(path("trace.json"), formats::PrintChromeTrace(*outcome, problem, best));
    } else {
      // What an earlier run left here would be taken for this run's.
      for (const char* name : {"placement.json", "outcome.json", "trace.json"})
        std::filesystem::remove(path(name));
    }
    formats::WriteFile(path("curve.csv"), CurveCsv(found.evaluator));
    formats::WriteFile(path("run.json"), summary);
  }

  Search search_;
  std::string agent_;
  std::string scenario_file_;
  std::string devices_;
  std::string learn_ = "yes";
  std::string out_;
  std::string json_;
  agents::SearchOptions options_;
  CLI::Option* samples_ = nullptr;
  CLI::Option* seed_ = nullptr;
  CLI::Option* grouper_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> MakePlaceCommand() {
  return std::make_unique<PlaceCommand>();
}

}  // namespace berth::bench
