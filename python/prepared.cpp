#include "python/prepared.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "agents/search/objective.h"
#include "problem/explain/placement_page.h"
#include "problem/explain/study.h"
#include "problem/placement_source.h"
#include "problem/provenance.h"
#include "problem/training_set.h"
#include "sim/base/error.h"
#include "sim/base/parallel.h"
#include "sim/base/spec.h"
#include "sim/formats/formats.h"
#include "sim/formats/outputs.h"

namespace stowplan::python {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostThreads = 4096;

agents::Evaluation ToEvaluation(const sim::Outcome& outcome) {
  agents::Evaluation evaluation;
  evaluation.runtime = outcome.runtime;
  evaluation.feasible = outcome.feasible();
  for (const sim::DeviceUse& use : outcome.devices) evaluation.peak.push_back(use.peak);
  return evaluation;
}

}  // namespace

int CheckedThreads(int threads) {
  if (threads < 0 || threads > kMostThreads)
    throw InputError(fmt::format("threads: {}, wanted 0 (one per core) to {}.", threads, kMostThreads));
  return ResolveThreads(threads);
}

agents::Evaluation EvaluateUnits(const agents::Task& task, sim::Simulator& simulator,
                                 const agents::UnitPlacement& units) {
  return ToEvaluation(simulator.Run(agents::Expand(task, units)));
}

Prepared::Prepared(const sim::OpGraph& graph, const problem::ProblemSource& source,
                   const std::string& grouper, const std::string& devices)
    : source_(source),
      grouper_(grouper),
      devices_(devices),
      loaded_(graph, source),
      task_(
          agents::MakeTask(loaded_.problem(), grouper, problem::SelectDevices(loaded_.cluster(), devices))) {}

void Prepared::CheckDevices(std::span<const std::int32_t> placements) const {
  const auto wrong = std::find_if(placements.begin(), placements.end(), [this](std::int32_t device) {
    return !std::binary_search(task_.devices.begin(), task_.devices.end(), device);
  });
  if (wrong == placements.end()) return;
  const auto at = static_cast<std::size_t>(wrong - placements.begin());
  const auto units = static_cast<std::size_t>(task_.units.size());
  std::vector<std::string> known;
  for (const sim::DeviceIndex d : task_.devices)
    known.push_back(fmt::format("{} ({})", d, task_.device(d).name));
  throw InputError(fmt::format("placement {}, unit {}: {} is no device that may be used; those are {}.",
                               at / units, at % units, *wrong, JoinNames(known)));
}

BatchResult Prepared::Evaluate(std::span<const std::int32_t> placements, int threads,
                               const std::function<void()>& pause) {
  const int slots = CheckedThreads(threads);
  CheckDevices(placements);
  const auto units = static_cast<std::size_t>(task_.units.size());
  const auto devices = static_cast<std::size_t>(loaded_.cluster().size());
  const std::size_t rows = placements.size() / units;
  BatchResult result;
  result.runtime_us.resize(rows);
  result.fits.resize(rows);
  result.reward.resize(rows);
  result.peak_bytes.resize(rows * devices);
  const auto evaluate = [&](std::size_t row, int slot) {
    std::unique_ptr<sim::Simulator>& simulator = simulators_[static_cast<std::size_t>(slot)];
    if (simulator == nullptr) simulator = sim::MakeSimulator(problem());
    const auto units_of_row = placements.subspan(row * units, units);
    const agents::Evaluation evaluation =
        EvaluateUnits(task_, *simulator, {units_of_row.begin(), units_of_row.end()});
    result.runtime_us[row] = sim::ToMicros(evaluation.runtime);
    result.fits[row] = evaluation.feasible ? 1 : 0;
    result.reward[row] = agents::ShapedReward(task_, evaluation);
    for (std::size_t d = 0; d < devices; ++d) result.peak_bytes[row * devices + d] = evaluation.peak[d];
  };
  std::size_t part = 16 * static_cast<std::size_t>(slots);
  for (std::size_t begin = 0; begin < rows;) {
    const std::size_t size = std::min(part, rows - begin);
    const Clock::time_point start = Clock::now();
    {
      const std::lock_guard<std::mutex> turn(mutex_);
      simulators_.resize(std::max(simulators_.size(), static_cast<std::size_t>(slots)));
      ParallelFor(size, slots, [&](std::size_t item, int slot) { evaluate(begin + item, slot); });
    }
    begin += size;
    if (Clock::now() - start < std::chrono::milliseconds(50)) part *= 2;
    if (begin < rows) pause();
  }
  return result;
}

sim::Placement Prepared::FromUnits(std::span<const std::int32_t> units) const {
  if (units.size() != task_.units.ops.size()) {
    throw InputError(fmt::format("the placement holds {} units, but the problem has {}.", units.size(),
                                 task_.units.ops.size()));
  }
  CheckDevices(units);
  return agents::Expand(task_, {units.begin(), units.end()});
}

sim::Placement Prepared::FromText(const std::string& json, const std::string& source) const {
  return formats::ParsePlacement(json, source, problem().graph(), problem().cluster());
}

sim::Placement Prepared::FromName(const std::string& name_or_path) const {
  return problem::LoadPlacement(name_or_path, task_);
}

agents::UnitPlacement Prepared::ToUnits(const sim::Placement& placement) const {
  agents::UnitPlacement units;
  const sim::OpGraph& graph = problem().graph();
  for (const std::vector<sim::OpIndex>& ops : task_.units.ops) {
    const auto device_of = [&](sim::OpIndex op) { return placement.device[static_cast<std::size_t>(op)]; };
    const auto other = std::find_if(ops.begin(), ops.end(),
                                    [&](sim::OpIndex op) { return device_of(op) != device_of(ops.front()); });
    if (other != ops.end()) {
      throw InputError(
          fmt::format("ops '{}' and '{}' are one unit of {}, but stand on '{}' and '{}'; a placement by op "
                      "can be simulated "
                      "as it is.",
                      graph.ops[static_cast<std::size_t>(ops.front())].name,
                      graph.ops[static_cast<std::size_t>(*other)].name, task_.units.grouper,
                      task_.device(device_of(ops.front())).name, task_.device(device_of(*other)).name));
    }
    units.push_back(device_of(ops.front()));
  }
  return units;
}

Run Prepared::Simulate(sim::Placement placement) const {
  sim::CheckPlacement(problem().graph(), problem().cluster(), placement);
  const auto simulator = sim::MakeSimulator(problem());
  sim::Outcome outcome =
      simulator->Run(placement, {.record = sim::RunOptions::Record::kTimeline, .cutoff = {}});
  return {std::move(placement), std::move(outcome)};
}

SearchResult Prepared::Search(const SearchRequest& request, const std::atomic<bool>& stop) const {
  if (request.samples < 1) throw InputError(fmt::format("samples: {}, wanted at least 1.", request.samples));
  if (request.seed < 0) throw InputError(fmt::format("seed: {}, wanted at least 0.", request.seed));
  if (!(request.within >= 0 && request.within <= 100))
    throw InputError(fmt::format("within: {}, wanted a percentage from 0 to 100.", request.within));
  const int threads = CheckedThreads(request.threads);
  const auto agent = agents::MakeAgent(request.agent);
  agents::Evaluator::Options limits;
  limits.budget = request.samples;
  limits.threads = threads;
  limits.stop = &stop;
  if (agents::Samples(*agents::FindAgent(Spec::Parse(request.agent).name)))
    limits.within = request.within / 100;
  limits.on_sample = [&](const agents::Evaluator&) {
    if (stop) throw RunError("the search was interrupted");
  };
  agents::Evaluator evaluator(task_, limits);
  agents::SearchOptions options;
  options.seed = static_cast<std::uint64_t>(request.seed);
  options.threads = threads;
  options.init = request.init;
  options.learn = request.learn;
  agent->Search(task_, evaluator, options);
  SearchResult result;
  result.agent = agent->name();
  if (evaluator.has_best()) {
    result.advice = problem::Advise(task_, evaluator, &stop);
    result.best_runtime = evaluator.best_runtime();
  }
  result.samples = evaluator.samples();
  result.distinct = evaluator.distinct();
  result.proposals = evaluator.proposals();
  result.screens = evaluator.screens();
  result.wall_seconds = evaluator.wall_seconds();
  result.simulator_seconds = evaluator.simulator_seconds();
  result.curve = evaluator.curve();
  if (const auto* composed = dynamic_cast<const agents::Composed*>(agent.get()))
    result.left_out = composed->LeftOut();
  return result;
}

agents::LowerBound Prepared::Bounds() const {
  return agents::ComputeLowerBound(problem(), task_.devices);
}

std::string Prepared::Explain(const sim::Placement& placement, double faster, Form form) const {
  if (!(faster > 1 && faster <= 1e6))
    throw InputError(fmt::format("faster: {}, wanted above 1 and at most 1,000,000.", faster));
  const Run run = Simulate(placement);
  // The placement may stand on devices that the task may not use.
  const problem::Study study =
      problem::MakeStudy(problem(), run.placement, run.outcome, agents::ComputeLowerBound(problem()),
                         problem::WhatIfsWorthAsking(loaded_.cluster(), run.outcome, faster));
  switch (form) {
    case Form::kText:
      return problem::PrintStudy(study);
    case Form::kJson:
      return problem::StudyJson(study);
    case Form::kPage:
      return problem::PlacementPage(study, {}, problem::ProvenanceFacts());
  }
  return {};
}

std::unique_ptr<problem::LoadedProblem> Prepared::Load() const {
  return std::make_unique<problem::LoadedProblem>(problem().graph(), source_);
}

agents::Task Prepared::MakeTask(const problem::LoadedProblem& loaded) const {
  return agents::MakeTask(loaded.problem(), grouper_, problem::SelectDevices(loaded.cluster(), devices_));
}

TrainingResult Train(const TrainingRequest& request, const std::atomic<bool>& stop) {
  if (request.problems.empty()) throw InputError("problems: there is none, wanted at least one.");
  if (request.samples < static_cast<std::int64_t>(request.problems.size())) {
    throw InputError(fmt::format("samples: {}, wanted at least one for each of the {} problems.",
                                 request.samples, request.problems.size()));
  }
  if (request.seed < 0) throw InputError(fmt::format("seed: {}, wanted at least 0.", request.seed));
  const int threads = CheckedThreads(request.threads);
  const auto agent = agents::MakeAgent(request.agent);
  auto* learner = dynamic_cast<agents::Transferable*>(agent.get());
  if (learner == nullptr)
    throw InputError(
        fmt::format("agent {}: learns nothing that could be applied to other graphs.", request.agent));
  formats::PrepareOutput(request.path);
  problem::TrainingSet set;
  for (const auto& prepared : request.problems) {
    auto loaded = prepared->Load();
    agents::Task task = prepared->MakeTask(*loaded);
    set.Add(prepared->problem().graph().name, std::move(loaded), std::move(task));
  }
  problem::TrainingSet::Limits limits;
  limits.samples = request.samples;
  limits.threads = threads;
  limits.stop = &stop;
  agents::SearchOptions options;
  options.seed = static_cast<std::uint64_t>(request.seed);
  options.threads = threads;
  options.init = request.init;
  set.Train(*learner, limits, options);
  learner->Save(request.path);
  TrainingResult result;
  result.agent = agent->name();
  result.samples = set.samples();
  for (const problem::TrainingGraph& graph : set.graphs()) {
    TrainingResult::OfProblem one;
    one.samples = graph.evaluator->samples();
    if (graph.evaluator->has_best()) one.best = graph.evaluator->best_runtime();
    one.reference = graph.task.reference_runtime;
    result.problems.push_back(one);
  }
  return result;
}

}  // namespace stowplan::python
