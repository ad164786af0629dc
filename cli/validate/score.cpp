#include "cli/validate/score.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "cost_models/ops/op_work.h"
#include "cost_models/parameters/parameters.h"
#include "problem/explain/tier_shares.h"
#include "sim/base/error.h"
#include "sim/base/statistics.h"
#include "sim/formats/formats.h"
#include "sim/simulator.h"

namespace stowplan::cli {
namespace {

constexpr double kLimits[] = {0.90, 0.95, 0.98, 0.99, 1.01, 1.02, 1.05, 1.10};
constexpr double kBand = 0.01;  // limits this close to a measured peak are nobody's to tell

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
  Scorer(const Recording& recording, const sim::CostModel& model, const std::string& folder)
      : recording_(recording),
        graph_(LoadMeasuredGraph(recording.workload, folder)),
        cluster_(
            formats::ParseCluster(recording.cluster, recording.workload, cost_models::BuiltinCatalogue())),
        problem_(graph_, cluster_, sim::PriceOps(graph_, cluster_, model)) {}

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
    double all = 0;
    for (const problem::TierShare& share : problem::SharesByTier(problem_)) {
      all += share.total_us;
      for (std::size_t tier = 0; tier < share.by_tier.size(); ++tier)
        score_.by_tier[tier] += share.by_tier[tier];
    }
    for (double& share : score_.by_tier) share /= std::max(all, 1e-9);
    for (const MeasuredPlacement& measured : recording_.placements) Add(measured);
    Summarise();
    CompareTraced();
    return std::move(score_);
  }

 private:
  void Add(const MeasuredPlacement& measured) {
    const auto simulator = sim::MakeSimulator(problem_);
    const sim::Outcome& outcome = simulator->Run(measured.placement);
    CompareVerdicts(outcome, measured);
    if (measured.oom) return;
    ScoredPlacement scored{.family = measured.family,
                           .placement = measured.placement,
                           .measured_us = Quantile(measured.steps_us, 0.5),
                           .spread_us = 0,
                           .steps = measured.run,
                           .undisturbed = measured.undisturbed,
                           .simulated_us = sim::ToMicros(outcome.runtime),
                           .busiest_us = Busiest(problem_, measured.placement)};
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
    if (std::abs(Demand(outcome, measured) - 1) < kBand) {
      ++score_.undecided_verdicts;
      return;
    }
    const int right = measured.oom && outcome.oom ? 1 : 0;
    ++score_.verdicts;
    ++score_.enforced_verdicts;
    score_.right_verdicts += right;
    score_.right_enforced_verdicts += right;
  }

  // What was wanted of the capacity, at most of all devices: measured where all of it was given; else, since a measured step
  // ends at the first request that is refused, simulated, where the run goes on without limits.
  double Demand(const sim::Outcome& outcome, const MeasuredPlacement& measured) const {
    double demand = 0;
    for (std::size_t d = 0; d < outcome.devices.size(); ++d) {
      const auto capacity = static_cast<double>(problem_.cluster().devices[d].capacity());
      const sim::Bytes peak = measured.oom ? outcome.devices[d].peak : measured.peak_bytes[d];
      demand = std::max(demand, static_cast<double>(peak) / capacity);
    }
    return demand;
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
    int steps = 0, undisturbed = 0;
    for (const ScoredPlacement& p : score_.placements) {
      measured.push_back(p.measured_us);
      simulated.push_back(p.simulated_us);
      busiest.push_back(p.busiest_us);
      margin.push_back(p.spread_us);
      for (const int half : {0, 1}) halves[half].push_back(p.halves_us[half]);
      signed_errors.push_back(p.error());
      errors.push_back(std::abs(p.error()));
      steps += p.steps;
      undisturbed += p.undisturbed;
    }
    if (!peak_errors_.empty()) {
      score_.peak_error = Quantile(peak_errors_, 0.5);
      score_.worst_peak_error = Quantile(peak_errors_, 1);
    }
    if (score_.placements.empty()) return;
    score_.median_error = Quantile(errors, 0.5);
    score_.p95_error = Quantile(errors, 0.95);
    score_.bias = Quantile(signed_errors, 0.5);
    const RankCorrelation tau = KendallTauB(measured, simulated, margin);
    score_.pairs = tau.pairs;
    if (tau.pairs > 0) {
      score_.tau = tau.tau_b;
      score_.baseline_tau = KendallTauB(measured, busiest, margin).tau_b;
      score_.tau_ceiling = TauCeiling(KendallTauB(halves[0], halves[1], measured, margin).tau_b);
    }
    const auto chosen = std::min_element(simulated.begin(), simulated.end()) - simulated.begin();
    score_.regret =
        measured[static_cast<std::size_t>(chosen)] / *std::min_element(measured.begin(), measured.end()) - 1;
    score_.undisturbed = steps == 0 ? 0 : undisturbed / static_cast<double>(steps);
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
        probed_ops += sim::ToMicros(problem_.costs().at(span.op, span.device));
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
  sim::Problem problem_;
  Score score_;
  std::vector<double> peak_errors_;
};

// Prices that were probed elsewhere say nothing of these steps.
void CheckMachine(const Recording& recording, const std::string& path, const std::string& costs) {
  const cost_models::Parameters parameters =
      cost_models::ReadParameters(costs, cost_models::BuiltinCatalogue());
  if (parameters.provenance.machine != recording.origin.machine)
    throw InputError(fmt::format(
        "{}: was measured on {}, but {} beside it on {}; --cost-model can name what prices its ops", path,
        recording.origin.machine, costs, parameters.provenance.machine));
}

}  // namespace

Score ScoreRecording(const Recording& recording, const std::string& costs_path, const std::string& folder) {
  return ScoreRecording(recording, *cost_models::MakeCostModel(costs_path), folder);
}

Score ScoreRecording(const Recording& recording, const sim::CostModel& model, const std::string& folder) {
  return Scorer(recording, model, folder).Run();
}

std::vector<Score> ScoreFolder(const std::string& folder, const std::string& cost_model) {
  std::vector<Score> scores;
  for (const std::string& path : FindRecordings(folder)) {
    const Recording recording = ReadValidation(path);
    std::string costs = cost_model;
    if (costs.empty()) {
      costs = CostsBeside(path);
      if (!std::filesystem::exists(costs))
        throw InputError(path + ": has no " + costs +
                         " beside it; --cost-model can name what prices its ops");
      CheckMachine(recording, path, costs);
    }
    scores.push_back(ScoreRecording(recording, costs, folder));
  }
  SetIntervals(&scores);
  return scores;
}

void SetIntervals(std::vector<Score>* scores) {
  const auto has_steps = [](const Score& score) { return !score.placements.empty(); };
  if (std::ranges::count_if(*scores, has_steps) < kFewestForIntervals) return;
  constexpr int kParts = 20;  // of each workload as many quantiles, whatever the number of its placements
  std::vector<std::vector<double>> ratios;
  for (const Score& score : *scores) {
    std::vector<double>& quantiles = ratios.emplace_back();
    if (!has_steps(score)) continue;
    std::vector<double> all;
    for (const ScoredPlacement& p : score.placements) all.push_back(p.measured_us / p.simulated_us);
    for (int i = 0; i < kParts; ++i) quantiles.push_back(Quantile(all, (i + 0.5) / kParts));
  }
  for (std::size_t held_out = 0; held_out < scores->size(); ++held_out) {
    std::vector<double> others;
    for (std::size_t i = 0; i < ratios.size(); ++i)
      if (i != held_out) others.insert(others.end(), ratios[i].begin(), ratios[i].end());
    const double low = Quantile(others, 0.05), high = Quantile(others, 0.95);
    Score& score = (*scores)[held_out];
    if (!has_steps(score)) continue;
    int covered = 0;
    for (ScoredPlacement& p : score.placements) {
      p.low_us = low * p.simulated_us;
      p.high_us = high * p.simulated_us;
      covered += p.low_us <= p.measured_us && p.measured_us <= p.high_us ? 1 : 0;
    }
    score.coverage = covered / static_cast<double>(score.placements.size());
  }
}

}  // namespace stowplan::cli
