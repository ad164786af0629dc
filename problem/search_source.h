// What `stowplan place` and `stowplan compare` search: a scenario file, or a graph and a cluster with single options. What
// the command line says wins over the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agents/task.h"
#include "problem/loaded_problem.h"

namespace stowplan::scenarios {
struct ExporterRow;
}

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace stowplan::problem {

class SearchSource {
 public:
  // --scenario, --graph, --cluster, --grouper, --devices, --samples and those of DeclareProblemOptions(). `bare_graph`: the
  // graph may also stand without its option.
  void Declare(CLI::App& app, bool bare_graph = false);
  // After the parse: reads the scenario and fills what was not given. `verb` is for messages. Throws InputError.
  void Resolve(const std::string& verb);

  const ProblemSource& problem() const { return problem_; }
  const std::string& name() const { return name_; }  // the scenario's, or "GRAPH on CLUSTER"
  std::string Words() const;  // the options that were given, but --samples, as a shell takes them
  std::int64_t samples() const { return samples_; }
  // In place of what was asked for.
  void SetSamples(std::int64_t samples) { samples_ = samples; }
  const std::vector<std::int64_t>& scenario_seeds() const {
    return seeds_;
  }  // empty = the scenario gives none

  // The placement that the scenario calls the expert's, if it gives one.
  std::optional<sim::Placement> Expert(const sim::Problem& problem) const;
  // Keeps to what the format says (plan_space.h): its units, its devices. After Resolve(). Throws InputError for another --grouper.
  void KeepTo(const scenarios::ExporterRow& format);
  // Throws the InputErrors of plan_space.h where it keeps to a format.
  agents::Task MakeTask(const LoadedProblem& loaded) const;

 private:
  void ReadScenario();

  std::vector<CLI::Option*> options_;

  ProblemSource problem_;
  std::string scenario_file_;
  std::string name_;
  std::string grouper_ = "colocation";
  std::string expert_;                        // placement file or agent; empty = the rule
  std::string grouper_place_, expert_place_;  // in the scenario file, for messages
  std::string devices_;
  const scenarios::ExporterRow* format_ = nullptr;  // null = any plan will do
  std::int64_t samples_ = 1000;
  std::vector<std::int64_t> seeds_;
  CLI::Option* samples_option_ = nullptr;
  CLI::Option* grouper_option_ = nullptr;
};

}  // namespace stowplan::problem
