// stowplan simulate: one placement, one run, everything there is to say about it.
#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands/commands.h"
#include "cli/reference.h"
#include "output/console.h"
#include "problem/explain/placement_page.h"
#include "problem/explain/report.h"
#include "problem/explain/tier_shares.h"
#include "problem/loaded_problem.h"
#include "problem/options.h"
#include "problem/placement_source.h"
#include "problem/provenance.h"
#include "problem/this_machine.h"
#include "sim/formats/formats.h"

namespace stowplan::cli {
namespace {

class SimulateCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    problem::DeclarePlacedProblem(app, source_, placement_);
    problem::DeclareProblemOptions(app, source_);
    problem::JsonFile(
        app.add_option("--json", json_, "write the stowplan.outcome to this file; - is standard output"))
        ->option_text("FILE");
    app.add_flag("--ops", ops_, "with start and end of every op in the JSON");
    problem::JsonFile(app.add_option("--trace", trace_, "write a Chrome/Perfetto trace"))
        ->option_text("FILE");
    app.add_option("--timeline", timeline_, "write the run as text, one event a line")->option_text("FILE");
    app.add_option("--html", html_, "write a page: timeline, graph, what bounds it, what would help")
        ->option_text("FILE");
    problem::JsonFile(app.add_option("--save-placement", save_, "write the placement that was run"))
        ->option_text("FILE");
    AddExamples(
        app,
        {"stowplan simulate --graph nmt --cluster 'k40(gpus=2)' --placement single_gpu",
         "stowplan simulate --graph nmt --cluster 'k40(gpus=2)' --placement runs/nmt/placement.json --trace "
         "trace.json",
         "stowplan simulate --graph model.onnx --cluster c.yaml --placement - --json - < placement.json"});
  }

  void Run() override {
    problem::RefuseTwoDocuments(Documents());
    problem::CheckStandardInput(source_, placement_);
    problem::ResolveHere(source_);
    const problem::LoadedProblem loaded(source_);
    loaded.TellImplausibleTimes();
    const sim::Problem& problem = loaded.problem();
    const sim::Placement placement = problem::LoadPlacement(placement_, problem);
    const auto simulator = sim::MakeSimulator(problem);
    const sim::Outcome& outcome =
        simulator->Run(placement, {.record = sim::RunOptions::Record::kTimeline, .cutoff = {}});
    if (!trace_.empty()) formats::WriteFile(trace_, formats::PrintChromeTrace(outcome, problem, placement));
    if (!timeline_.empty())
      formats::WriteFile(timeline_, formats::PrintTimeline(outcome, problem, placement));
    if (!html_.empty()) {
      const problem::Study study =
          problem::MakeStudy(problem, placement, outcome, agents::ComputeLowerBound(problem),
                             problem::WhatIfsWorthAsking(problem.cluster(), outcome));
      formats::WriteFile(html_, problem::PlacementPage(study, {}, problem::ProvenanceFacts()));
    }
    if (!save_.empty())
      formats::WriteFile(save_, formats::PrintPlacement(placement, problem.graph(), problem.cluster()));
    if (!json_.empty())
      formats::WriteFile(json_, formats::PrintOutcome(outcome, problem, placement, {.ops = ops_}));
    if (json_.empty() && std::ranges::none_of(Documents(), [](const auto& one) { return one.second == "-"; }))
      output::Print(fmt::format("{}{}", problem::PrintReport(outcome, problem, placement),
                                OriginText(loaded, placement)));
  }

 private:
  std::vector<std::pair<std::string, std::string>> Documents() const {
    return {{"--json", json_},
            {"--trace", trace_},
            {"--timeline", timeline_},
            {"--html", html_},
            {"--save-placement", save_}};
  }

  static std::string OriginText(const problem::LoadedProblem& loaded, const sim::Placement& placement) {
    std::vector<std::pair<std::string, std::string>> groups;  // whose prices, and what of them
    for (const auto& [origin, share] : problem::SharesByOrigin(loaded.problem(), placement, loaded.model())) {
      const std::size_t colon = origin.rfind(": ");
      const std::string whose = origin.substr(0, colon);
      const std::string what = colon == origin.npos ? "" : origin.substr(colon + 2);
      auto group = std::ranges::find(groups, whose, [](const auto& one) { return one.first; });
      if (group == groups.end()) group = groups.insert(groups.end(), {whose, ""});
      group->second += fmt::format("  {:5.1f} %  {}\n", 100 * share, what);
    }
    std::string text;
    for (const auto& [whose, what] : groups) text += output::Wrapped(whose, 0, 80) + what;
    return text;
  }

  problem::ProblemSource source_;
  std::string placement_;
  std::string json_;
  std::string trace_;
  std::string timeline_;
  std::string html_;
  std::string save_;
  bool ops_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeSimulateCommand() {
  return std::make_unique<SimulateCommand>();
}

}  // namespace stowplan::cli
