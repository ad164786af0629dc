#include "agents/evaluator.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <unordered_set>
#include <utility>

#include <nlohmann/json.hpp>

#include "agents/evaluation_log.h"
#include "agents/placements.h"
#include "agents/shared_evaluation.h"
#include "sim/base/error.h"
#include "sim/base/parallel.h"

namespace stowplan::agents {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Evaluation FromOutcome(const sim::Outcome& outcome, bool want_starts) {
  Evaluation evaluation;
  evaluation.runtime = outcome.runtime;
  evaluation.feasible = outcome.feasible();
  evaluation.stopped = outcome.stopped;
  evaluation.oom = outcome.oom;
  evaluation.peak.reserve(outcome.devices.size());
  for (const sim::DeviceUse& use : outcome.devices) evaluation.peak.push_back(use.peak);
  if (want_starts) {
    evaluation.start.reserve(outcome.ops.size());
    for (const sim::OpTimes& times : outcome.ops) evaluation.start.push_back(times.start);
  }
  return evaluation;
}

sim::RunOptions MakeRunOptions(bool want_starts) {
  sim::RunOptions options;
  options.record = want_starts ? sim::RunOptions::Record::kOps : sim::RunOptions::Record::kNothing;
  return options;
}

}  // namespace

struct Evaluator::Impl {
  const Task& task;
  Options options;
  std::vector<bool> allowed;  // by device
  std::unique_ptr<sim::Simulator> simulator;
  std::unique_ptr<sim::BatchSimulator> batch;  // made at the first batch: it holds scratch for every thread

  sim::RunOptions asked;  // by the call that is under way

  std::int64_t samples = 0;
  std::unordered_set<std::uint64_t> distinct;
  UnitPlacement best;
  sim::Picos best_runtime = 0;
  PlainestPlacements plainest;
  std::vector<CurvePoint> curve;
  double simulator_seconds = 0;
  double machine_seconds = 0;
  double earlier_seconds = 0;  // of the runs before a resume
  bool others_stop = false;    // some rank was asked to stop, as all of them know since the last call
  bool failed = false;
  std::mutex counting;  // held while anything here changes, but not while the simulator runs
  Clock::time_point opened = Clock::now();

  Impl(const Task& the_task, const Options& the_options)
      : task(the_task), options(the_options), plainest(the_options.within) {
    allowed.resize(task.problem->cluster().devices.size());
    for (const sim::DeviceIndex d : task.devices) allowed[static_cast<std::size_t>(d)] = true;
  }

  bool IsLegal(const UnitPlacement& placement) const {
    return placement.size() == task.units.ops.size() &&
           std::all_of(placement.begin(), placement.end(), [this](sim::DeviceIndex d) {
             return d >= 0 && static_cast<std::size_t>(d) < allowed.size() &&
                    allowed[static_cast<std::size_t>(d)];
           });
  }

  Evaluation Simulate(const UnitPlacement& placement, const sim::RunOptions& run_options, bool want_starts) {
    STOWPLAN_CHECK(IsLegal(placement));
    if (!simulator) simulator = sim::MakeSimulator(*task.problem);
    const sim::Placement ops = Expand(task, placement);
    const Clock::time_point start = Clock::now();
    const sim::Outcome& outcome = simulator->Run(ops, run_options);
    AddSimulated(SecondsSince(start));
    return FromOutcome(outcome, want_starts);
  }

  void AddSimulated(double seconds) {
    const std::lock_guard lock(counting);
    simulator_seconds += seconds;
  }

  std::vector<Evaluation> SimulateBatch(std::span<const UnitPlacement> placements, bool want_starts) {
    const sim::RunOptions run_options = MakeRunOptions(want_starts);
    std::vector<Evaluation> evaluations;
    evaluations.reserve(placements.size());
    if (options.threads == 1 || placements.size() == 1) {
      for (const UnitPlacement& placement : placements) {
        evaluations.push_back(Simulate(placement, run_options, want_starts));
      }
      return evaluations;
    }
    if (!batch) batch = std::make_unique<sim::BatchSimulator>(*task.problem, options.threads);
    std::vector<sim::Placement> ops;
    ops.reserve(placements.size());
    for (const UnitPlacement& placement : placements) {
      STOWPLAN_CHECK(IsLegal(placement));
      ops.push_back(Expand(task, placement));
    }
    const Clock::time_point start = Clock::now();
    const std::vector<sim::Outcome> outcomes = batch->Run(ops, run_options);
    AddSimulated(SecondsSince(start));
    for (const sim::Outcome& outcome : outcomes) evaluations.push_back(FromOutcome(outcome, want_starts));
    return evaluations;
  }

  bool shared() const { return options.ranks != nullptr && !options.ranks->alone(); }
  bool AskedToStop() const {
    return (options.stop != nullptr && options.stop->load(std::memory_order_relaxed)) || OutOfTime();
  }
  bool OutOfTime() const { return options.seconds > 0 && wall_seconds() > options.seconds; }

  // This rank's part, then everybody's.
  std::vector<Evaluation> SimulateShared(std::span<const UnitPlacement> placements, bool want_starts) {
    const auto [begin, end] = options.ranks->ShareOf(placements.size());
    RankReport own;
    if (begin < end) own.evaluations = SimulateBatch(placements.subspan(begin, end - begin), want_starts);
    own.stop = AskedToStop();
    RankReport all = ExchangeReports(*options.ranks, own);
    STOWPLAN_CHECK_EQ(all.evaluations.size(), placements.size());
    others_stop = all.stop;
    return std::move(all.evaluations);
  }

  double wall_seconds() const { return earlier_seconds + SecondsSince(opened); }

  // What an earlier run of this search was told, and when.
  std::optional<Evaluation> Logged(const UnitPlacement& placement) {
    if (options.log == nullptr) return std::nullopt;
    std::optional<EvaluationLog::Entry> entry = options.log->Next(placement, asked);
    if (!entry) return std::nullopt;
    earlier_seconds = entry->wall_seconds;
    opened = Clock::now();
    simulator_seconds = entry->simulator_seconds;
    return std::move(entry->evaluation);
  }

  void KeepInLog(const UnitPlacement& placement, const Evaluation& evaluation) {
    if (options.log != nullptr)
      options.log->Append(placement, {evaluation, wall_seconds(), simulator_seconds});
  }

  // Each on any thread: on large graphs that takes as long as much else.
  std::vector<std::optional<Plainness>> PlainnessesOf(std::span<const UnitPlacement> placements,
                                                      const std::vector<Evaluation>& evaluations) const {
    std::vector<std::optional<Plainness>> plain(placements.size());
    ParallelFor(placements.size(), options.threads, [&](std::size_t i, int) {
      const Evaluation& evaluation = evaluations[i];
      if (evaluation.feasible && !evaluation.stopped && plainest.Wants(evaluation.runtime))
        plain[i] = PlainnessOf(task, placements[i], evaluation.peak);
    });
    return plain;
  }

  // `plain` where it was asked for before.
  void Count(const UnitPlacement& placement, const Evaluation& evaluation,
             const std::optional<Plainness>& plain = std::nullopt) {
    ++samples;
    distinct.insert(HashOf(placement));
    if (evaluation.feasible)
      machine_seconds +=
          kMachineSteps * std::min(sim::ToMicros(evaluation.runtime) / 1e6, kMachineCutoffSeconds);
    if (!evaluation.feasible || evaluation.stopped) return;
    if (plainest.Wants(evaluation.runtime))
      plainest.Offer(
          {placement, evaluation.runtime, plain ? *plain : PlainnessOf(task, placement, evaluation.peak)});
    if (!curve.empty() && evaluation.runtime >= best_runtime) return;
    best = placement;
    best_runtime = evaluation.runtime;
    curve.push_back({samples, wall_seconds(), best_runtime, simulator_seconds, machine_seconds});
  }
};

Evaluator::Evaluator(const Task& task, const Options& options)
    : impl_(std::make_unique<Impl>(task, options)) {}
Evaluator::~Evaluator() = default;

Evaluation Evaluator::Evaluate(const UnitPlacement& placement, bool want_starts,
                               std::optional<sim::Picos> cutoff) {
  STOWPLAN_CHECK_LT(samples(), budget());
  impl_->asked = MakeRunOptions(want_starts);
  impl_->asked.cutoff = cutoff;
  return Sampled(placement, [&] { return impl_->Simulate(placement, impl_->asked, want_starts); });
}

Evaluation Evaluator::Sampled(const UnitPlacement& placement, const std::function<Evaluation()>& simulate) {
  impl_->failed = true;  // unless it comes to its end
  std::unique_lock lock(impl_->counting);
  std::optional<Evaluation> logged = impl_->Logged(placement);
  lock.unlock();
  const bool is_new = !logged;
  Evaluation evaluation = is_new ? simulate() : std::move(*logged);
  lock.lock();
  if (is_new) impl_->KeepInLog(placement, evaluation);
  // Every rank has simulated it; all learn whether one of them is to stop.
  if (impl_->shared())
    impl_->others_stop = ExchangeReports(*impl_->options.ranks, {{}, impl_->AskedToStop()}).stop;
  impl_->Count(placement, evaluation);
  if (observer) observer(samples(), placement, evaluation);
  if (impl_->options.on_sample) impl_->options.on_sample(*this);
  impl_->failed = false;
  return evaluation;
}

std::vector<Evaluation> Evaluator::EvaluateBatch(std::span<const UnitPlacement> placements,
                                                 bool want_starts) {
  STOWPLAN_CHECK_LT(samples(), budget());
  if (placements.empty()) return {};
  impl_->failed = true;  // unless it comes to its end
  impl_->asked = MakeRunOptions(want_starts);
  const auto left = static_cast<std::size_t>(remaining());
  const std::span<const UnitPlacement> paid = placements.first(std::min(left, placements.size()));
  std::vector<Evaluation> evaluations;
  const auto count_last = [&](const std::optional<Plainness>& plain = std::nullopt) {
    const UnitPlacement& placement = paid[evaluations.size() - 1];
    impl_->Count(placement, evaluations.back(), plain);
    if (observer) observer(samples(), placement, evaluations.back());
  };
  std::unique_lock lock(impl_->counting);
  while (evaluations.size() < paid.size()) {
    std::optional<Evaluation> logged = impl_->Logged(paid[evaluations.size()]);
    if (!logged) break;
    evaluations.push_back(std::move(*logged));
    count_last();
  }
  const std::span<const UnitPlacement> open = paid.subspan(evaluations.size());
  if (!open.empty()) {
    lock.unlock();
    std::vector<Evaluation> simulated =
        impl_->shared() ? impl_->SimulateShared(open, want_starts) : impl_->SimulateBatch(open, want_starts);
    const std::vector<std::optional<Plainness>> plain = impl_->PlainnessesOf(open, simulated);
    lock.lock();
    for (std::size_t i = 0; i < simulated.size(); ++i) {
      impl_->KeepInLog(open[i], simulated[i]);
      evaluations.push_back(std::move(simulated[i]));
      count_last(plain[i]);
    }
  }
  if (impl_->options.on_sample) impl_->options.on_sample(*this);
  impl_->failed = false;
  return evaluations;
}

std::int64_t Evaluator::budget() const {
  return impl_->options.budget;
}
std::int64_t Evaluator::samples() const {
  return impl_->samples;
}
std::int64_t Evaluator::distinct() const {
  return static_cast<std::int64_t>(impl_->distinct.size());
}

bool Evaluator::stop_requested() const {
  // Ranks that stopped at different calls would wait for one another for ever.
  return impl_->shared() ? impl_->others_stop : impl_->AskedToStop();
}

bool Evaluator::asked_to_stop() const {
  return impl_->AskedToStop();
}
bool Evaluator::out_of_time() const {
  return impl_->OutOfTime();
}
void Evaluator::StopAll() {
  impl_->others_stop = true;
}

bool Evaluator::failed() const {
  return impl_->failed;
}
void Evaluator::Freeze() {
  impl_->counting.lock();
}

bool Evaluator::has_best() const {
  return !impl_->curve.empty();
}
const UnitPlacement& Evaluator::best() const {
  return impl_->best;
}
const PlainestPlacements& Evaluator::plainest() const {
  return impl_->plainest;
}
sim::Picos Evaluator::best_runtime() const {
  return impl_->best_runtime;
}
const std::vector<CurvePoint>& Evaluator::curve() const {
  return impl_->curve;
}
double Evaluator::simulator_seconds() const {
  return impl_->simulator_seconds;
}
double Evaluator::wall_seconds() const {
  return impl_->wall_seconds();
}
double Evaluator::machine_seconds() const {
  return impl_->machine_seconds;
}

std::int64_t Evaluator::samples_to_best() const {
  return has_best() ? impl_->curve.back().sample : 0;
}

std::int64_t Evaluator::samples_to_within(double fraction) const {
  const double limit = (1 + fraction) * static_cast<double>(impl_->best_runtime);
  for (const CurvePoint& point : impl_->curve) {
    if (static_cast<double>(point.best) <= limit) return point.sample;
  }
  return 0;
}

std::string Evaluator::SaveState() const {
  Json state;
  state["task"] = Fingerprint(impl_->task);
  state["samples"] = impl_->samples;
  state["proposals"] = proposals_;
  state["screens"] = screens();
  std::vector<std::uint64_t> distinct(impl_->distinct.begin(), impl_->distinct.end());
  std::sort(distinct.begin(), distinct.end());
  state["distinct"] = std::move(distinct);
  state["best"] = impl_->best;
  state["plainest"] = Json::array();
  for (const FittingPlacement& one : impl_->plainest.kept()) {
    const Plainness& plain = one.plainness;
    state["plainest"].push_back({one.placement, one.runtime, plain.devices, plain.sent, plain.fullest});
  }
  state["curve"] = Json::array();
  for (const CurvePoint& point : impl_->curve) {
    state["curve"].push_back(
        {point.sample, point.wall_seconds, point.best, point.simulator_seconds, point.machine_seconds});
  }
  state["machine_seconds"] = impl_->machine_seconds;
  state["simulator_seconds"] = impl_->simulator_seconds;
  state["wall_seconds"] = impl_->wall_seconds();
  return state.dump();
}

void Evaluator::RestoreState(const std::string& text) {
  STOWPLAN_CHECK_EQ(samples(), 0);  // else an agent could set its counter back
  try {
    const Json state = Json::parse(text);
    if (state.at("task").get<std::uint64_t>() != Fingerprint(impl_->task)) {
      throw InputError(
          "checkpoint of an evaluator: it belongs to another graph, cluster or grouper; "
          "start without --resume or give the ones it was made with");
    }
    const auto samples = state.at("samples").get<std::int64_t>();
    const auto proposals = state.at("proposals").get<std::int64_t>();
    const auto screens = state.at("screens").get<std::int64_t>();
    const auto distinct = state.at("distinct").get<std::vector<std::uint64_t>>();
    auto best = state.at("best").get<UnitPlacement>();
    std::vector<CurvePoint> curve;
    for (const Json& point : state.at("curve")) {
      curve.push_back({point.at(0).get<std::int64_t>(), point.at(1).get<double>(),
                       point.at(2).get<sim::Picos>(), point.at(3).get<double>(), point.at(4).get<double>()});
    }
    if (samples < 0 || samples > budget()) {
      throw InputError("checkpoint of an evaluator: it has spent " + std::to_string(samples) +
                       " samples, which must be between 0 and the budget of " + std::to_string(budget()));
    }
    constexpr std::int64_t kMost = 1'000'000'000'000'000;
    for (const std::int64_t count : {proposals, screens}) {
      if (count < 0 || count > kMost)
        throw InputError("checkpoint of an evaluator: it has counted to " + std::to_string(count) +
                         ", which must be between 0 and " + std::to_string(kMost));
    }
    for (const CurvePoint& point : curve) {
      if (point.sample < 1 || point.sample > samples || point.best < 0)
        throw InputError("checkpoint of an evaluator: its curve has sample " + std::to_string(point.sample) +
                         " with " + std::to_string(point.best) +
                         " ps, where one from 1 to its samples and a time of at least 0 are wanted");
    }
    if (!curve.empty() && !impl_->IsLegal(best)) {
      throw InputError(
          "checkpoint of an evaluator: its best placement gives not every unit one of the task's devices");
    }
    PlainestPlacements plainest(impl_->options.within);
    for (const Json& kept : state.value("plainest", Json::array())) {
      FittingPlacement one = {
          kept.at(0).get<UnitPlacement>(),
          kept.at(1).get<sim::Picos>(),
          {kept.at(2).get<int>(), kept.at(3).get<sim::Bytes>(), kept.at(4).get<sim::Bytes>()}};
      if (!impl_->IsLegal(one.placement) || one.runtime < 0)
        throw InputError("checkpoint of an evaluator: a plain placement of it is none of this task");
      plainest.Offer(std::move(one));
    }
    if (!curve.empty() && plainest.kept().empty()) {  // none was kept
      const std::vector<sim::Bytes> unknown(impl_->allowed.size(), 0);
      plainest.Offer({best, curve.back().best, PlainnessOf(impl_->task, best, unknown)});
    }
    impl_->simulator_seconds = state.at("simulator_seconds").get<double>();
    impl_->machine_seconds = state.at("machine_seconds").get<double>();
    impl_->earlier_seconds = state.at("wall_seconds").get<double>();
    impl_->opened = Clock::now();
    impl_->samples = samples;
    proposals_ = proposals;
    screens_ = screens;
    impl_->distinct = {distinct.begin(), distinct.end()};
    impl_->best = std::move(best);
    impl_->best_runtime = curve.empty() ? 0 : curve.back().best;
    impl_->curve = std::move(curve);
    impl_->plainest = std::move(plainest);
  } catch (const Json::exception& error) {
    throw InputError(std::string("checkpoint of an evaluator: not the text that SaveState() wrote (") +
                     error.what() + ")");
  }
}

}  // namespace stowplan::agents
