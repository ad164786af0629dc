#include "cost_models/calibration/host_fit.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "cost_models/calibration/copy_fit.h"
#include "cost_models/calibration/errors.h"
#include "sim/base/statistics.h"

namespace stowplan::cost_models {
namespace {

// Issuing must leave the device this share of the time for a pair to say something about the device.
constexpr double kHostBound = 0.8;
// How much longer than the copies the pair must take for the ops to have been what was waited for.
constexpr double kOutlasted = 1.05;
constexpr double kComparable =
    0.5;  // ops so much shorter than the copies would need a rate that nobody believes

FittedNumber NumberOf(const Repeats& repeats) {
  return {Rounded(repeats.median_us), {.samples = repeats.count, .spread = Rounded(repeats.spread())}};
}

// With rate c while both run, the shorter takes short / c and the rest of the longer its own time:
// both = short / c + (long - short).
double RateOfCompute(double first, double second, double both) {
  const double shorter = std::min(first, second), rest = std::abs(first - second);
  return both > rest ? std::min(1.0, shorter / (both - rest)) : 1.0;
}
double BothOfCompute(double first, double second, double rate) {
  return std::min(first, second) / rate + std::abs(first - second);
}

// Ops run at rate o while the copies run and alone after them: both = copies + (ops - o * copies), where ops
// outlast the copies; else ops / o < copies.
double BothWithCopy(double ops, double copies, double rate) {
  return ops / rate <= copies ? copies : copies + (ops - rate * copies);
}

class HostFitter {
 public:
  HostFitter(const IssueProbes& observed, sim::DeviceClass device_class, const std::string& kind)
      : observed_(observed), device_class_(device_class) {
    fit_.parameters.kind = kind;
  }

  HostFit Make() {
    KindParameters& made = fit_.parameters;
    if (observed_.dispatch) made.dispatch_us = NumberOf(*observed_.dispatch);
    if (observed_.launch_to_start) made.launch_to_start_us = NumberOf(*observed_.launch_to_start);
    if (observed_.kernel_gap) made.kernel_gap_us = NumberOf(*observed_.kernel_gap);
    if (observed_.nodes.size() >= 2) made.graph_node_us = GraphNode();
    for (const ObservedPair& pair : observed_.pairs) fit_.pairs.push_back(Look(pair));
    FitRates();
    if (device_class_ == sim::DeviceClass::kCpu) {
      // Of what was not probed at all nothing is said: a host beside an accelerator is no device of its own.
      if (!observed_.pairs.empty() && !made.overlap_copy)
        Missing("ops beside copies, at both ends of them, in which the ops outlast the copies",
                "`overlap_copy: auto` is refused");
      return std::move(fit_);
    }
    if (!observed_.dispatch)
      Missing("what launching costs", "`dispatch: {cost: auto}` stays the catalogue's");
    if (!observed_.kernel_gap) Missing("the gap between kernels", "op times lack it");
    if (observed_.pairs.empty())
      Missing("two streams at once", "`concurrency: auto` and `overlap_copy: auto` are refused");
    return std::move(fit_);
  }

 private:
  void Missing(const std::string& what, const std::string& result) {
    fit_.notes.push_back(fmt::format("{}: no probe of {}: {}", fit_.parameters.kind, what, result));
  }

  // What a replay costs once and for each node: latency and bandwidth in other words.
  FittedNumber GraphNode() const {
    std::vector<CopySample> totals;
    std::vector<double> spreads;
    for (const ObservedNodes& row : observed_.nodes) {
      const double us = row.replay.median_us * static_cast<double>(row.nodes);
      totals.push_back({row.nodes, std::max(us, 1e-6), row.replay.spread()});
      spreads.push_back(row.replay.spread());
    }
    const AlphaBeta line = FitAlphaBeta(totals);
    std::vector<std::pair<double, double>> pairs;
    for (const CopySample& total : totals) pairs.emplace_back(total.us, line.Micros(total.bytes));
    return {Rounded(line.us_per_byte),
            {.samples = static_cast<std::int64_t>(totals.size()),
             .spread = Rounded(Quantile(spreads, 0.5)),
             .fit_error = Rounded(RmsLog(pairs)),
             .range = std::pair(static_cast<double>(totals.front().bytes),
                                static_cast<double>(totals.back().bytes))}};
  }

  PairFit Look(const ObservedPair& pair) const {
    PairFit look{.name = pair.name, .with_copy = pair.with_copy, .measured_us = pair.both.median_us};
    const double first = pair.first.median_us, second = pair.second.median_us, both = pair.both.median_us;
    const double issue = observed_.kernel_launch ? observed_.kernel_launch->median_us : 0;
    if (!(first > 0 && second > 0 && both > 0)) {
      look.why_not = "took no time";
    } else if (2 * static_cast<double>(pair.calls) * issue > kHostBound * both) {
      look.why_not = "the host launches no faster";
    } else if (!pair.with_copy) {
      look.rate = RateOfCompute(first, second, both);
    } else if (first < kComparable * second || both < kOutlasted * second) {
      look.why_not = "the copies outlast the ops";
    } else {
      look.rate = std::clamp(1 - (both - first) / second, 0.01, 1.0);
    }
    return look;
  }

  // Of all pairs that say something the median; of CPU devices of each end, then their mean, since one rate stands for
  // both. The other pairs are predicted with it too.
  std::optional<FittedNumber> Rate(bool with_copy) {
    std::array<std::vector<double>, 3> rates;  // by end
    std::vector<double> spreads;
    for (std::size_t i = 0; i < fit_.pairs.size(); ++i) {
      if (fit_.pairs[i].with_copy != with_copy || fit_.pairs[i].rate <= 0) continue;
      rates[static_cast<std::size_t>(observed_.pairs[i].end)].push_back(fit_.pairs[i].rate);
      spreads.push_back(observed_.pairs[i].both.spread());
    }
    const auto& [any, receivers, senders] = rates;
    if (any.empty() && (receivers.empty() || senders.empty())) return std::nullopt;
    FittedNumber number{
        Rounded(any.empty() ? (Quantile(receivers, 0.5) + Quantile(senders, 0.5)) / 2 : Quantile(any, 0.5)),
        {}};
    std::vector<std::pair<double, double>> pairs;
    for (std::size_t i = 0; i < fit_.pairs.size(); ++i) {
      PairFit& pair = fit_.pairs[i];
      if (pair.with_copy != with_copy || pair.rate <= 0) continue;
      const double first = observed_.pairs[i].first.median_us, second = observed_.pairs[i].second.median_us;
      pair.predicted_us =
          with_copy ? BothWithCopy(first, second, number.value) : BothOfCompute(first, second, number.value);
      pairs.emplace_back(pair.measured_us, pair.predicted_us);
    }
    number.evidence = {.samples = static_cast<std::int64_t>(spreads.size()),
                       .spread = Rounded(Quantile(spreads, 0.5)),
                       .fit_error = Rounded(RmsLog(pairs))};
    return number;
  }

  void FitRates() {
    if (const auto rate = Rate(false))
      fit_.parameters.concurrency = Concurrency{{1, rate->value}, rate->evidence};
    fit_.parameters.overlap_copy = Rate(true);
    if (device_class_ == sim::DeviceClass::kCpu) return;
    const auto recorded = [&](bool with_copy) {
      return std::ranges::any_of(fit_.pairs,
                                 [&](const PairFit& pair) { return pair.with_copy == with_copy; });
    };
    if (recorded(false) && !fit_.parameters.concurrency)
      Missing("two streams of ops that says what they take from each other",
              "`concurrency: auto` is refused");
    if (recorded(true) && !fit_.parameters.overlap_copy)
      Missing("ops beside copies in which the ops outlast the copies", "`overlap_copy: auto` is refused");
  }

  const IssueProbes& observed_;
  const sim::DeviceClass device_class_;
  HostFit fit_;
};

}  // namespace

HostFit FitHost(const IssueProbes& observed, sim::DeviceClass device_class, const std::string& kind) {
  return HostFitter(observed, device_class, kind).Make();
}

}  // namespace stowplan::cost_models
