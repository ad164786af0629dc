// A problem as Python holds it: loaded, priced and grouped once, with a simulator for each thread that is kept between
// calls. No header of Python appears here; module.cpp binds it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agents/agent.h"
#include "agents/bounds/bounds.h"
#include "agents/task.h"
#include "problem/advice/advice.h"
#include "problem/loaded_problem.h"
#include "sim/outcome.h"
#include "sim/placement.h"

namespace stowplan::python {

// 0 = one per core; InputError where it is none.
int CheckedThreads(int threads);

// One placement, by unit.
agents::Evaluation EvaluateUnits(const agents::Task& task, sim::Simulator& simulator,
                                 const agents::UnitPlacement& units);

// One row for each placement of a batch.
struct BatchResult {
  std::vector<double> runtime_us;        // [n], as if memory were unlimited
  std::vector<std::uint8_t> fits;        // [n]
  std::vector<double> reward;            // [n]: agents::ShapedReward
  std::vector<std::int64_t> peak_bytes;  // [n * devices of the cluster]
};

struct Run {
  sim::Placement placement;
  sim::Outcome outcome;  // with the timeline
};

struct SearchRequest {
  std::string agent;  // a spec
  std::int64_t samples = 1000;
  std::int64_t seed = 1;
  int threads = 0;    // 0 = one per core
  std::string init;   // weights a learner starts from; empty = fresh
  bool learn = true;  // false: a learner changes no weight
  double within =
      100 * problem::kWithin;  // percent of the fastest within which the plainest placement is taken
};

struct SearchResult {
  std::string agent;                      // canonical name
  std::optional<problem::Advice> advice;  // empty = nothing that fits was seen
  sim::Picos best_runtime = 0;            // of the fastest sample
  std::int64_t samples = 0, distinct = 0, proposals = 0, screens = 0;
  double wall_seconds = 0, simulator_seconds = 0;
  std::vector<agents::CurvePoint> curve;
  std::vector<std::string> left_out;  // whom a portfolio did without, and why
};

// Any thread may call; evaluations of one problem take turns. Bad input is an InputError with the sentence of the command line.
class Prepared {
 public:
  // `devices`: as problem::SelectDevices; empty = all.
  Prepared(const sim::OpGraph& graph, const problem::ProblemSource& source, const std::string& grouper,
           const std::string& devices);

  const sim::Problem& problem() const { return loaded_.problem(); }
  const agents::Task& task() const { return task_; }

  // `placements`: [n, units], row by row, each entry a device of the cluster that the task may use. `pause` is called between
  // parts of the batch that take about a tenth of a second, from the calling thread; it may throw.
  BatchResult Evaluate(std::span<const std::int32_t> placements, int threads,
                       const std::function<void()>& pause);

  // By unit, as one row of a batch.
  sim::Placement FromUnits(std::span<const std::int32_t> units) const;
  // A stowplan.placement file's text.
  sim::Placement FromText(const std::string& json, const std::string& source) const;
  // A file, or an agent that needs no search.
  sim::Placement FromName(const std::string& name_or_path) const;
  // Throws InputError where the ops of one unit stand on several devices.
  agents::UnitPlacement ToUnits(const sim::Placement& placement) const;

  Run Simulate(sim::Placement placement) const;

  // Once `stop` is set it ends by an exception with the next sample, or with what was found where the agent sees it first.
  SearchResult Search(const SearchRequest& request, const std::atomic<bool>& stop) const;

  agents::LowerBound Bounds() const;

  // What `stowplan explain` says: text for a screen of 80 columns, the same as a stowplan.explanation, or a page that fetches nothing.
  // `faster`: how many times as fast devices and links are in its what-ifs, above 1.
  enum class Form : std::uint8_t { kText, kJson, kPage };
  std::string Explain(const sim::Placement& placement, double faster, Form form) const;

  // The same problem once more, for a learner that is trained on several.
  std::unique_ptr<problem::LoadedProblem> Load() const;
  agents::Task MakeTask(const problem::LoadedProblem& loaded) const;

 private:
  void CheckDevices(std::span<const std::int32_t> placements) const;

  problem::ProblemSource source_;
  std::string grouper_, devices_;
  problem::LoadedProblem loaded_;
  agents::Task task_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<sim::Simulator>>
      simulators_;  // by slot, made by the thread that first needs it
};

struct TrainingRequest {
  std::string agent;  // a spec of a learner whose policy can be applied to other graphs
  std::vector<std::shared_ptr<Prepared>> problems;
  std::int64_t samples = 0;  // of all problems together, shared evenly
  std::int64_t seed = 1;
  int threads = 0;   // 0 = one per core
  std::string init;  // weights to start from; empty = fresh
  std::string path;  // of the policy that is written
};

struct TrainingResult {
  struct OfProblem {
    std::int64_t samples = 0;
    std::optional<sim::Picos> best;  // none = nothing that fits was seen
    sim::Picos reference = 0;
  };
  std::string agent;  // canonical name
  std::int64_t samples = 0;
  std::vector<OfProblem> problems;
};

// Once `stop` is set it ends with the next step of learning; the policy so far is written all the same.
TrainingResult Train(const TrainingRequest& request, const std::atomic<bool>& stop);

}  // namespace stowplan::python
