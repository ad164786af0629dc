// stowplan train: one policy of a learner that transfers, trained on several graphs by turns. `stowplan place --init POLICY
// --learn no` applies it to a graph that it has not seen (docs/protocol_rules.md#generalisation).
#include <chrono>
#include <filesystem>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "agents/agent.h"
#include "cli/commands/commands.h"
#include "cli/reference.h"
#include "output/console.h"
#include "output/interrupt.h"
#include "output/progress.h"
#include "problem/loaded_problem.h"
#include "problem/options.h"
#include "problem/provenance.h"
#include "problem/training_set.h"
#include "profiler/host_machine.h"
#include "scenarios/workloads/families.h"
#include "sim/base/error.h"
#include "sim/base/spec.h"
#include "sim/formats/formats.h"
#include "sim/formats/outputs.h"

namespace stowplan::cli {
namespace {

class TrainCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("--agent", agent_, "a learner that transfers, with parameters: placeto(rounds=8)")
        ->required()
        ->option_text("A");
    app.add_option("--family", families_,
                   "cifar10:train, ptb:test, nmt_family:all: members of a family of graphs")
        ->option_text("F...");
    app.add_option("--graph", graphs_, "more graphs: workloads or graph files")->option_text("G...");
    app.add_option("--cluster", source_.cluster, "a cluster or a cluster file")->required()->option_text("C");
    problem::Whole(
        app.add_option("--samples", samples_,
                       "the budget: placements that may be evaluated, shared evenly by the graphs"),
        1, problem::kMaxSamples)
        ->required()
        ->option_text("N");
    problem::Whole(app.add_option("--seed", seed_, "of the agent"), 0, problem::kMaxSeed)
        ->capture_default_str()
        ->option_text("K");
    app.add_option("--grouper", grouper_, "what is placed as one: one of `stowplan list groupers`")
        ->capture_default_str()
        ->option_text("GROUPER");
    app.add_option("--devices", devices_,
                   "names, kinds or classes the agent may choose from: gpu, or cpu0,gpu1")
        ->option_text("D");
    problem::DeclareProblemOptions(app, source_);
    app.add_option("--init", options_.init, "a policy to start from")->option_text("POLICY");
    problem::Threads(
        app.add_option("--threads", options_.threads,
                       "threads of agent and simulator; results do not depend on it; 0 = one per core"))
        ->capture_default_str()
        ->option_text("T");
    app.add_option("--out", out_,
                   "the policy to write; what is needed to go on stands beside it until it is done")
        ->required()
        ->option_text("POLICY");
    app.add_flag("--resume", options_.resume, "go on where training to --out was stopped, if it was begun");
    app.add_flag("--force", force_, "replace the policy that --out is already");
    problem::JsonFile(app.add_option("--json", json_, "write a summary to this file; - is standard output"))
        ->option_text("FILE");
    AddExamples(
        app,
        {"stowplan train --agent 'placeto(preset=transfer)' --family cifar10:train --cluster 'k80(gpus=2)' "
         "--samples 20000 --out "
         "cifar10.policy",
         "stowplan train --agent sgdp --graph nmt gnmt --cluster 'p100(gpus=4)' --samples 5000 --out "
         "nmt.policy "
         "--resume"});
  }

  void Run() override {
    Check();
    const auto agent = agents::MakeAgent(agent_);
    auto* learner = dynamic_cast<agents::Transferable*>(agent.get());
    if (learner == nullptr)
      throw InputError(
          fmt::format("--agent {}: learns nothing that could be applied to other graphs.", agent_));
    Load();
    const std::string state = out_ + ".state";
    if (options_.resume && !std::filesystem::exists(state) && std::filesystem::exists(out_)) {
      throw InputError(fmt::format(
          "--resume: {} is complete, its training ended; --init {} with another --out trains it further.",
          out_, out_));
    }
    if (!options_.resume && !force_ && (std::filesystem::exists(out_) || std::filesystem::exists(state))) {
      throw InputError(fmt::format(
          "--out {}: is there already; --resume goes on where its training was stopped, --init {} "
          "with another --out trains it further, --force replaces it.",
          out_, out_));
    }
    formats::PrepareOutput(out_);
    if (!json_.empty()) formats::PrepareOutput(json_);
    options_.checkpoint = state;
    agents::Ranks& ranks = agents::World();
    options_.ranks = &ranks;
    output::Progress progress(fmt::format("{} on {} graphs", Spec::Parse(agent_).name, graphs_.size()),
                              samples_, !ranks.first());
    const std::atomic<bool>& stop = output::StopRequested();  // before, Ctrl-C has nothing to keep
    problem::TrainingSet::Limits limits;
    limits.samples = samples_;
    limits.threads = options_.threads;
    limits.stop = &stop;
    limits.ranks = &ranks;
    limits.on_sample = [&](std::int64_t samples) { progress.Update(samples); };
    const auto start = std::chrono::steady_clock::now();
    std::optional<output::EndsInTime> in_time;
    if (ranks.alone()) {
      in_time.emplace([&] {
        return std::filesystem::exists(state)
                   ? "stopped; the same call with --resume goes on from the state that was kept last."
                   : "stopped before a first state was kept.";
      });
    }
    set_.Train(*learner, limits, options_);
    in_time.reset();
    progress.Finish();
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (ranks.first()) Keep(*learner, agent->name(), state, wall);
    if (set_.interrupted()) {
      throw output::Interrupted(fmt::format(
          "stopped after {} of {} samples; the policy so far is in {}, the same call with --resume "
          "goes on.",
          output::CountText(set_.samples()), output::CountText(samples_), out_));
    }
  }

 private:
  void Keep(const agents::Transferable& learner, const std::string& agent, const std::string& state,
            double wall) {
    learner.Save(out_);
    if (!set_.interrupted()) {
      std::filesystem::remove(state);
      if (std::filesystem::exists(state + ".log.csv"))
        std::filesystem::rename(state + ".log.csv", out_ + ".log.csv");
    }
    const std::string summary = Summary(agent, wall).dump(1) + "\n";
    if (!json_.empty()) return formats::WriteFile(json_, summary);
    Print(agent);
  }

  void Check() {
    for (const std::string& family : families_) {
      for (std::string& member : scenarios::FamilyMembers(family)) graphs_.push_back(std::move(member));
    }
    if (graphs_.empty())
      throw InputError("stowplan train: give what to train on, --family F:train or --graph G....");
    if (samples_ < static_cast<std::int64_t>(graphs_.size())) {
      throw InputError(fmt::format("--samples {}: at least one for each of the {} graphs is wanted.",
                                   samples_, graphs_.size()));
    }
    options_.seed = static_cast<std::uint64_t>(seed_);
  }

  void Load() {
    for (const std::string& graph : graphs_) {
      source_.graph = graph;
      auto loaded = std::make_unique<problem::LoadedProblem>(source_);
      agents::Task task =
          agents::MakeTask(loaded->problem(), grouper_, problem::SelectDevices(loaded->cluster(), devices_));
      set_.Add(graph, std::move(loaded), std::move(task));
    }
  }

  nlohmann::ordered_json Summary(const std::string& agent, double wall) const {
    nlohmann::ordered_json graphs = nlohmann::ordered_json::array();
    for (const problem::TrainingGraph& graph : set_.graphs()) {
      nlohmann::ordered_json line = {{"graph", graph.name},
                                     {"units", graph.task.units.size()},
                                     {"samples", graph.evaluator->samples()},
                                     {"best_runtime_us", nullptr},
                                     {"reference_runtime_us", sim::ToMicros(graph.task.reference_runtime)}};
      if (graph.evaluator->has_best())
        line["best_runtime_us"] = sim::ToMicros(graph.evaluator->best_runtime());
      graphs.push_back(std::move(line));
    }
    nlohmann::ordered_json json = {{"agent", agent},
                                   {"policy", out_},
                                   {"cluster", source_.cluster},
                                   {"seed", seed_},
                                   {"budget", samples_},
                                   {"samples", set_.samples()},
                                   {"interrupted", set_.interrupted()},
                                   {"wall_seconds", wall},
                                   {"graphs", std::move(graphs)}};
    problem::AddProvenance(json);
    return json;
  }

  void Print(const std::string& agent) const {
    output::TextTable table("lrrrrr",
                            {"graph", "units", "samples", "best seen", "reference", "best / reference"});
    for (const problem::TrainingGraph& graph : set_.graphs()) {
      const agents::Evaluator& evaluator = *graph.evaluator;
      const bool has_best = evaluator.has_best();
      table.AddRow({graph.name, std::to_string(graph.task.units.size()),
                    output::CountText(evaluator.samples()),
                    has_best ? output::TimeText(evaluator.best_runtime()) : "does not fit",
                    output::TimeText(graph.task.reference_runtime),
                    has_best ? fmt::format("{:.3f}", static_cast<double>(evaluator.best_runtime()) /
                                                         static_cast<double>(graph.task.reference_runtime))
                             : "–"});
    }
    const char* const agent_text = agent_.c_str();
    output::Print(fmt::format(
        "{}\n{}: {} of {} samples{}. The policy is in {}; `stowplan place --agent {} --init {} --learn no` "
        "applies it.\n",
        table.ToString(), agent, output::CountText(set_.samples()), output::CountText(samples_),
        set_.interrupted() ? " (interrupted; --resume goes on)" : "", out_,
        profiler::ShellText(1, &agent_text), out_));
  }

  std::string agent_;
  std::vector<std::string> families_, graphs_;
  problem::ProblemSource source_;
  std::int64_t samples_ = 0;
  std::int64_t seed_ = 1;
  std::string grouper_ = "colocation";
  std::string devices_;
  std::string out_;
  std::string json_;
  bool force_ = false;
  agents::SearchOptions options_;
  problem::TrainingSet set_;
};

}  // namespace

std::unique_ptr<Command> MakeTrainCommand() {
  return std::make_unique<TrainCommand>();
}

}  // namespace stowplan::cli
