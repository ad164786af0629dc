#include "cost_models/calibration/copy_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "cost_models/calibration/errors.h"
#include "cost_models/calibration/small_linear.h"
#include "cost_models/ops/portable_math.h"
#include "sim/base/error.h"
#include "sim/base/statistics.h"

namespace stowplan::cost_models {
namespace {

using Knot = LinkParameters::Knot;

constexpr std::size_t kFewestKnots = 8, kMostKnots = 15;  // and the one at 0 bytes
constexpr std::size_t kMostCandidates = 512;  // for knots: choosing takes the cube of their number
constexpr double kCloseEnough = 0.01;
constexpr double kSpike = 0.69;  // in logarithms: twice what the neighbours say; true steps are lower
constexpr std::size_t kFolds = 4;

// One sample for each size, by size.
std::vector<CopySample> Merged(const std::string& kind, const std::vector<CopySample>& samples) {
  std::map<sim::Bytes, std::vector<CopySample>> sizes;
  for (const CopySample& sample : samples) {
    if (!(sample.us > 0))
      throw InputError(fmt::format("{}: a copy of {} bytes took no time", kind, sample.bytes));
    sizes[sample.bytes].push_back(sample);
  }
  if (sizes.size() < 2)
    throw InputError(kind + ": copies were measured at fewer than two sizes; a curve needs two");
  std::vector<CopySample> merged;
  for (const auto& [bytes, list] : sizes) {
    std::vector<double> times, spreads;
    for (const CopySample& sample : list) {
      times.push_back(sample.us);
      spreads.push_back(sample.spread);
    }
    merged.push_back({bytes, Quantile(times, 0.5), Quantile(spreads, 0.5)});
  }
  return merged;
}

// A size whose time, as a share of latency and bandwidth, stands out over or under both neighbours takes that of the
// nearer one. A step stays one; the outermost sizes have one neighbour and stay as they are.
std::vector<double> WithoutSpikes(const std::vector<CopySample>& samples, std::vector<CopyPoint>* points) {
  const AlphaBeta line = FitAlphaBeta(samples);
  std::vector<double> ratios, clean;
  for (const CopySample& sample : samples) {
    ratios.push_back(PortableLog(sample.us / line.Micros(sample.bytes)));
    clean.push_back(sample.us);
  }
  for (std::size_t i = 1; i + 1 < samples.size(); ++i) {
    const auto [low, high] = std::minmax(ratios[i - 1], ratios[i + 1]);
    if (ratios[i] <= high + kSpike && ratios[i] >= low - kSpike) continue;
    clean[i] = line.Micros(samples[i].bytes) * PortableExp(std::clamp(ratios[i], low, high));
    (*points)[i].outlier = true;
  }
  return clean;
}

// Pool adjacent violators; a block's value is its lower median, so that one high time does not drag others along.
void MakeMonotone(std::vector<double>* times) {
  std::vector<std::vector<double>> blocks;
  const auto value = [](const std::vector<double>& block) { return block[(block.size() - 1) / 2]; };
  for (const double time : *times) {
    blocks.push_back({time});
    while (blocks.size() > 1 && value(blocks[blocks.size() - 2]) > value(blocks.back())) {
      std::vector<double> last = std::move(blocks.back());
      blocks.pop_back();
      std::vector<double>& joined = blocks.back();
      const auto middle = joined.insert(joined.end(), last.begin(), last.end());
      std::inplace_merge(joined.begin(), middle, joined.end());
    }
  }
  std::size_t at = 0;
  for (const auto& block : blocks) {
    for (std::size_t i = 0; i < block.size(); ++i) (*times)[at++] = value(block);
  }
}

double Between(const Knot& left, const Knot& right, sim::Bytes bytes) {
  const double share =
      static_cast<double>(bytes - left.bytes) / static_cast<double>(right.bytes - left.bytes);
  return left.us + share * (right.us - left.us);
}

// Evenly spread ones with the first and the last, where there are more points than candidates may be.
std::vector<Knot> Candidates(const std::vector<Knot>& points) {
  if (points.size() <= kMostCandidates) return points;
  std::vector<Knot> chosen;
  for (std::size_t i = 0; i < kMostCandidates; ++i)
    chosen.push_back(points[i * (points.size() - 1) / (kMostCandidates - 1)]);
  return chosen;
}

// Some of the points, first and last among them, between which the relative error is least; by dynamic programming over
// (last knot, number of knots).
class Choice {
 public:
  Choice(const std::vector<Knot>& points, std::size_t most)
      : points_(points),
        loss_(most, std::vector<double>(points.size(), std::numeric_limits<double>::infinity())),
        from_(most, std::vector<std::size_t>(points.size(), 0)) {
    loss_[0][0] = 0;
    for (std::size_t right = 1; right < points.size(); ++right) {
      for (std::size_t left = 0; left < right; ++left) {
        const double skipped = Skipped(left, right);
        for (std::size_t k = 1; k < most; ++k) {
          if (loss_[k - 1][left] + skipped < loss_[k][right]) {
            loss_[k][right] = loss_[k - 1][left] + skipped;
            from_[k][right] = left;
          }
        }
      }
    }
  }

  // `worst` gets the largest relative error.
  std::vector<Knot> Of(std::size_t count, double* worst) const {
    std::vector<Knot> chosen;
    std::size_t at = points_.size() - 1;
    for (std::size_t k = count - 1; k > 0; at = from_[k--][at]) chosen.push_back(points_[at]);
    chosen.push_back(points_.front());
    std::ranges::reverse(chosen);
    *worst = 0;
    for (const Knot& point : points_)
      *worst = std::max(*worst, std::abs(CopyMicros(chosen, point.bytes) / point.us - 1));
    return chosen;
  }

 private:
  double Skipped(std::size_t left, std::size_t right) const {
    double skipped = 0;
    for (std::size_t i = left + 1; i < right; ++i) {
      const double error = Between(points_[left], points_[right], points_[i].bytes) / points_[i].us - 1;
      skipped += error * error;
    }
    return skipped;
  }

  const std::vector<Knot>& points_;
  std::vector<std::vector<double>> loss_;       // [knots - 1][last]
  std::vector<std::vector<std::size_t>> from_;  // [knots - 1][last] the knot before
};

// The values of the knots that are nearest to all points in relative least squares; where there is one to a
// point, the points themselves.
void Refit(const std::vector<Knot>& points, std::vector<Knot>* knots) {
  const auto n = static_cast<int>(knots->size());
  Matrix a(n, n);
  std::vector<double> b(knots->size(), 0);
  int right = 1;
  for (const Knot& point : points) {
    while (right + 1 < n && point.bytes > (*knots)[static_cast<std::size_t>(right)].bytes) ++right;
    const Knot &left_knot = (*knots)[static_cast<std::size_t>(right - 1)],
               &right_knot = (*knots)[static_cast<std::size_t>(right)];
    const double share = static_cast<double>(point.bytes - left_knot.bytes) /
                         static_cast<double>(right_knot.bytes - left_knot.bytes);
    const double hats[] = {(1 - share) / point.us, share / point.us};
    for (const int row : {0, 1}) {
      for (const int column : {0, 1}) a.at(right - 1 + row, right - 1 + column) += hats[row] * hats[column];
      b[static_cast<std::size_t>(right - 1 + row)] += hats[row];
    }
  }
  const std::vector<double> values = SolvePositiveDefinite(a, b);
  if (values.empty()) return;
  double last = 0;
  for (std::size_t k = 0; k < knots->size(); ++k) {
    last = std::max(last, values[k]);
    if (last > 0) (*knots)[k].us = Rounded(last);
  }
}

std::vector<Knot> FitKnots(const std::vector<CopySample>& samples, std::vector<CopyPoint>* points) {
  std::vector<double> times = WithoutSpikes(samples, points);
  MakeMonotone(&times);
  std::vector<Knot> all;
  std::vector<double> spreads;
  for (const CopySample& sample : samples) spreads.push_back(sample.spread);
  const double close_enough = std::max(kCloseEnough, 2 * Quantile(spreads, 0.5));
  for (std::size_t i = 0; i < samples.size(); ++i) all.push_back({samples[i].bytes, Rounded(times[i])});
  const std::vector<Knot> candidates = Candidates(all);
  const std::size_t most = std::min(kMostKnots, all.size());
  const Choice choice(candidates, most);
  std::vector<Knot> chosen;
  for (std::size_t count = std::min(kFewestKnots, all.size()); count <= most; ++count) {
    double worst = 0;
    chosen = choice.Of(count, &worst);
    if (worst <= close_enough) break;
  }
  Refit(all, &chosen);
  // A flat end would make larger copies free.
  while (chosen.size() > 2 && chosen[chosen.size() - 2].us == chosen.back().us)
    chosen.erase(chosen.end() - 2);
  if (chosen.front().bytes > 0) {
    const double intercept = Between(chosen[0], chosen[1], 0);
    chosen.insert(chosen.begin(), {0, Rounded(std::max(0.0, intercept))});
  }
  return chosen;
}

// Of the largest sizes, where latency hardly counts, the median of what each reaches.
std::int64_t BandwidthOf(const std::vector<CopySample>& samples, const std::vector<Knot>& knots) {
  constexpr std::size_t kLargest = 5;
  const double latency = knots.front().us;
  std::vector<double> rates;
  for (std::size_t i = samples.size(); i-- > 0 && rates.size() < kLargest;) {
    const double us = CopyMicros(knots, samples[i].bytes) - latency;
    if (us <= 0 || us < latency) break;
    rates.push_back(static_cast<double>(samples[i].bytes) / us * 1e6);
  }
  if (rates.empty()) {
    const double us = std::max(knots.back().us - latency, 1e-6);
    rates.push_back(static_cast<double>(knots.back().bytes) / us * 1e6);
  }
  return std::llround(std::clamp(Rounded(Quantile(rates, 0.5)), 1.0, 1e15));
}

// Every fourth inner size is left out at a time.
void HoldOut(const std::vector<CopySample>& samples, std::vector<CopyPoint>* points) {
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    const auto held = [&](std::size_t i) { return i > 0 && i + 1 < samples.size() && i % kFolds == fold; };
    std::vector<CopySample> rest;
    for (std::size_t i = 0; i < samples.size(); ++i)
      if (!held(i)) rest.push_back(samples[i]);
    if (rest.size() == samples.size()) continue;
    std::vector<CopyPoint> unused(rest.size());
    const std::vector<Knot> knots = FitKnots(rest, &unused);
    const AlphaBeta line = FitAlphaBeta(rest);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (!held(i)) continue;
      (*points)[i].held_out_us = CopyMicros(knots, samples[i].bytes);
      (*points)[i].alpha_beta_us = line.Micros(samples[i].bytes);
    }
  }
}

// Copies whose sizes made no difference, in noise too, leave all of the curve flat, which would say that any more bytes take no
// longer. By the least then that six digits tell.
void RaiseFlatEnd(std::vector<Knot>& knots) {
  if (knots.back().us > (knots.end() - 2)->us) return;
  if (knots.size() > 2) knots.pop_back();
  knots.back().us = Rounded(std::max(knots.front().us + 1e-3, knots.front().us * (1 + 1e-5)));
}

}  // namespace

AlphaBeta FitAlphaBeta(const std::vector<CopySample>& samples) {
  constexpr int kRounds = 50;
  constexpr double kLeastError = 1e-4;  // below it an error counts as this much
  std::vector<double> weights(samples.size(), 1);
  AlphaBeta fit;
  for (int round = 0; round < kRounds; ++round) {
    // In relative errors: a / t + b * bytes / t = 1.
    double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const double a = 1 / samples[i].us, b = static_cast<double>(samples[i].bytes) / samples[i].us;
      aa += weights[i] * a * a;
      ab += weights[i] * a * b;
      bb += weights[i] * b * b;
      a1 += weights[i] * a;
      b1 += weights[i] * b;
    }
    const double determinant = aa * bb - ab * ab;
    if (!(determinant > 0)) break;
    fit.alpha_us = std::max(0.0, (a1 * bb - b1 * ab) / determinant);
    fit.us_per_byte = std::max(0.0, fit.alpha_us > 0 ? (b1 * aa - a1 * ab) / determinant : b1 / bb);
    for (std::size_t i = 0; i < samples.size(); ++i)
      weights[i] = 1 / std::max(kLeastError, std::abs(fit.Micros(samples[i].bytes) / samples[i].us - 1));
  }
  if (fit.alpha_us == 0 && fit.us_per_byte == 0) fit.alpha_us = samples.front().us;
  return fit;
}

double CopyMicros(const std::vector<Knot>& knots, sim::Bytes bytes) {
  const auto above = std::ranges::upper_bound(knots, bytes, {}, &Knot::bytes);
  if (above == knots.begin()) return Between(knots[0], knots[1], bytes);
  if (above == knots.end())
    return std::max(knots.back().us, Between(*(knots.end() - 2), knots.back(), bytes));
  return Between(*(above - 1), *above, bytes);
}

CopyFit FitCopies(const std::string& kind, std::vector<CopySample> samples) {
  samples = Merged(kind, samples);
  CopyFit fit;
  for (const CopySample& sample : samples) fit.points.push_back({.sample = sample});
  fit.alpha_beta = FitAlphaBeta(samples);
  fit.link.kind = kind;
  fit.link.knots = FitKnots(samples, &fit.points);
  RaiseFlatEnd(fit.link.knots);
  fit.link.bandwidth = BandwidthOf(samples, fit.link.knots);
  HoldOut(samples, &fit.points);
  std::vector<std::pair<double, double>> held_out;
  std::vector<double> spreads;
  for (CopyPoint& point : fit.points) {
    point.fitted_us = CopyMicros(fit.link.knots, point.sample.bytes);
    spreads.push_back(point.sample.spread);
    if (point.held_out_us > 0) held_out.emplace_back(point.sample.us, point.held_out_us);
  }
  fit.link.evidence = {.samples = static_cast<std::int64_t>(samples.size()),
                       .spread = Rounded(Quantile(spreads, 0.5)),
                       .fit_error = Rounded(RmsLog(held_out)),
                       .range = std::pair(static_cast<double>(samples.front().bytes),
                                          static_cast<double>(samples.back().bytes))};
  return fit;
}

}  // namespace stowplan::cost_models
