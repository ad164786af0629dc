// stowplan explain: what bounds a placement, and what would help.
#include <algorithm>
#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands/commands.h"
#include "cli/reference.h"
#include "output/console.h"
#include "problem/explain/placement_page.h"
#include "problem/loaded_problem.h"
#include "problem/options.h"
#include "problem/placement_source.h"
#include "problem/provenance.h"
#include "problem/this_machine.h"
#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/base/spec.h"
#include "sim/formats/formats.h"
#include "sim/formats/outputs.h"

namespace stowplan::cli {
namespace {

class ExplainCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    problem::DeclarePlacedProblem(app, source_, placement_);
    problem::Real(
        app.add_option("--faster", faster_, "how many times as fast a device or link is made, one at a time"),
        1, sim::kMostFaster)
        ->capture_default_str()
        ->option_text("K");
    app.add_option("--devices", devices_,
                   "names, kinds or classes of those that are made faster; else each, or of a large machine "
                   "those of the "
                   "ten devices and links that are longest in use")
        ->option_text("D");
    app.add_option("--links", links_,
                   "names of those that are made faster: pcie-gpu0,pcie-gpu1; else as --devices")
        ->option_text("L");
    problem::DeclareProblemOptions(app, source_);
    problem::JsonFile(
        app.add_option("--json", json_, "write a stowplan.explanation to this file; - is standard output"))
        ->option_text("FILE");
    app.add_option("--html", html_, "write a page: timeline, graph, what bounds it")->option_text("FILE");
    AddExamples(app, {"stowplan explain --graph nmt --cluster 'k40(gpus=2)' --placement round_robin",
                      "stowplan explain --graph nmt --cluster 'k40(gpus=2)' --placement "
                      "runs/nmt/placement.json --faster 4 "
                      "--json why.json"});
  }

  void Run() override {
    if (faster_ == 1) throw InputError("--faster 1: above 1 is wanted.");
    problem::CheckStandardInput(source_, placement_);
    problem::ResolveHere(source_);
    problem::RefuseTwoDocuments({{"--json", json_}, {"--html", html_}});
    if (!html_.empty()) formats::PrepareOutput(html_);
    const problem::LoadedProblem loaded(source_);
    const sim::Problem& problem = loaded.problem();
    const std::vector<sim::DeviceIndex> devices = SelectDevices(loaded.cluster());
    const std::vector<std::int32_t> links = SelectLinks(loaded.cluster());
    const sim::Placement placement = problem::LoadPlacement(placement_, problem);
    const auto simulator = sim::MakeSimulator(problem);
    const sim::Outcome& outcome =
        simulator->Run(placement, {.record = sim::RunOptions::Record::kTimeline, .cutoff = {}});
    sim::WhatIfOptions options = problem::WhatIfsWorthAsking(loaded.cluster(), outcome, faster_);
    if (!devices_.empty()) options.devices = devices;
    if (!links_.empty()) options.links = links;
    const problem::Study study =
        problem::MakeStudy(problem, placement, outcome, agents::ComputeLowerBound(problem), options);
    if (!html_.empty())
      formats::WriteFile(html_, problem::PlacementPage(study, {}, problem::ProvenanceFacts()));
    if (!json_.empty()) formats::WriteFile(json_, problem::StudyJson(study));
    if (json_.empty() && html_ != "-") output::Print(problem::PrintStudy(study));
  }

 private:
  std::vector<sim::DeviceIndex> SelectDevices(const sim::Cluster& cluster) const {
    std::vector<sim::DeviceIndex> devices;
    if (devices_.empty()) return devices;
    for (const std::string& name : problem::SelectDevices(cluster, devices_))
      devices.push_back(cluster.Find(name));
    return devices;
  }

  std::vector<std::int32_t> SelectLinks(const sim::Cluster& cluster) const {
    std::vector<std::int32_t> links;
    if (links_.empty()) return links;
    std::vector<std::string> names;
    for (const sim::Link& link : cluster.links) names.push_back(link.name);
    for (std::size_t at = 0; at <= links_.size();) {
      const std::size_t comma = std::min(links_.find(',', at), links_.size());
      const std::string name = links_.substr(at, comma - at);
      const auto found = std::find(names.begin(), names.end(), name);
      if (found == names.end()) {
        throw InputError(names.empty()
                             ? fmt::format("--links {}: cluster {} has no links.", links_, cluster.name)
                             : fmt::format("--links {}: \"{}\" is no link of cluster {}{}; its links are {}.",
                                           links_, name, cluster.name, DidYouMean(name, names),
                                           JoinNames(names)));
      }
      links.push_back(static_cast<std::int32_t>(found - names.begin()));
      at = comma + 1;
    }
    return links;
  }

  problem::ProblemSource source_;
  std::string placement_;
  std::string devices_;
  std::string links_;
  std::string json_;
  std::string html_;
  double faster_ = problem::kTwiceAsFast;
};

}  // namespace

std::unique_ptr<Command> MakeExplainCommand() {
  return std::make_unique<ExplainCommand>();
}

}  // namespace stowplan::cli
