#include "cost_models/parameters/ratio_curve.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "cost_models/ops/portable_math.h"
#include "sim/base/error.h"
#include "sim/base/statistics.h"

namespace stowplan::cost_models {
namespace {

constexpr int kFolds = 5;
constexpr double kSame = 1e-9;  // relative: structural times this close are one

struct LogKnot {
  double structural = 0;
  double measured = 0;
  double weight = 0;
};

// Cuts the sorted samples into groups; samples of one structural time are never cut apart.
std::vector<LogKnot> GroupMedians(const std::vector<RatioSample>& samples, int max_knots) {
  const std::size_t least =
      (samples.size() + static_cast<std::size_t>(max_knots) - 1) / static_cast<std::size_t>(max_knots);
  std::vector<LogKnot> knots;
  std::size_t begin = 0;
  while (begin < samples.size()) {
    std::size_t end = std::min(begin + least, samples.size());
    while (end < samples.size() && samples[end].structural_us == samples[end - 1].structural_us) ++end;
    std::vector<double> ratios;
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      ratios.push_back(PortableLog(samples[i].measured_us / samples[i].structural_us));
      sum += PortableLog(samples[i].structural_us);
    }
    const auto count = static_cast<double>(end - begin);
    const double at = sum / count;
    knots.push_back({at, at + Median(ratios), count});
    begin = end;
  }
  return knots;
}

// Pool adjacent violators: the non-decreasing values nearest in weighted least squares.
void MakeMonotone(std::vector<LogKnot>* knots) {
  struct Block {
    double mean;
    double weight;
    std::size_t size;
  };
  std::vector<Block> blocks;
  for (const LogKnot& knot : *knots) {
    blocks.push_back({knot.measured, knot.weight, 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean > blocks.back().mean) {
      const Block last = blocks.back();
      blocks.pop_back();
      Block& into = blocks.back();
      into.mean = (into.mean * into.weight + last.mean * last.weight) / (into.weight + last.weight);
      into.weight += last.weight;
      into.size += last.size;
    }
  }
  std::size_t at = 0;
  for (const Block& block : blocks) {
    for (std::size_t i = 0; i < block.size; ++i) (*knots)[at++].measured = block.mean;
  }
}

// The line from `inner` through `outer`, continued to a structural time beyond. Between 0 and 2: a knot's own
// scatter must not be carried out steeply.
LogKnot Continued(const LogKnot& inner, const LogKnot& outer, double structural) {
  const double run = outer.structural - inner.structural;
  const double slope = run != 0 ? std::clamp((outer.measured - inner.measured) / run, 0.0, 2.0) : 1.0;
  return {structural, outer.measured + slope * (structural - outer.structural), 0};
}

std::vector<RatioCurve::Knot> FitKnots(const std::vector<RatioSample>& samples, int max_knots) {
  std::vector<LogKnot> logs = GroupMedians(samples, max_knots);
  MakeMonotone(&logs);
  const LogKnot first =
      Continued(logs[logs.size() > 1 ? 1 : 0], logs.front(), PortableLog(samples.front().structural_us));
  const LogKnot last = Continued(logs[logs.size() > 1 ? logs.size() - 2 : 0], logs.back(),
                                 PortableLog(samples.back().structural_us));
  if (first.structural < logs.front().structural) logs.insert(logs.begin(), first);
  if (last.structural > logs.back().structural) logs.push_back(last);
  std::vector<RatioCurve::Knot> knots;
  for (const LogKnot& log : logs) {
    const RatioCurve::Knot knot = {PortableExp(log.structural), PortableExp(log.measured)};
    // Means of equal logarithms differ by rounding; knots must not.
    const bool apart = knots.empty() || knot.structural_us > knots.back().structural_us * (1 + kSame);
    if (apart) knots.push_back(knot);
  }
  return knots;
}

bool HasTwoTimes(const std::vector<RatioSample>& sorted) {
  return !sorted.empty() && sorted.front().structural_us * (1 + 2 * kSame) < sorted.back().structural_us;
}

// By structural time, then measured time.
std::vector<std::size_t> Sorted(const std::vector<RatioSample>& samples) {
  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return std::pair(samples[a].structural_us, samples[a].measured_us) <
           std::pair(samples[b].structural_us, samples[b].measured_us);
  });
  return order;
}

std::vector<RatioSample> InOrder(const std::vector<RatioSample>& samples,
                                 const std::vector<std::size_t>& order) {
  std::vector<RatioSample> sorted;
  for (const std::size_t at : order) sorted.push_back(samples[at]);
  return sorted;
}

// Of each sorted sample; groups are dealt out in the order in which they begin.
std::vector<std::size_t> Folds(const std::vector<RatioSample>& sorted) {
  std::map<int, std::size_t> known;
  std::vector<std::size_t> folds;
  std::size_t next = 0;
  for (const RatioSample& sample : sorted) {
    if (sample.group < 0) {
      folds.push_back(next++ % kFolds);
      continue;
    }
    const auto [found, fresh] = known.emplace(sample.group, next % kFolds);
    if (fresh) ++next;
    folds.push_back(found->second);
  }
  return folds;
}

// Of sorted samples, by curves that have not seen them; 0 where there is none.
std::vector<double> HeldOut(const std::vector<RatioSample>& sorted, int max_knots) {
  const std::vector<std::size_t> folds = Folds(sorted);
  std::vector<double> predicted(sorted.size(), 0);
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    std::vector<RatioSample> rest;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      if (folds[i] != fold) rest.push_back(sorted[i]);
    }
    if (!HasTwoTimes(rest)) continue;
    RatioCurve curve;
    curve.knots = FitKnots(rest, max_knots);
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      if (folds[i] == fold) predicted[i] = EvaluateCurve(curve, sorted[i].structural_us).us;
    }
  }
  return predicted;
}

// ln(measured / predicted) of every sample that was held out.
std::vector<double> HeldOutResiduals(const std::vector<RatioSample>& sorted, int max_knots) {
  const std::vector<double> predicted = HeldOut(sorted, max_knots);
  std::vector<double> residuals;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (predicted[i] > 0) residuals.push_back(PortableLog(sorted[i].measured_us / predicted[i]));
  }
  return residuals;
}

Evidence EvidenceOf(const std::vector<RatioSample>& sorted, const std::vector<double>& residuals) {
  Evidence evidence;
  evidence.samples = static_cast<std::int64_t>(sorted.size());
  std::vector<double> spreads;
  evidence.range = {sorted.front().work, sorted.front().work};
  for (const RatioSample& sample : sorted) {
    spreads.push_back(sample.spread);
    evidence.range->first = std::min(evidence.range->first, sample.work);
    evidence.range->second = std::max(evidence.range->second, sample.work);
  }
  evidence.spread = Median(spreads);
  double squares = 0;
  for (const double residual : residuals) squares += residual * residual;
  evidence.fit_error = residuals.empty() ? 0 : std::sqrt(squares / static_cast<double>(residuals.size()));
  return evidence;
}

}  // namespace

RatioCurve FitRatioCurve(OpClass op_class, std::vector<RatioSample> samples, int max_knots) {
  STOWPLAN_CHECK(max_knots >= 2);
  for (const RatioSample& sample : samples)
    STOWPLAN_CHECK(sample.structural_us > 0 && sample.measured_us > 0);
  samples = InOrder(samples, Sorted(samples));
  if (!HasTwoTimes(samples)) {
    throw InputError(std::string("the class '") + ToString(op_class) +
                     "' was measured at fewer than two sizes; a curve needs at least two");
  }
  RatioCurve curve;
  curve.op_class = op_class;
  curve.knots = FitKnots(samples, max_knots);
  const std::vector<double> residuals = HeldOutResiduals(samples, max_knots);
  if (!residuals.empty()) {
    curve.low_ratio = std::min(1.0, PortableExp(ConformalQuantile(residuals, 0.05)));
    curve.high_ratio = std::max(1.0, PortableExp(ConformalQuantile(residuals, 0.95)));
  }
  curve.evidence = EvidenceOf(samples, residuals);
  return curve;
}

std::vector<double> HeldOutMicros(const std::vector<RatioSample>& samples, int max_knots) {
  const std::vector<std::size_t> order = Sorted(samples);
  const std::vector<double> sorted = HeldOut(InOrder(samples, order), max_knots);
  std::vector<double> predicted(samples.size());
  for (std::size_t i = 0; i < order.size(); ++i) predicted[order[i]] = sorted[i];
  return predicted;
}

CurveAnswer EvaluateCurve(const RatioCurve& curve, double structural_us) {
  const auto& knots = curve.knots;
  const auto scaled = [&](const RatioCurve::Knot& knot) {
    return structural_us * (knot.measured_us / knot.structural_us);
  };
  if (structural_us < knots.front().structural_us) return {scaled(knots.front()), false};
  if (structural_us > knots.back().structural_us) return {scaled(knots.back()), false};
  const auto above = std::ranges::upper_bound(knots, structural_us, {}, &RatioCurve::Knot::structural_us);
  if (above == knots.end()) return {knots.back().measured_us, true};
  const RatioCurve::Knot& right = *above;
  const RatioCurve::Knot& left = *(above - 1);
  const double share =
      PortableLog(structural_us / left.structural_us) / PortableLog(right.structural_us / left.structural_us);
  const double micros =
      left.measured_us * PortableExp(share * PortableLog(right.measured_us / left.measured_us));
  return {std::clamp(micros, left.measured_us, right.measured_us), true};
}

}  // namespace stowplan::cost_models
