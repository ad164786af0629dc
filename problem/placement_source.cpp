#include "problem/placement_source.h"

#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "agents/agent.h"
#include "scenarios/scenarios.h"
#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/base/spec.h"

namespace stowplan::problem {
namespace {

std::vector<std::string> AgentsWithoutSearch() {
  std::vector<std::string> names;
  for (const agents::AgentRow& row : agents::Agents()) {
    if (row.kind == agents::AgentKind::kBaseline || row.kind == agents::AgentKind::kConstructive)
      names.emplace_back(row.name);
  }
  return names;
}

// The agent's one sample, feasible or not.
sim::Placement FromAgent(const std::string& spec, const agents::Task& task) {
  const auto agent = agents::MakeAgent(spec);
  agents::Evaluator evaluator(task, agents::Evaluator::Options{.budget = 1});
  agents::UnitPlacement units;
  evaluator.observer = [&](std::int64_t, const agents::UnitPlacement& placement, const agents::Evaluation&) {
    units = placement;
  };
  agent->Search(task, evaluator, {});
  if (units.empty())
    throw InputError(
        fmt::format("the agent '{}' makes no placement of {}.", spec, task.problem->graph().name));
  return agents::Expand(task, units);
}

bool IsFile(const std::string& name_or_path) {
  std::error_code ignored;  // an agent with its parameters may be longer than any path
  return name_or_path == "-" || std::filesystem::exists(name_or_path, ignored);
}

// The folder of a run stands for its placement.
std::string FileOf(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return path;
  const std::filesystem::path file = std::filesystem::path(path) / "placement.json";
  if (!std::filesystem::exists(file))
    throw InputError(path +
                     ": is a folder without a placement.json; give a placement file, or the folder of a run "
                     "that found a placement.");
  return file.string();
}

}  // namespace

void DeclarePlacedProblem(CLI::App& app, ProblemSource& source, std::string& placement) {
  DeclareProblem(app, source);
  app.add_option(
         "--placement", placement,
         "a placement file (- is standard input), the folder of a run (stowplan place --out), a human-expert "
         "file of msr-fiddle/dnn-partitioning, or an agent that needs no search")
      ->required()
      ->option_text("P");
}

sim::Placement LoadPlacement(const std::string& name_or_path, const sim::Problem& problem) {
  if (IsFile(name_or_path))
    return scenarios::LoadPlacement(FileOf(name_or_path), problem.graph(), problem.cluster());
  return LoadPlacement(name_or_path, agents::MakeTask(problem, "colocation"));
}

sim::Placement LoadPlacement(const std::string& name_or_path, const agents::Task& task) {
  if (IsFile(name_or_path)) return LoadPlacement(name_or_path, *task.problem);
  const agents::AgentRow* row = agents::FindAgent(Spec::Parse(name_or_path).name);
  if (row == nullptr) {
    throw InputError(fmt::format(
        "'{}' is neither a placement file nor an agent that needs no search{}; those are {}.", name_or_path,
        DidYouMean(Spec::Parse(name_or_path).name, AgentsWithoutSearch()), JoinNames(AgentsWithoutSearch())));
  }
  if (row->kind == agents::AgentKind::kSearch || row->kind == agents::AgentKind::kLearner) {
    throw InputError(fmt::format(
        "the agent '{}' searches; `stowplan place --agent {}` runs it. Without search there are {}.",
        name_or_path, name_or_path, JoinNames(AgentsWithoutSearch())));
  }
  return FromAgent(name_or_path, task);
}

void CheckStandardInput(const ProblemSource& source, const std::string& placement) {
  int readers = 0;
  for (const std::string* name : {&source.graph, &source.cluster, &placement})
    readers += *name == "-" ? 1 : 0;
  if (readers > 1) {
    throw InputError(
        "--graph, --cluster and --placement: one of them may be - (standard input); give files to the "
        "others.");
  }
}

}  // namespace stowplan::problem
