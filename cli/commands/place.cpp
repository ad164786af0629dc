// stowplan place: lets an agent search a placement and keeps what it found.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "agents/agent.h"
#include "agents/bounds/bounds.h"
#include "agents/evaluation_log.h"
#include "cli/commands/commands.h"
#include "cli/place/grouping_cost.h"
#include "cli/place/memory_need.h"
#include "cli/place/place_record.h"
#include "cli/place/place_report.h"
#include "cli/place/sample_log.h"
#include "cli/place/time_budget.h"
#include "cli/reference.h"
#include "cli/run_folder.h"
#include "output/console.h"
#include "output/csv.h"
#include "output/interrupt.h"
#include "output/progress.h"
#include "problem/advice/advice.h"
#include "problem/advice/plan_space.h"
#include "problem/explain/placement_page.h"
#include "problem/fingerprint.h"
#include "problem/loaded_problem.h"
#include "problem/options.h"
#include "problem/problem_json.h"
#include "problem/provenance.h"
#include "problem/search_source.h"
#include "scenarios/scenarios.h"
#include "sim/base/error.h"
#include "sim/base/spec.h"
#include "sim/formats/formats.h"
#include "sim/formats/outputs.h"

namespace stowplan::cli {
namespace {

constexpr const char* kRecord = "run.json";

std::string PlanFormatNames() {
  std::string names;
  for (const scenarios::ExporterRow& row : scenarios::Exporters()) {
    if (row.space) names += (names.empty() ? "" : "|") + std::string(row.name);
  }
  return names;
}

class PlaceCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    agent_option_ =
        app.add_option("--agent", agent_,
                       "one of `stowplan list agents`, with parameters: placeto(rounds=8); else portfolio")
            ->option_text("A");
    search_.Declare(app, true);
    problem::Real(
        app.add_option("--seconds", seconds_,
                       "the budget as time, in place of --samples: how many samples that allows is measured "
                       "and printed, and the search ends with the time"),
        1e-3, 1e7)
        ->excludes(app.get_option("--samples"))
        ->option_text("S");
    seed_option_ =
        problem::Whole(app.add_option("--seed", seed_, "of the agent; else the scenario's first, else 1"), 0,
                       problem::kMaxSeed)
            ->option_text("K");
    within_option_ =
        problem::Real(
            app.add_option("--within", within_,
                           "of placements that take P % longer than the fastest at most the plainest: "
                           "fewest devices, then least sent, then least full"),
            0, 100)
            ->capture_default_str()
            ->option_text("P");
    app.add_option("--init", options_.init, "weights a learner starts from")->option_text("CKPT");
    app.add_option("--learn", learn_, "no: a learner applies its weights and changes none")
        ->capture_default_str()
        ->option_text("yes|no");
    threads_option_ =
        problem::Threads(
            app.add_option(
                "--threads", options_.threads,
                "threads of agent and simulator; results do not depend on it; else one per core, of "
                "several MPI processes one each"))
            ->option_text("T");
    app.add_option(
           "--for", for_,
           "search only what this format can say, and write the plan in it to --out: one of `stowplan list "
           "exporters`")
        ->option_text(PlanFormatNames());
    app.add_option("--out", out_,
                   "folder for placement.json, outcome.json, curve.csv, trace.json, placement.html, run.json")
        ->option_text("DIR");
    app.add_flag("--log-samples", log_samples_,
                 "in --out also samples.csv, a line for each, and units.json, what their units are");
    app.add_flag(
        "--resume", options_.resume,
        "go on from the checkpoint in --out, if it was begun: what was found is what a search without "
        "interruption finds");
    app.add_flag("--force", force_, "replace what --out holds, whatever it is of");
    problem::JsonFile(app.add_option("--json", json_, "write a summary to this file; - is standard output"))
        ->option_text("FILE");
    app.add_option("--html", html_, "write a page: timeline, graph, what bounds it, the search")
        ->option_text("FILE");
    AddExamples(
        app, {"stowplan place model.onnx --cluster here",
              "stowplan place model.onnx --cluster 'a100(gpus=2)' --out runs/model",
              "stowplan place llama --cluster 'a100(gpus=4)' --for pipeline --out runs/stages",
              "stowplan place --agent local_search --graph nmt --cluster 'k40(gpus=2)' --samples 2000 --out "
              "runs/nmt",
              "stowplan place --agent 'placeto(rounds=4)' --graph 'nmt(steps=8)' --cluster 'k40(gpus=2)' "
              "--devices gpu "
              "--samples 100 --out runs/placeto",
              "stowplan place --agent annealing --scenario s.yaml --seed 2 --out runs/s --resume"});
  }

  void Run() override {
    Prepare();
    const problem::LoadedProblem loaded(search_.problem());
    loaded.TellImplausibleTimes();
    const agents::Task task = search_.MakeTask(loaded);
    auto agent = agents::MakeAgent(agent_);
    agent->Require(task);
    agents::Ranks& ranks = agents::World();
    options_.ranks = &ranks;
    if (threads_option_->count() == 0) options_.threads = ranks.alone() ? 0 : 1;
    const auto* asks_others = dynamic_cast<const agents::Composed*>(agent.get());
    if (seconds_ > 0) MeasureSamples(task, asks_others != nullptr ? asks_others->SimulationsOfSample() : 1);
    // Before the search, so that nothing stands between its end, or Ctrl-C, and what is saved, and before the
    // evaluator starts the clock of its curve.
    const agents::LowerBound bound = agents::ComputeLowerBound(loaded.problem(), task.devices);
    const std::atomic<bool>& stop =
        output::StopRequested();  // from here on Ctrl-C ends the search, not the program
    // What does not exist is not sought: the samples tell what memory would be enough.
    const bool brief = bound.nothing_fits && asks_others != nullptr;
    if (brief) agent = agents::MakeAgent(NeedAgent(loaded.graph()));
    const std::int64_t budget =
        brief ? std::min(search_.samples(), NeedSamples(loaded.graph())) : search_.samples();
    output::Progress progress(Spec::Parse(agent_).name + " on " + search_.name(), budget, !ranks.first());
    agents::Evaluator::Options limits;
    limits.budget = budget;
    limits.threads = options_.threads;
    limits.stop = &stop;
    limits.seconds = seconds_;
    limits.ranks = &ranks;
    if (IsSearch()) limits.within = within_ / 100;
    limits.on_sample = [&](const agents::Evaluator& now) {
      progress.Update(now.samples(),
                      now.has_best() ? "best " + output::TimeText(now.best_runtime()) : "nothing fits yet");
    };
    if (!out_.empty() && ranks.first()) Claim(task, *agent);
    std::optional<agents::EvaluationLog> answers;
    OpenAnswers(task, *agent, ranks, answers);
    if (answers) RefuseToLose(answers->kept(), budget);
    limits.log = answers ? &*answers : nullptr;
    agents::Evaluator evaluator(task, limits);
    std::optional<SampleLog> log;
    if (log_samples_ && ranks.first()) {
      formats::WriteFile(InFolder("units.json"), PrintUnits(task));
      log.emplace(InFolder("samples.csv"), task, options_.resume);
    }
    Leanest leanest(task);
    evaluator.observer = [&](std::int64_t sample, const agents::UnitPlacement& placement,
                             const agents::Evaluation& evaluation) {
      if (log) log->Append(sample, placement, evaluation);
      if (!evaluator.has_best()) leanest.See(placement, evaluation);
    };
    const bool says_already = options_.resume && std::filesystem::exists(InFolder(kRecord));
    if (!out_.empty() && ranks.first() && !says_already)
      formats::WriteFile(InFolder(kRecord), Begun(task, agent->name()).dump(1) + "\n");
    const auto start = std::chrono::steady_clock::now();
    const auto* composed = dynamic_cast<const agents::Composed*>(agent.get());
    const auto found = [&] {
      const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
      Found made{.task = task,
                 .evaluator = evaluator,
                 .agent = agent->name(),
                 .author = composed != nullptr && evaluator.has_best()
                               ? composed->AuthorOf(evaluator.samples_to_best())
                               : "",
                 .left_out = composed != nullptr ? composed->LeftOut() : std::vector<std::string>(),
                 .leanest = leanest,
                 .is_portfolio = composed != nullptr,
                 .brief = brief,
                 .bound = bound,
                 .wall_seconds = wall.count(),
                 .ranks = ranks.size(),
                 .advice = {},
                 .rivals = {},
                 .grouping = {}};
      if (ranks.first() && evaluator.has_best()) {
        CheckBest(task, evaluator);
        made.advice = problem::Advise(task, evaluator, &stop, Allowed(task));
        made.rivals = made.advice->rivals;
        made.grouping = FindGroupingCost(task, evaluator, made.is_portfolio && !stop ? budget / 10 : 0,
                                         seconds_ / 10, options_, &stop);
      } else if (ranks.first() && !stop) {
        made.rivals = problem::SimplestRivals(task);
      }
      return made;
    };
    std::optional<output::EndsInTime> in_time;
    if (ranks.alone()) {
      in_time.emplace([&] {
        evaluator.Freeze();
        answers.reset();
        Save(found());
        return Stopped(evaluator);
      });
    }
    agent->Search(task, evaluator, options_);
    in_time.reset();
    progress.Finish();
    const Found result = found();
    if (ranks.first()) Save(result);
    if (result.interrupted()) throw output::Interrupted(Stopped(evaluator));
  }

 private:
  // On all ranks as many as the first one measures.
  void MeasureSamples(const agents::Task& task, double work) {
    const std::int64_t samples = SamplesIn(seconds_, task, options_.threads, work);
    search_.SetSamples(std::stoll(options_.ranks->Exchange(std::to_string(samples)).front()));
  }

  std::string Stopped(const agents::Evaluator& evaluator) const {
    return fmt::format("stopped after {} of {} samples; {}.", output::CountText(evaluator.samples()),
                       output::CountText(evaluator.budget()),
                       out_.empty()
                           ? "with --out DIR the search would be kept, and --resume would go on"
                           : fmt::format("the same call with --resume{} goes on with {}",
                                         seconds_ > 0 ? fmt::format(" and --samples {} in place of --seconds",
                                                                    evaluator.budget())
                                                      : "",
                                         out_));
  }

  // What the format says; empty = there is none.
  std::function<bool(const agents::UnitPlacement&)> Allowed(const agents::Task& task) const {
    if (format_ == nullptr) return {};
    return [this, &task](const agents::UnitPlacement& placement) {
      return problem::CanSay(*format_, task, placement, search_.problem().graph);
    };
  }

  // Stages are searched as such.
  void KeepToFormat() {
    if (for_.empty()) return;
    format_ = &problem::FindPlanFormat(for_);
    if (out_.empty())
      throw InputError(
          fmt::format("--for {}: writes the plan to the folder of --out DIR, so --out is wanted too.", for_));
    search_.KeepTo(*format_);
    if (!format_->space->stages) return;
    if (agent_option_->count() == 0) agent_ = "stages(fewest=2)";
    const Spec agent = Spec::Parse(agent_);
    if (agent.name != "stages" || agents::AgentSettings(agent_).Int("fewest") < 2) {
      throw InputError(fmt::format(
          "--agent {}: --for {} places {}, which is --agent 'stages(fewest=2)'; leave --agent out.", agent_,
          for_, format_->space->says));
    }
  }

  void Prepare() {
    search_.Resolve("place");
    KeepToFormat();
    if (learn_ != "yes" && learn_ != "no")
      throw InputError(fmt::format("--learn {}: wanted yes or no.", learn_));
    RefuseOptionsForNothing();
    if (log_samples_ && out_.empty())
      throw InputError("--log-samples: writes to the folder of --out DIR, so --out is wanted too.");
    problem::RefuseTwoDocuments({{"--json", json_}, {"--html", html_}});
    for (const std::string& file : {html_, json_}) {
      if (!file.empty()) formats::PrepareOutput(file);
    }
    if (options_.resume && out_.empty())
      throw InputError("--resume: goes on from what --out DIR holds, so --out is wanted too.");
    if (options_.resume && seconds_ > 0)
      throw InputError(
          "--resume goes on with what --samples asked for, which --seconds would measure anew; give "
          "--samples.");
    if (options_.resume && force_)
      throw InputError("--resume goes on with what --force replaces; give one of them.");
    if (seed_option_->count() == 0 && !search_.scenario_seeds().empty())
      seed_ = search_.scenario_seeds().front();
    options_.learn = learn_ == "yes";
    options_.seed = static_cast<std::uint64_t>(seed_);
  }

  void RefuseOptionsForNothing() const {
    const std::string name = Spec::Parse(agent_).name;
    if (within_option_->count() > 0 && agents::FindAgent(name) != nullptr && !IsSearch())
      throw InputError(fmt::format("--within: {} makes one placement, and that is given.", name));
    if (IsLearner() || agents::FindAgent(name) == nullptr) return;  // what is no agent is refused as such
    if (!options_.init.empty())
      throw InputError(fmt::format("--init: {} learns nothing, so it starts from no weights.", name));
    if (learn_ == "no") throw InputError(fmt::format("--learn no: {} learns nothing anyhow.", name));
  }

  std::string InFolder(const char* name) const { return (std::filesystem::path(out_) / name).string(); }

  nlohmann::ordered_json Begun(const agents::Task& task, const std::string& agent) const {
    nlohmann::ordered_json json = Identity(search_, seed_, task, agent);
    json["samples"] = 0;
    json["interrupted"] = true;  // until it is not
    problem::AddProvenance(json);
    return json;
  }

  void Claim(const agents::Task& task, const agents::Agent& agent) const {
    ClaimFolder({.path = out_,
                 .record = kRecord,
                 .run = Begun(task, agent.name()),
                 .same = {"agent", "scenario", "graph", "graph_fingerprint", "cluster", "cost_model",
                          "grouper", "units", "seed"},
                 .alike = {"budget"},
                 .files = Files({"checkpoint", "placement.json", "outcome.json", "curve.csv", "trace.json",
                                 "placement.html", "samples.csv", "units.json"}),
                 .resume = options_.resume,
                 .force = force_});
  }

  static std::vector<std::string> Files(std::vector<std::string> files) {
    for (const scenarios::ExporterRow& row : scenarios::Exporters()) {
      if (row.space) files.emplace_back(row.space->file);
    }
    return files;
  }

  // Where the agent keeps no state of its own, what it was told is kept: on all ranks what the first one has.
  void OpenAnswers(const agents::Task& task, const agents::Agent& agent, agents::Ranks& ranks,
                   std::optional<agents::EvaluationLog>& answers) {
    if (out_.empty()) return;
    const std::string path = InFolder("checkpoint");
    if (IsLearner()) {
      options_.checkpoint = path;
      return;
    }
    std::string earlier;
    if (options_.resume && ranks.first() && std::filesystem::exists(path)) earlier = formats::ReadFile(path);
    earlier = ranks.Exchange(earlier).front();
    answers.emplace(task, agent.name(), options_.seed, ranks.first() ? path : "", std::move(earlier));
  }

  // A search that ends before what it goes on from would write its worse best over that one's. (A learner's checkpoint
  // refuses by itself.)
  void RefuseToLose(std::int64_t kept, std::int64_t budget) const {
    if (kept <= budget) return;
    throw InputError(fmt::format(
        "{}: holds {} samples of this search; --samples must be at least {} to go on, or --force in place "
        "of --resume begins anew.",
        out_, output::CountText(kept), kept));
  }

  // A rule that was asked for by its name is followed.
  bool IsSearch() const {
    const agents::AgentRow* row = agents::FindAgent(Spec::Parse(agent_).name);
    return row != nullptr && agents::Samples(*row);
  }

  bool IsLearner() const {
    const agents::AgentRow* row = agents::FindAgent(Spec::Parse(agent_).name);
    return row != nullptr && row->kind == agents::AgentKind::kLearner;
  }

  // What is printed is evaluated once more (docs/protocol_rules.md#best-found). They can only differ after a resume.
  void CheckBest(const agents::Task& task, const agents::Evaluator& evaluator) const {
    const auto simulator = sim::MakeSimulator(*task.problem);
    const sim::Picos runtime = simulator->Run(agents::Expand(task, evaluator.best())).runtime;
    if (runtime == evaluator.best_runtime()) return;
    throw InputError(fmt::format(
        "{}: its best placement takes {} here, but the checkpoint says {}; it was made for "
        "another graph or cluster, start without --resume.",
        InFolder("checkpoint"), output::TimeText(runtime), output::TimeText(evaluator.best_runtime())));
  }

  void Save(const Found& found) const {
    std::string summary;
    if (!out_.empty() || !json_.empty()) summary = Summary(search_, seed_, within_, found).dump(1) + "\n";
    sim::Placement best;
    if (found.advice) best = agents::Expand(found.task, found.advice->chosen.placement);
    const auto simulator = sim::MakeSimulator(*found.task.problem);
    const sim::Outcome* outcome =
        found.advice ? &simulator->Run(best, {.record = sim::RunOptions::Record::kTimeline, .cutoff = {}})
                     : nullptr;
    for (const std::string& member : found.left_out)
      output::TellSentence(fmt::format("stowplan place: the portfolio does without {}.\n", member));
    if (!out_.empty()) SaveFolder(found, outcome, best, summary);
    if (outcome != nullptr) SavePages(found, *outcome, best);
    WritePlan(found, best);
    if (!json_.empty()) return formats::WriteFile(json_, summary);
    PrintSummary(found, outcome, best);
  }

  void WritePlan(const Found& found, const sim::Placement& best) const {
    if (format_ == nullptr) return;
    const std::string file = InFolder(format_->space->file);
    std::filesystem::remove(file);  // of an earlier run
    if (!found.advice) return;
    const scenarios::Exported plan = format_->print(
        {.problem = *found.task.problem, .placement = best, .graph_file = search_.problem().graph});
    formats::WriteFile(file, plan.text);
    for (const std::string& note : plan.notes) output::TellSentence(fmt::format("{}: {}\n", for_, note));
    output::TellSentence(fmt::format("{}: the plan is {}\n", for_, file));
  }

  void SavePages(const Found& found, const sim::Outcome& outcome, const sim::Placement& best) const {
    if (html_.empty() && out_.empty()) return;
    if (!found.explained()) {
      if (!out_.empty()) std::filesystem::remove(InFolder("placement.html"));  // of an earlier run
      return;
    }
    const sim::Problem& problem = *found.task.problem;
    const problem::Study study = problem::MakeStudy(problem, best, outcome, found.bound,
                                                    problem::WhatIfsWorthAsking(problem.cluster(), outcome));
    const agents::Evaluator& evaluator = found.evaluator;
    const std::string page = problem::PlacementPage(
        study,
        {.sentence =
             fmt::format("{} {} after {} of {} samples{}",
                         found.took_fastest() ? "Found by" : "The plainest near what was found by",
                         found.agent, output::CountText(evaluator.samples_to_best()),
                         output::CountText(evaluator.samples()), found.interrupted() ? ", interrupted" : ""),
         .curve = evaluator.curve(),
         .samples = evaluator.samples()},
        problem::ProvenanceFacts());
    if (!out_.empty()) formats::WriteFile(InFolder("placement.html"), page);
    if (!html_.empty()) formats::WriteFile(html_, page);
  }

  void PrintSummary(const Found& found, const sim::Outcome* outcome, const sim::Placement& best) const {
    const agents::Evaluator& evaluator = found.evaluator;
    std::string samples = output::CountText(evaluator.samples());
    if (evaluator.samples() < search_.samples()) samples += " of " + output::CountText(search_.samples());
    samples += " samples";
    if (evaluator.screens() > 0)
      samples += fmt::format(" and {} approximate evaluations", output::CountText(evaluator.screens()));
    if (found.interrupted()) samples += " (interrupted)";
    if (evaluator.out_of_time()) samples += fmt::format(" in {} s", seconds_);
    if (outcome == nullptr) return PrintWhatItNeeds(found, samples);
    const sim::Picos bound = found.bound.best();
    if (found.explained())
      output::Print(fmt::format("{}\n", PrintPlaceReport(problem::MakeStudy(*found.task.problem, best,
                                                                            *outcome, found.bound, {}))));
    output::Print(problem::PrintAdvice(*found.advice, found.task) + "\n");
    if (found.grouping) {
      output::Print(output::Wrapped(GroupingCostText(*found.grouping, found.task, evaluator.best_runtime()),
                                    0, output::kLineWidth));
    }
    if (!found.author.empty()) {
      output::Print(fmt::format("{} by {}, one of the portfolio.\n",
                                found.took_fastest() ? "Found" : "The fastest sample was found",
                                found.author));
    }
    output::Print(output::Wrapped(
        fmt::format(
            "{}: best {} after {} of {} (within 1 % after {}), proven lower bound {} "
            "(gap {:.2f})",
            found.agent, output::TimeText(evaluator.best_runtime()),
            output::CountText(evaluator.samples_to_best()), samples,
            output::CountText(evaluator.samples_to_within(0.01)), output::TimeText(bound),
            bound > 0 ? static_cast<double>(evaluator.best_runtime()) / static_cast<double>(bound) : 0.0),
        0, output::kLineWidth));
  }

  // Nothing was found that fits.
  void PrintWhatItNeeds(const Found& found, const std::string& samples) const {
    const sim::Problem& problem = *found.task.problem;
    if (!found.interrupted()) {
      const std::int64_t more = found.is_portfolio ? 0 : NeedSamples(problem.graph());
      output::Progress progress("what it would need", more, more == 0);
      std::optional<output::EndsInTime> in_time;
      in_time.emplace([] { return "stopped before it was known what memory would be enough."; });
      const MemoryNeed need =
          FindMemoryNeed(found.task, found.leanest, more, options_, &output::StopRequested(),
                         [&](std::int64_t done) { progress.Update(done); });
      in_time.reset();
      progress.Finish();
      if (need.fits) return PrintWhoFinds(found, samples, more);
      if (!need.placement.device.empty()) {
        const auto simulator = sim::MakeSimulator(problem);
        const sim::Outcome& outcome =
            simulator->Run(need.placement, {.record = sim::RunOptions::Record::kTimeline, .cutoff = {}});
        output::Print(fmt::format(
            "{}\n", PrintPlaceReport(problem::MakeStudy(problem, need.placement, outcome, found.bound, {}))));
      }
      output::Print(
          fmt::format("{}\n{}\n", problem::PrintRivals(found.rivals, found.task, 0),
                      output::Wrapped(MemoryNeedText(need, problem.cluster()), 0, output::kLineWidth)));
    }
    output::Print(output::Wrapped(
        fmt::format("{}: no placement that fits in {}; {}", found.agent, samples,
                    found.bound.nothing_fits
                        ? "none exists: it is proven that the graph does not fit on these devices"
                        : "proven lower bound " + output::TimeText(found.bound.best())),
        0, output::kLineWidth));
  }

  // The portfolio came by a placement that fits within so many samples.
  void PrintWhoFinds(const Found& found, const std::string& samples, std::int64_t more) const {
    const std::int64_t budget = std::max(search_.samples(), more);
    output::Print(fmt::format(
        "{}  stowplan place --agent '{}' {} --samples {}{}\n",
        output::Wrapped(fmt::format("{}: no placement that fits in {}, but the portfolio finds one:",
                                    found.agent, samples),
                        0, output::kLineWidth),
        NeedAgent(found.task.problem->graph()), search_.Words(), budget,
        seed_option_->count() > 0 ? fmt::format(" --seed {}", seed_) : ""));
  }

  void SaveFolder(const Found& found, const sim::Outcome* outcome, const sim::Placement& best,
                  const std::string& summary) const {
    const sim::Problem& problem = *found.task.problem;
    if (outcome != nullptr) {
      formats::WriteFile(InFolder("placement.json"),
                         formats::PrintPlacement(best, problem.graph(), problem.cluster()));
      formats::WriteFile(InFolder("outcome.json"), formats::PrintOutcome(*outcome, problem, best));
      formats::WriteFile(InFolder("trace.json"), formats::PrintChromeTrace(*outcome, problem, best));
    } else {
      // What an earlier run left here would be taken for this run's.
      for (const char* name : {"placement.json", "outcome.json", "trace.json", "placement.html"})
        std::filesystem::remove(InFolder(name));
    }
    if (!log_samples_ && !options_.resume) {
      for (const char* name : {"samples.csv", "units.json"}) std::filesystem::remove(InFolder(name));
    }
    formats::WriteFile(InFolder("curve.csv"), CurveCsv(found.evaluator));
    formats::WriteFile(InFolder("run.json"), summary);
  }

  problem::SearchSource search_;
  std::string agent_ = "portfolio";
  std::int64_t seed_ = 1;
  double within_ = 100 * problem::kWithin;
  std::string learn_ = "yes";
  std::string for_;  // a format that the plan is for; empty = none
  std::string out_;
  std::string json_;
  std::string html_;
  bool log_samples_ = false;
  bool force_ = false;
  agents::SearchOptions options_;
  const scenarios::ExporterRow* format_ = nullptr;  // of for_
  CLI::Option* agent_option_ = nullptr;
  double seconds_ = 0;  // 0 = not given
  CLI::Option* threads_option_ = nullptr;
  CLI::Option* seed_option_ = nullptr;
  CLI::Option* within_option_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> MakePlaceCommand() {
  return std::make_unique<PlaceCommand>();
}

}  // namespace stowplan::cli
