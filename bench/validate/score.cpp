#include "bench/validate/score.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "bench/validate/statistics.h"
#include "cost_models/op_work.h"
#include "cost_models/parameters.h"
#include "sim/error.h"
#include "sim/formats/formats.h"
#include "sim/simulator.h"

namespace berth::bench {
namespace {

constexpr double kLimits[] = {0.90, 0.95, 0.98, 0.99, 1.01, 1.02, 1.05, 1.10};
constexpr double kBand = 0.01;  // limits this close to a measured peak are nobody's to tell

// The model's prices, all at the median or all at one end of their intervals.
enum class Prices { kMedian, kLow, kHigh };

sim::CostTable PriceAll(const sim::OpGraph& graph, const sim::Cluster& cluster, const sim::CostModel& model,
                        Prices which) {
  sim::CostTable costs = sim::PriceOps(graph, cluster, model);
  if (which == Prices::kMedian) return costs;
  for (sim::OpIndex op = 0; op < graph.size(); ++op) {
    for (sim::DeviceIndex d = 0; d < cluster.size(); ++d) {
      const auto price = model.Predict(graph, op, cluster.devices[static_cast<std::size_t>(d)]);
      if (!price || graph.ops[static_cast<std::size_t>(op)].IsSource()) continue;
      const double us = which == Prices::kLow ? price->low_us : price->high_us;
      costs.picos[static_cast<std::size_t>(op * cluster.size() + d)] = sim::FromMicros(us);
    }
  }
  return costs;
}

double Busiest(const sim::Problem& problem, const sim::Placement& placement) {
  std::vector<double> sum(problem.cluster().devices.size());
  for (std::size_t op = 0; op < placement.device.size(); ++op) {
    const auto device = placement.device[op];
    sum[static_cast<std::size_t>(device)] +=
        sim::ToMicros(problem.costs().at(static_cast<sim::OpIndex>(op), device));
  }
  return *std::max_element(sum.begin(), sum.end());
}

class Scorer {
 public:
  Scorer(const Recording& recording, const std::string& costs_path, const std::string& folder)
      : recording_(recording),
        graph_(LoadMeasuredGraph(recording.workload, folder)),
        cluster_(
            formats::ParseCluster(recording.cluster, recording.workload, cost_models::BuiltinCatalogue())),
        model_(cost_models::MakeCostModel(costs_path)),
        median_(graph_, cluster_, PriceAll(graph_, cluster_, *model_, Prices::kMedian)),
        low_(graph_, cluster_, PriceAll(graph_, cluster_, *model_, Prices::kLow)),
        high_(graph_, cluster_, PriceAll(graph_, cluster_, *model_, Prices::kHigh)) {}

  Score Run() {
    score_.workload = recording_.workload;
    score_.machine = recording_.origin.machine;
    score_.date = recording_.origin.date;
    score_.commit = recording_.origin.commit;
    score_.load_before = recording_.load_before;
    score_.load_after = recording_.load_after;
    score_.stand_ins = recording_.stand_ins;
    score_.accelerators =
        std::ranges::count(cluster_.devices, sim::DeviceClass::kGpu, &sim::Device::device_class);
    for (const MeasuredPlacement& measured : recording_.placements) Add(measured);
    Summarise();
    CompareTraced();
    return std::move(score_);
  }

 private:
  void Add(const MeasuredPlacement& measured) {
    const auto median = sim::MakeSimulator(median_), low = sim::MakeSimulator(low_),
               high = sim::MakeSimulator(high_);
    const sim::Outcome& outcome = median->Run(measured.placement);
    CompareVerdicts(outcome, measured);
    if (measured.oom) return;
    ScoredPlacement scored{.family = measured.family,
                           .placement = measured.placement,
                           .measured_us = Quantile(measured.steps_us, 0.5),
                           .spread_us = 0,
                           .steps = measured.run,
                           .undisturbed = measured.undisturbed,
                           .simulated_us = sim::ToMicros(outcome.runtime),
                           .low_us = sim::ToMicros(low->Run(measured.placement).runtime),
                           .high_us = sim::ToMicros(high->Run(measured.placement).runtime),
                           .busiest_us = Busiest(median_, measured.placement)};
    scored.spread_us = Spread(measured.steps_us) * scored.measured_us;
    const auto middle = measured.steps_us.begin() + static_cast<std::ptrdiff_t>(measured.steps_us.size() / 2);
    const bool halves = measured.steps_us.size() > 1;
    scored.halves_us[0] = halves ? Quantile({measured.steps_us.begin(), middle}, 0.5) : scored.measured_us;
    scored.halves_us[1] = halves ? Quantile({middle, measured.steps_us.end()}, 0.5) : scored.measured_us;
    for (std::size_t d = 0; d < outcome.devices.size(); ++d)
      ComparePeak(outcome.devices[d].peak, measured, d);
    score_.placements.push_back(std::move(scored));
  }

  // Where a real limit was in force: it ran out of memory, or is simulated to.
  void CompareVerdicts(const sim::Outcome& outcome, const MeasuredPlacement& measured) {
    if (!measured.oom && !outcome.oom) return;
    if (measured.exhausted) return;  // no limit of the cluster was in force
    const sim::OutOfMemory& failed = measured.oom ? *measured.oom : *outcome.oom;
    const auto needed = static_cast<double>(
        measured.oom ? failed.needed : measured.peak_bytes[static_cast<std::size_t>(failed.device)]);
    if (std::abs(needed / static_cast<double>(failed.capacity) - 1) < kBand) {
      ++score_.undecided_verdicts;
      return;
    }
    ++score_.verdicts;
    score_.right_verdicts += measured.oom && outcome.oom ? 1 : 0;
  }

  void ComparePeak(sim::Bytes simulated, const MeasuredPlacement& measured, std::size_t device) {
    const auto peak = static_cast<double>(simulated),
               median = static_cast<double>(measured.peak_bytes[device]),
               least = static_cast<double>(measured.least_peak_bytes[device]),
               most = static_cast<double>(measured.most_peak_bytes[device]);
    if (median == 0) return;
    peak_errors_.push_back(std::abs(peak / median - 1));
    for (const double share : kLimits) {
      const double limit = share * peak;
      if (limit > least * (1 - kBand) && limit < most * (1 + kBand)) {
        ++score_.undecided_verdicts;
        continue;
      }
      ++score_.verdicts;
      score_.right_verdicts += (peak > limit) == (median > limit) ? 1 : 0;
    }
  }

  void Summarise() {
    std::vector<double> measured, simulated, busiest, margin, errors, signed_errors, halves[2];
    int covered = 0, steps = 0, undisturbed = 0;
    for (const ScoredPlacement& p : score_.placements) {
      measured.push_back(p.measured_us);
      simulated.push_back(p.simulated_us);
      busiest.push_back(p.busiest_us);
      margin.push_back(p.spread_us);
      for (const int half : {0, 1}) halves[half].push_back(p.halves_us[half]);
      signed_errors.push_back(p.error());
      errors.push_back(std::abs(p.error()));
      covered += p.low_us <= p.measured_us && p.measured_us <= p.high_us ? 1 : 0;
      steps += p.steps;
      undisturbed += p.undisturbed;
    }
    if (measured.empty()) throw InputError("the recording of " + recording_.workload + " has no placements");
    score_.median_error = Quantile(errors, 0.5);
    score_.p95_error = Quantile(errors, 0.95);
    score_.bias = Quantile(signed_errors, 0.5);
    const RankCorrelation tau = KendallTauB(measured, simulated, margin);
    score_.tau = tau.tau_b;
    score_.pairs = tau.pairs;
    score_.baseline_tau = KendallTauB(measured, busiest, margin).tau_b;
    score_.tau_ceiling = TauCeiling(KendallTauB(halves[0], halves[1], measured, margin).tau_b);
    const auto chosen = std::min_element(simulated.begin(), simulated.end()) - simulated.begin();
    score_.regret =
        measured[static_cast<std::size_t>(chosen)] / *std::min_element(measured.begin(), measured.end()) - 1;
    score_.coverage = covered / static_cast<double>(measured.size());
    score_.undisturbed = steps == 0 ? 0 : undisturbed / static_cast<double>(steps);
    if (peak_errors_.empty()) return;
    score_.peak_error = Quantile(peak_errors_, 0.5);
    score_.worst_peak_error = Quantile(peak_errors_, 1);
  }

  // What the probes say of the traced steps' ops and copies, against what they took there.
  void CompareTraced() {
    double probed_ops = 0, traced_ops = 0, probed_copies = 0, traced_copies = 0;
    const auto micros = [](const auto& span) {
      return static_cast<double>(span.end_ns - span.start_ns) * 1e-3;
    };
    for (const MeasuredPlacement& measured : recording_.placements) {
      if (!measured.traced) continue;
      for (const profiler::OpSpan& span : measured.traced->ops) {
        probed_ops += sim::ToMicros(median_.costs().at(span.op, span.device));
        traced_ops += micros(span);
      }
      for (const profiler::CopySpan& span : measured.traced->copies) {
        for (const auto& hop : cluster_.route(span.from, span.to))
          probed_copies +=
              sim::ToMicros(sim::LoneTime(cluster_.links[static_cast<std::size_t>(hop.link)], span.bytes));
        traced_copies += micros(span);
      }
    }
    if (traced_ops > 0) score_.op_time_ratio = probed_ops / traced_ops;
    if (traced_copies > 0) score_.copy_time_ratio = probed_copies / traced_copies;
  }

  const Recording& recording_;
  sim::OpGraph graph_;
  sim::Cluster cluster_;
  std::unique_ptr<sim::CostModel> model_;
  sim::Problem median_, low_, high_;
  Score score_;
  std::vector<double> peak_errors_;
};

}  // namespace

Score ScoreRecording(const Recording& recording, const std::string& costs_path, const std::string& folder) {
  return Scorer(recording, costs_path, folder).Run();
}

std::vector<Score> ScoreFolder(const std::string& folder, const std::string& cost_model) {
  std::vector<Score> scores;
  for (const std::string& path : FindRecordings(folder)) {
    const std::string beside = CostsBeside(path);
    if (cost_model.empty() && !std::filesystem::exists(beside))
      throw InputError(path + ": has no " + beside + " beside it; --cost-model can name what prices its ops");
    scores.push_back(ScoreRecording(ReadValidation(path), cost_model.empty() ? beside : cost_model, folder));
  }
  return scores;
}

}  // namespace berth::bench
