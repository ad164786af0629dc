#include "tables/run/runner.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "agents/agent.h"
#include "agents/bounds/bounds.h"
#include "output/console.h"
#include "problem/fingerprint.h"
#include "problem/provenance.h"
#include "sim/base/error.h"
#include "sim/base/parallel.h"
#include "sim/base/spec.h"
#include "sim/formats/outputs.h"
#include "tables/run/cell_outcome.h"
#include "tables/run/policies.h"

namespace stowplan::tables {
namespace {

// What the cells of one row share; made by the first that needs it.
class LineProblem {
 public:
  std::once_flag once;
  std::unique_ptr<problem::LoadedProblem> loaded;
  problem::Fingerprint fingerprint;

  // For placements on these devices.
  sim::Picos LowerBound(const std::vector<sim::DeviceIndex>& devices) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [bound, is_new] = bounds_.try_emplace(devices, 0);
    if (is_new) bound->second = agents::ComputeLowerBound(loaded->problem(), devices).best();
    return bound->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::vector<sim::DeviceIndex>, sim::Picos> bounds_;
};

using LineKey = std::pair<const TableBlock*, const TableLine*>;

class CellRunner {
 public:
  CellRunner(const CellSource& source, const std::vector<CellPlan>& plans, const RunOptions& options)
      : source_(source), options_(options), policies_(source, options) {
    for (const CellPlan& plan : plans) problems_[{plan.block, plan.line}];
  }

  // Trains the policies that cells start from and that are not done. False if it was interrupted.
  bool TrainPolicies(const std::vector<CellPlan>& plans) {
    std::vector<const CellPlan*> missing;
    for (const CellPlan& plan : plans) {
      if (plan.column->trained && !options_.only_done && CannotRun(plan).empty() && !IsDone(plan))
        missing.push_back(&plan);
    }
    return policies_.Train(missing);
  }

  // False if it was interrupted, or is not done where only done cells are wanted.
  bool Run(const CellPlan& plan, CellRecord& record, bool& skipped) {
    record = Describe(plan);
    record.note = CannotRun(plan);
    if (!record.note.empty()) {
      record.status = "not_run";
      if (TakeDoneElsewhere(plan, record)) skipped = true;
      return true;
    }
    if (options_.only_done && !MayBeDone(record)) return false;
    LineProblem& line = Problem(plan);
    const auto task = source_.MakeTask(*line.loaded, plan);
    auto agent = agents::MakeAgent(plan.line->AgentOf(*plan.column));
    Identify(plan, line, task, *agent, record);
    if (options_.resume && TakeDone(record)) {
      // Proven of the scenario by whoever looks: today's proof may be a better one.
      if (record.lower_bound_us) record.lower_bound_us = sim::ToMicros(line.LowerBound(task.devices));
      return skipped = true;
    }
    if (options_.only_done) return false;
    record.lower_bound_us = sim::ToMicros(line.LowerBound(task.devices));
    return Search(plan, task, *agent, record);
  }

 private:
  // Why a cell cannot be run in this build: its workload or its learner is missing. Empty if it can.
  std::string CannotRun(const CellPlan& plan) const {
    std::string why = source_.CannotRun(*plan.line);
    if (!why.empty() || !plan.column->learner) return why;
    try {
      agents::MakeAgent(plan.line->AgentOf(*plan.column));
    } catch (const RunError& error) {
      why = error.what();
    }
    return why;
  }

  CellRecord Describe(const CellPlan& plan) const {
    const problem::Provenance now = problem::CurrentProvenance();
    CellRecord record;
    record.block = plan.block->key;
    record.row = plan.line->key;
    record.column = plan.column->key;
    record.agent = plan.line->AgentOf(*plan.column);
    record.seed = plan.seed;
    record.budget = plan.budget;
    record.kind = ToString(plan.line->IsFitted(*plan.column) && source_.calibrated() ? CellKind::kFitted
                                                                                     : plan.column->kind);
    record.command = source_.RepeatCommand(plan);
    record.revision = now.revision;
    record.dirty = now.dirty ? "yes" : "no";
    record.machine = now.machine;
    record.date = now.date;
    return record;
  }

  bool IsDone(const CellPlan& plan) {
    CellRecord record = Describe(plan);
    if (!options_.resume || !MayBeDone(record)) return false;
    const LineProblem& line = Problem(plan);
    const auto agent = agents::MakeAgent(record.agent);
    Identify(plan, line, source_.MakeTask(*line.loaded, plan), *agent, record);
    return TakeDone(record);
  }

  // Fills what of the key is known only when agent and problem are made.
  void Identify(const CellPlan& plan, const LineProblem& line, const agents::Task& task,
                const agents::Agent& agent, CellRecord& record) {
    record.agent = agent.name();
    record.units = task.units.grouper;
    record.scenario = ScenarioOf(plan, ScenarioOf(line, task), record.agent);
    if (plan.column->trained) record.agent += Trained(plan);
  }

  // `agent`: canonical name, without what it was trained on.
  std::string ScenarioOf(const CellPlan& plan, problem::Fingerprint placed, const std::string& agent) {
    if (plan.column->trained) {
      const std::lock_guard<std::mutex> lock(policies_mutex_);
      placed.Add(policies_.Scenario(plan, agent));
    }
    return placed.ToString();
  }

  // Whether a canonical name can be that of the agent that a plan names.
  static bool Refines(const std::string& canonical, const std::string& planned) {
    const Spec full = Spec::Parse(canonical);
    const Spec given = Spec::Parse(planned);
    return full.name == given.name &&
           std::all_of(given.named.begin(), given.named.end(), [&](const auto& parameter) {
             return std::find(full.named.begin(), full.named.end(), parameter) != full.named.end();
           });
  }

  // What the name of a trained cell's agent ends with.
  static std::string Trained(const CellPlan& plan) { return " " + TrainingText(plan); }

  LineProblem& Problem(const CellPlan& plan) {
    LineProblem& line = problems_.at({plan.block, plan.line});
    std::call_once(line.once, [&] {
      line.loaded = source_.Load(*plan.block, *plan.line);
      line.fingerprint = problem::FingerprintOf(line.loaded->problem());
    });
    return line;
  }

  static problem::Fingerprint ScenarioOf(const LineProblem& line, const agents::Task& task) {
    problem::Fingerprint fingerprint = line.fingerprint;
    for (const agents::UnitIndex unit : task.units.unit_of_op) fingerprint.Add(unit);
    for (const sim::DeviceIndex device : task.devices) fingerprint.Add(device);
    return fingerprint;
  }

  // Before agent and scenario are known; spares the making of agents and problems that nobody asked for.
  bool MayBeDone(const CellRecord& record) const {
    return std::any_of(options_.done.begin(), options_.done.end(),
                       [&](const CellRecord& done) { return IsOf(record, done); });
  }

  // The part of the key that a plan knows.
  static bool IsOf(const CellRecord& record, const CellRecord& done) {
    return done.block == record.block && done.row == record.row && done.column == record.column &&
           done.seed == record.seed && done.budget == record.budget;
  }

  bool TakeDone(CellRecord& record) const {
    const std::vector<std::string> wanted = ToFields(record);
    for (const CellRecord& done : options_.done) {
      const std::vector<std::string> fields = ToFields(done);
      if (std::equal(wanted.begin(), wanted.begin() + kKeyFields, fields.begin())) {
        record = done;
        return true;
      }
    }
    return false;
  }

  // A learner's cell that another build has finished. Without the learner its canonical name is not known
  // here: of it is checked that the agent is the plan's, with every parameter that the plan gives. The rest
  // of the key is known.
  bool TakeDoneElsewhere(const CellPlan& plan, CellRecord& record) {
    if (!options_.resume || !MayBeDone(record)) return false;
    if (!source_.CannotRun(*plan.line).empty()) return false;
    const LineProblem& line = Problem(plan);
    const problem::Fingerprint placed = ScenarioOf(line, source_.MakeTask(*line.loaded, plan));
    const std::string trained = plan.column->trained ? Trained(plan) : "";
    const CellRecord* latest = nullptr;
    for (const CellRecord& done : options_.done) {
      if (!IsOf(record, done) || !done.agent.ends_with(trained)) continue;
      const std::string agent = done.agent.substr(0, done.agent.size() - trained.size());
      if (!Refines(agent, record.agent)) continue;
      if (done.scenario == ScenarioOf(plan, placed, agent) && (latest == nullptr || latest->date < done.date))
        latest = &done;
    }
    if (latest != nullptr) record = *latest;
    return latest != nullptr;
  }

  bool Search(const CellPlan& plan, const agents::Task& task, agents::Agent& agent, CellRecord& record) {
    agents::Evaluator::Options limits;
    limits.budget = plan.budget;
    limits.stop = options_.stop;
    if (options_.on_samples)
      limits.on_sample = [&](const agents::Evaluator& e) { options_.on_samples(plan, e.samples()); };
    agents::Evaluator evaluator(task, limits);
    agents::UnitPlacement last;
    evaluator.observer = [&](std::int64_t, const agents::UnitPlacement& placement,
                             const agents::Evaluation&) { last = placement; };
    agents::SearchOptions search;
    search.seed = static_cast<std::uint64_t>(plan.seed);
    search.resume = options_.resume;
    if (plan.column->trained) {
      const std::lock_guard<std::mutex> lock(policies_mutex_);
      search.init = policies_.PathOf(plan);
    }
    search.learn = !plan.column->zero_shot;
    if (search.learn) search.checkpoint = CheckpointPath(plan, record);
    agent.Search(task, evaluator, search);
    TellLeftOut(agent);
    if (evaluator.stop_requested() && evaluator.remaining() > 0) return false;
    STOWPLAN_CHECK(evaluator.samples() > 0);
    FillCounts(evaluator, plan.column->sampled, record);
    const bool is_best = evaluator.has_best() && !plan.column->last;
    FillRuntime(task, is_best ? evaluator.best() : last, record);
    if (is_best) STOWPLAN_CHECK_EQ(*record.runtime_us, sim::ToMicros(evaluator.best_runtime()));
    if (!search.checkpoint.empty()) std::filesystem::remove(search.checkpoint);
    return true;
  }

  // Once for all cells of a run.
  void TellLeftOut(const agents::Agent& agent) {
    const auto* composed = dynamic_cast<const agents::Composed*>(&agent);
    if (composed == nullptr) return;
    const std::lock_guard<std::mutex> lock(left_out_mutex_);
    for (const std::string& member : composed->LeftOut()) {
      if (left_out_.insert(member).second)
        output::TellSentence(fmt::format("stowplan: the portfolio does without {}.\n", member));
    }
  }

  // Of the agent with all its settings: one that was stopped before they changed is no obstacle.
  std::string CheckpointPath(const CellPlan& plan, const CellRecord& record) const {
    if (!plan.column->learner || options_.checkpoints.empty()) return {};
    formats::MakeFolder(options_.checkpoints);
    problem::Fingerprint agent;
    agent.Add(record.agent);
    return (std::filesystem::path(options_.checkpoints) /
            fmt::format("{}-{}-{}-{}-{}-{}-{}", options_.name, record.row, record.column, record.seed,
                        record.budget, record.scenario, agent.ToString()))
        .string();
  }

  const CellSource& source_;
  const RunOptions& options_;
  std::map<LineKey, LineProblem> problems_;
  std::mutex policies_mutex_;
  std::mutex left_out_mutex_;
  std::set<std::string> left_out_;
  Policies policies_;
};

}  // namespace

std::vector<CellRecord> RunCells(const TableDefinition& table, const Testbed& testbed,
                                 const std::vector<CellPlan>& plans, const RunOptions& options) {
  RunOptions named = options;
  named.name = table.name;
  return RunCells(TableCells(table, testbed), plans, named);
}

std::vector<CellRecord> RunCells(const CellSource& source, const std::vector<CellPlan>& plans,
                                 const RunOptions& options) {
  CellRunner runner(source, plans, options);
  if (!runner.TrainPolicies(plans)) return {};
  std::vector<CellRecord> records(plans.size());
  std::vector<char> finished(plans.size(), 0);
  std::atomic<std::size_t> next{0};
  std::mutex reporting;
  const int threads = ResolveThreads(options.threads);
  // Workers draw cells in order, so that after an interruption whole rows are ready.
  ParallelFor(static_cast<std::size_t>(threads), threads, [&](std::size_t, int) {
    for (std::size_t i = next++; i < plans.size(); i = next++) {
      if (options.stop != nullptr && options.stop->load()) return;
      bool skipped = false;
      if (!runner.Run(plans[i], records[i], skipped)) continue;
      finished[i] = 1;
      const std::lock_guard<std::mutex> lock(reporting);
      if (options.on_cell) options.on_cell(records[i], skipped);
    }
  });
  std::vector<CellRecord> done;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (finished[i] != 0) done.push_back(std::move(records[i]));
  }
  return done;
}

}  // namespace stowplan::tables
