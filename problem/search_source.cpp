#include "problem/search_source.h"

#include <algorithm>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "problem/advice/plan_space.h"
#include "problem/options.h"
#include "problem/placement_source.h"
#include "problem/this_machine.h"
#include "profiler/host_machine.h"
#include "sim/base/error.h"
#include "sim/formats/document/source.h"
#include "sim/formats/formats.h"

namespace stowplan::problem {
namespace {

// Paths in a scenario file are meant from where the file stands.
std::string FromFolderOf(const std::string& scenario_file, const std::string& name_or_path) {
  const auto beside = std::filesystem::path(scenario_file).parent_path() / name_or_path;
  std::error_code ignored;  // a workload with its parameters may be longer than any path
  return !name_or_path.empty() && std::filesystem::is_regular_file(beside, ignored) ? beside.string()
                                                                                    : name_or_path;
}

}  // namespace

void SearchSource::Declare(CLI::App& app, bool bare_graph) {
  const std::vector<CLI::Option*> before = app.get_options();
  auto* scenario = app.add_option("--scenario", scenario_file_, "a stowplan.scenario file")->option_text("S");
  auto* graph = app.add_option(bare_graph ? "--graph,graph" : "--graph", problem_.graph,
                               bare_graph ? "a workload or a graph file; the option may be left out"
                                          : "a workload or a graph file")
                    ->option_text("G");
  DeclareParallel(app, graph, problem_);
  auto* cluster =
      app.add_option("--cluster", problem_.cluster, "a cluster, a cluster file, or here: this machine")
          ->option_text("C");
  graph->needs(cluster)->excludes(scenario);
  cluster->needs(graph)->excludes(scenario);
  samples_option_ =
      Whole(app.add_option("--samples", samples_,
                           "the budget: placements that may be evaluated; else the scenario's, else 1000"),
            1, kMaxSamples)
          ->option_text("N");
  grouper_option_ =
      app.add_option(
             "--grouper", grouper_,
             "what is placed as one: one of `stowplan list groupers`; else the scenario's, else colocation")
          ->option_text("GROUPER");
  app.add_option("--devices", devices_,
                 "names, kinds or classes the agent may choose from: gpu, or cpu0,gpu1")
      ->option_text("D");
  DeclareProblemOptions(app, problem_);
  options_ = app.get_options([&](const CLI::Option* option) {
    return std::find(before.begin(), before.end(), option) == before.end() && option != samples_option_;
  });
}

std::string SearchSource::Words() const {
  std::vector<std::string> words;
  for (const CLI::Option* option : options_) {
    for (const std::string& value : option->results()) {
      words.push_back(option->get_name());
      words.push_back(value);
    }
  }
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  return profiler::ShellText(static_cast<int>(pointers.size()), pointers.data());
}

void SearchSource::Resolve(const std::string& verb) {
  if (scenario_file_.empty() == problem_.graph.empty()) {
    throw InputError(
        fmt::format("stowplan {}: give what to place, --scenario S or --graph G --cluster C.", verb));
  }
  if (scenario_file_.empty()) {
    name_ = problem_.graph + " on " + problem_.cluster;
  } else {
    ReadScenario();
  }
  ResolveHere(problem_);
}

void SearchSource::ReadScenario() {
  const formats::Scenario scenario = formats::ReadScenario(scenario_file_);
  name_ = scenario.name;
  problem_.graph = FromFolderOf(scenario_file_, scenario.workload);
  problem_.cluster = FromFolderOf(scenario_file_, scenario.cluster);
  problem_.graph_place = scenario.places.at("workload");
  problem_.cluster_place = scenario.places.at("cluster");
  if (problem_.cost_model.empty() && !scenario.cost_model.empty()) {
    problem_.cost_model = FromFolderOf(scenario_file_, scenario.cost_model);
    problem_.cost_model_place = scenario.places.at("cost_model");
  }
  if (!scenario.expert.empty()) {
    expert_ = FromFolderOf(scenario_file_, scenario.expert);
    expert_place_ = scenario.places.at("expert");
  }
  if (grouper_option_->count() == 0 && !scenario.grouper.empty()) {
    grouper_ = scenario.grouper;
    grouper_place_ = scenario.places.at("grouper");
  }
  if (samples_option_->count() == 0) samples_ = scenario.samples;
  seeds_ = scenario.seeds;
}

std::optional<sim::Placement> SearchSource::Expert(const sim::Problem& problem) const {
  if (expert_.empty()) return std::nullopt;
  return formats::CheckedAt(expert_place_, [&] { return LoadPlacement(expert_, problem); });
}

void SearchSource::KeepTo(const scenarios::ExporterRow& format) {
  const std::string grouper = format.space->grouper;
  if (grouper_option_->count() > 0 &&
      agents::GrouperSettings(grouper_).Canonical() != agents::GrouperSettings(grouper).Canonical()) {
    throw InputError(
        fmt::format("--grouper {}: --for {} places {}, which is --grouper '{}'; leave --grouper out.",
                    grouper_, format.name, format.space->says, grouper));
  }
  grouper_ = grouper;
  grouper_place_.clear();
  format_ = &format;
}

agents::Task SearchSource::MakeTask(const LoadedProblem& loaded) const {
  const std::optional<sim::Placement> expert = Expert(loaded.problem());
  std::vector<std::string> devices = SelectDevices(loaded.cluster(), devices_);
  if (format_ != nullptr) devices = PlanDevices(*format_, loaded.cluster(), devices);
  const std::size_t among = devices.empty() ? loaded.cluster().devices.size() : devices.size();
  if (among > static_cast<std::size_t>(sim::kMaxPaired)) {
    throw InputError(
        fmt::format("--devices: cluster {} has {} devices; at most {} can be searched, so name some.",
                    loaded.cluster().name, among, sim::kMaxPaired));
  }
  agents::Task task = formats::CheckedAt(grouper_place_, [&] {
    return agents::MakeTask(loaded.problem(), grouper_, devices, expert ? &*expert : nullptr);
  });
  if (format_ != nullptr) CheckPlanFormat(*format_, task, problem_.graph);
  return task;
}

}  // namespace stowplan::problem
