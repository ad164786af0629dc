// From the names on the command line to a problem that can be simulated: loads graph, cluster and cost model,
// applies what overrides them, and keeps all of it alive.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cost_models/cost_models.h"
#include "sim/cost_model.h"
#include "sim/simulator.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace stowplan::problem {

struct ProblemSource {
  std::string graph;  // names from `stowplan list` or files
  std::string cluster;
  std::string cost_model;           // spec or parameter file; empty = the default chain
  std::string rules;                // "native", "published"; empty = the cluster's
  std::string interconnect;         // empty = the cluster's
  std::vector<std::string> memory;  // "gpu=4GiB": by device, kind or class, later ones win
  std::string reserve;              // of GPUs whose cluster gives none (framework.h); empty = the default
  std::string host;                 // "eager", "graph", "flat" (host_costs.h); empty = the cluster's
  std::string collectives;          // "nccl", "ring"; empty = the first
  std::vector<std::string> sheets;  // files with device kinds that the catalogue lacks
  // What a stowplan.cluster file holds; `cluster` is then only what messages call it. Empty = `cluster` is loaded.
  std::string cluster_text;

  // Where a scenario file gives what stands above, for messages; empty = the command line does.
  std::string graph_place, cluster_place, cost_model_place;
};

// The graph of a name or file. What the user should know of how a file of another program was read goes to
// standard error.
sim::OpGraph LoadGraph(const std::string& name_or_path);

// Throws InputError where a name that a file gives, at `place`, is standard input or a device or a pipe: reading them may
// never end.
void RefuseSpecialFile(const std::string& name, const std::string& place);

// The required options --graph and --cluster, with --parallel; the cluster may be `here` (ResolveHere(), this_machine.h).
void DeclareProblem(CLI::App& app, ProblemSource& source);

// The option --parallel, which lays out the graph that the other option gives (scenarios/parallel/layout.h).
void DeclareParallel(CLI::App& app, CLI::Option* graph, ProblemSource& source);

// The options --cost-model, --sheet, --rules, --interconnect, --memory, --reserve, --collectives and --host.
void DeclareProblemOptions(CLI::App& app, ProblemSource& source);

// The option --sheet alone.
void DeclareSheets(CLI::App& app, std::vector<std::string>& sheets);

// The catalogue with the kinds of those files.
std::unique_ptr<cost_models::Catalogue> LoadSheets(const std::vector<std::string>& paths);
// And with those that the cluster describes, if it is a file.
std::unique_ptr<cost_models::Catalogue> LoadCatalogue(const std::string& cluster,
                                                      const std::vector<std::string>& sheets);

// Immutable once loaded; threads may share it.
class LoadedProblem {
 public:
  explicit LoadedProblem(const ProblemSource& source);
  // A graph that is there already; everything else from the source, whose `graph` is what messages call it.
  LoadedProblem(sim::OpGraph graph, const ProblemSource& source);
  LoadedProblem(sim::OpGraph graph, sim::Cluster cluster, const sim::CostModel& model);
  LoadedProblem(const LoadedProblem&) = delete;
  LoadedProblem& operator=(const LoadedProblem&) = delete;

  const sim::OpGraph& graph() const { return graph_; }
  const sim::Cluster& cluster() const { return cluster_; }
  const sim::Problem& problem() const { return *problem_; }
  const sim::CostModel& model() const { return *model_; }  // not where it was made by others

  // To standard error, what ImplausibleTimes() finds (plausibility.h).
  void TellImplausibleTimes() const;

 private:
  void Meet(const sim::CostModel& model, const ProblemSource& source);

  std::unique_ptr<const cost_models::Catalogue> catalogue_;  // of the problem's cluster file and --sheet
  sim::OpGraph graph_;
  sim::Cluster cluster_;
  std::unique_ptr<const sim::CostModel> model_;
  std::unique_ptr<sim::Problem> problem_;
};

// Throws InputError that says what there would be.
void OverrideRules(sim::Cluster& cluster, const std::string& rules);

// Devices by name, kind or class ("gpu0,gpu1", "gpu"), comma-separated, in cluster order; empty = none named.
// `option`: what gave them, for the message.
std::vector<std::string> SelectDevices(const sim::Cluster& cluster, const std::string& selection,
                                       const std::string& option = "--devices");

}  // namespace stowplan::problem
