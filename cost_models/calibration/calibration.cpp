#include "cost_models/calibration/calibration.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cost_models/calibration/machine.h"
#include "cost_models/calibration/probe_graph.h"
#include "cost_models/ops/portable_math.h"
#include "cost_models/ops/roofline.h"
#include "cost_models/parameters/ratio_curve.h"
#include "sim/base/error.h"
#include "sim/base/statistics.h"

namespace stowplan::cost_models {
namespace {

// A direction is compared with itself while the other is busy where latency is at most this share of the time.
constexpr double kMostLatency = 0.05;
constexpr sim::Bytes kSmallCopy = sim::Bytes{64} << 10;

// The host's part of a copy: the call that enqueues it, which is the same for all sizes of pinned memory. Where none was
// recorded, what the host waits beyond the device for small copies. 0 for copies on the host's clock, which hold it.
double HostPartOf(const std::vector<ObservedCopy>& copies) {
  std::vector<double> calls, waits;
  for (const ObservedCopy& copy : copies) {
    if (!copy.events || copy.bytes > kSmallCopy) continue;
    if (copy.call) calls.push_back(copy.call->median_us);
    if (copy.host) waits.push_back(std::max(0.0, copy.host->median_us - copy.alone.median_us));
  }
  if (!calls.empty()) return Quantile(calls, 0.5);
  return waits.empty() ? 0 : Quantile(waits, 0.5);
}

// From the call to the last byte: a transfer of the simulator is dispatched by nobody, so it holds the host's part.
std::vector<CopySample> SamplesOf(const std::vector<ObservedCopy>& copies,
                                  const std::optional<Repeats>& event_pair) {
  std::vector<CopySample> samples;
  const double host = HostPartOf(copies);
  for (const ObservedCopy& copy : copies) {
    const double events = copy.events && event_pair ? event_pair->median_us : 0;
    const double us = copy.alone.median_us - events;
    // Below the resolution of events nothing is left to tell.
    samples.push_back({copy.bytes, host + std::max(us, 0.1 * copy.alone.median_us), copy.alone.spread()});
  }
  return samples;
}

// What each large copy keeps of its bandwidth while the other direction is busy.
std::vector<double> SharesOf(const std::vector<ObservedCopy>& copies, const CopyFit& fit) {
  std::vector<double> shares;
  const double latency = fit.link.knots.front().us;
  for (const ObservedCopy& copy : copies) {
    if (!copy.busy || copy.busy->median_us <= 0) continue;
    const double alone = copy.queued ? copy.queued->median_us : copy.alone.median_us;
    if (latency <= kMostLatency * alone) shares.push_back(std::min(1.0, alone / copy.busy->median_us));
  }
  return shares;
}

std::optional<FittedNumber> BothOf(const std::vector<double>& shares) {
  if (shares.empty()) return std::nullopt;
  FittedNumber number{Rounded(Quantile(shares, 0.5)), {.samples = static_cast<std::int64_t>(shares.size())}};
  std::vector<double> distances;
  std::vector<std::pair<double, double>> pairs;
  for (const double share : shares) {
    distances.push_back(std::abs(share / number.value - 1));
    pairs.emplace_back(share, number.value);
  }
  number.evidence.spread = Rounded(Quantile(distances, 0.5));
  number.evidence.fit_error = Rounded(RmsLog(pairs));
  return number;
}

class Calibrator {
 public:
  Calibrator(const CalibrationOptions& options, const Catalogue& catalogue)
      : options_(options), catalogue_(catalogue) {}

  CalibrationResult Make(const std::vector<NamedRecording>& probes,
                         const std::vector<NamedRecording>& steps) {
    Parameters& parameters = result_.parameters;
    CheckOneMachine(probes);
    observed_ = Observe(probes);
    kinds_ = KindsOf(probes, options_.kinds, catalogue_);
    parameters.provenance = ProvenanceOf(probes, options_.command);
    result_.clocks = ClocksText(probes);
    result_.notes = observed_.left_out;
    FitAllOps();
    FitAllCopies();
    FitAllHosts();
    std::vector<NamedRecording> sorted = steps;
    std::ranges::sort(sorted, {}, &NamedRecording::source);
    for (const NamedRecording& one : sorted) {
      CheckSteps(probes, one);
      AddSteps(one);
    }
    AddStepEntries();
    SayWhoUses();
    parameters.name =
        options_.name.empty() ? parameters.provenance.machine + ", isolated probes" : options_.name;
    if (parameters.kinds.empty() && parameters.links.empty() && parameters.table.empty())
      throw InputError("the recordings hold no probe that a parameter can be made of");
    return std::move(result_);
  }

 private:
  void FitAllOps() {
    for (const auto& [device_class, kind] : kinds_) {
      OpFit fit = FitOps(observed_, device_class, kind, catalogue_, options_.ops);
      result_.notes.insert(result_.notes.end(), fit.notes.begin(), fit.notes.end());
      auto& table = result_.parameters.table;
      table.insert(table.end(), fit.table.begin(), fit.table.end());
      if (fit.classes.empty() && fit.graph_entries == 0) continue;
      result_.parameters.kinds.push_back(fit.parameters);
      result_.ops.push_back(std::move(fit));
    }
  }

  const std::string& Gpu() const { return kinds_.at(sim::DeviceClass::kGpu); }

  // A link has one curve for both directions: of both at once the geometric mean. Each direction alone is a kind of
  // its own, for clusters with `routes`.
  void FitAllCopies() {
    FitPair({"pinned", "from and to pinned memory", "h2d", "d2h", CopyPath::kPinnedToDevice,
             CopyPath::kPinnedToHost});
    FitPair({"pageable", "from and to pageable memory", "h2d", "d2h", CopyPath::kPageableToDevice,
             CopyPath::kPageableToHost});
    if (!CopiesOf(CopyPath::kPeerThere).empty() ||
        !CopiesOf(CopyPath::kPeerBack).empty())  // a second GPU was there
      FitPair({"peer", "between two GPUs", "there", "back", CopyPath::kPeerThere, CopyPath::kPeerBack});
    if (observed_.peers_through_host)
      result_.notes.push_back(fmt::format(
          "{0}-peer: the two GPUs do not reach each other's memory; their copies went through the host",
          Gpu()));
    if (!CopiesOf(CopyPath::kOnDevice).empty()) FitPath(Gpu() + "-on-device", CopyPath::kOnDevice);
    if (!CopiesOf(CopyPath::kBetweenCpus).empty())
      FitPath(kinds_.at(sim::DeviceClass::kCpu) + "-copies", CopyPath::kBetweenCpus);
  }

  const std::vector<ObservedCopy>& CopiesOf(CopyPath path) const {
    return observed_.copies[static_cast<std::size_t>(path)];
  }

  const PathFit& FitPath(const std::string& link, CopyPath path) {
    PathFit fit{path, FitCopies(link, SamplesOf(CopiesOf(path), observed_.event_pair)),
                HostPartOf(CopiesOf(path))};
    for (const CopyPoint& point : fit.fit.points) {
      if (!point.outlier) continue;
      result_.notes.push_back(
          fmt::format("{}: the copy of {} bytes ({:.4g} us) stands out from its neighbours and "
                      "was left out",
                      ToString(path), point.sample.bytes, point.sample.us));
    }
    result_.parameters.links.push_back(fit.fit.link);
    result_.paths.push_back(std::move(fit));
    return result_.paths.back();
  }

  // Copies one way and back, which one link kind stands for.
  struct BothWays {
    const char *link, *what, *there_name, *back_name;
    CopyPath there, back;
  };
  void FitPair(const BothWays& ways) {
    const bool there = !CopiesOf(ways.there).empty(), back = !CopiesOf(ways.back).empty();
    if (!there && !back) {
      if (kinds_.contains(sim::DeviceClass::kGpu))
        result_.notes.push_back(fmt::format("{}: no probe of copies {}", Gpu(), ways.what));
      return;
    }
    const std::string kind = Gpu() + "-" + ways.link;
    std::vector<double> shares;
    std::vector<CopyFit> fits;
    for (const auto& [path, way] :
         {std::pair(ways.there, ways.there_name), std::pair(ways.back, ways.back_name)}) {
      if (CopiesOf(path).empty()) continue;
      fits.push_back(FitPath(kind + "-" + way, path).fit);
      const std::vector<double> more = SharesOf(CopiesOf(path), fits.back());
      shares.insert(shares.end(), more.begin(), more.end());
    }
    if (fits.size() < 2) {
      result_.notes.push_back(fmt::format(
          "{}: copies {} were measured in one direction; there is no link kind {}", Gpu(), ways.what, kind));
      return;
    }
    std::vector<CopySample> mean;
    for (const CopyPoint& point : fits[0].points) {
      const auto other = std::ranges::find(fits[1].points, point.sample.bytes,
                                           [](const CopyPoint& one) { return one.sample.bytes; });
      if (other == fits[1].points.end()) continue;
      mean.push_back({point.sample.bytes, std::sqrt(point.fitted_us * other->fitted_us),
                      std::max(point.sample.spread, other->sample.spread)});
    }
    if (mean.size() < 2) return;
    LinkParameters link = FitCopies(kind, mean).link;
    // Held against what was measured in each direction, not against the mean.
    std::vector<std::pair<double, double>> pairs;
    for (const CopyFit& fit : fits) {
      for (const CopyPoint& point : fit.points)
        if (!point.outlier) pairs.emplace_back(point.sample.us, CopyMicros(link.knots, point.sample.bytes));
    }
    link.evidence.fit_error = Rounded(RmsLog(pairs));
    link.both = BothOf(shares);
    if (!link.both) {
      result_.notes.push_back(
          fmt::format("{}: no probe of copies {} in both directions at once: `both` is 1", Gpu(), ways.what));
    }
    result_.parameters.links.push_back(std::move(link));
  }

  void FitAllHosts() {
    for (const auto& [device_class, kind] : kinds_) {
      const bool accelerator = device_class == sim::DeviceClass::kGpu;
      HostFit fit = FitHost(accelerator ? observed_.accelerator : observed_.cpu, device_class, kind);
      result_.notes.insert(result_.notes.end(), fit.notes.begin(), fit.notes.end());
      if (!fit.empty()) AddHost(fit.parameters);
      if (accelerator || !fit.empty()) result_.hosts.push_back(std::move(fit));
    }
  }

  void AddHost(const KindParameters& host) {
    auto& kinds = result_.parameters.kinds;
    auto kind = std::ranges::find(kinds, host.kind, &KindParameters::kind);
    if (kind == kinds.end()) {
      kinds.push_back({.kind = host.kind});
      kind = kinds.end() - 1;
    }
    kind->dispatch_us = host.dispatch_us;
    kind->launch_to_start_us = host.launch_to_start_us;
    kind->kernel_gap_us = host.kernel_gap_us;
    kind->graph_node_us = host.graph_node_us;
    kind->concurrency = host.concurrency;
    kind->overlap_copy = host.overlap_copy;
  }

  // A trace of a framework says nothing of the machine: it may be held against, and gives no entry.
  void CheckSteps(const std::vector<NamedRecording>& probes, const NamedRecording& steps) const {
    if (!steps.recording.machine.empty()) CheckSameHost(probes, steps);
    const bool told = TellsGpu(steps.recording);
    if (told || !options_.steps_in_table) return;
    throw InputError(steps.source +
                     ": does not say which GPU it was recorded with, so that its times may not stand in the "
                     "table; leave out "
                     "--steps-in-table");
  }

  // A fit that nobody's cluster names is used by nobody, and nothing would say so.
  void SayWhoUses() {
    const auto cpu = kinds_.find(sim::DeviceClass::kCpu);
    if (options_.kinds.contains("cpu") || result_.parameters.Find(cpu->second) == nullptr) return;
    result_.notes.push_back(fmt::format(
        "devices of `kind: {0}` alone use what was measured of the CPU; where clusters call it otherwise "
        "(kind: cpu-broadwell), calibrate with --kind cpu=cpu-broadwell",
        cpu->second));
  }

  void AddSteps(const NamedRecording& one) {
    if (!kinds_.contains(sim::DeviceClass::kGpu))
      throw InputError(one.source + ": steps of a GPU need probes of a GPU to be held against");
    for (const auto& [name, part] : one.recording.parts) {
      if (!part.activity) {
        result_.notes.push_back(fmt::format("{}: {}: {}", one.source, name, part.reason));
        continue;
      }
      StepFit fit{.ops = OpsOfSteps(one.source, *part.activity, Transition())};
      for (const StepOp& op : fit.ops.ops) AddStepOp(op, &fit);
      result_.steps.push_back(std::move(fit));
    }
  }

  double Transition() const {
    return observed_.accelerator.kernel_gap ? observed_.accelerator.kernel_gap->median_us : 0;
  }

  void AddStepOp(const StepOp& step, StepFit* fit) {
    const ObservedOp& op = step.op;
    const auto graph = GraphOf(op), second = step.second ? GraphOf(*step.second) : std::nullopt;
    if (!graph || (step.second && !second)) return;
    const std::string signature = Signature(*graph->graph, graph->op);
    StepPoint point{.measured_us = op.hot.median_us, .calls = op.hot.count};
    point.label = signature;
    std::tie(point.tier, point.predicted_us) = Predict(signature, WorkOf(*graph->graph, graph->op));
    if (second) {
      const std::string other = Signature(*second->graph, second->op);
      const auto [tier, us] = Predict(other, WorkOf(*second->graph, second->op));
      point.label += " and " + other;
      point.tier = std::max(point.tier, tier);
      point.predicted_us = us > 0 && point.predicted_us > 0 ? point.predicted_us + us : 0;
    }
    if (point.predicted_us > 0) fit->points.push_back(point);
    if (!options_.steps_in_table || point.tier == 'A' || second) return;
    const double us = Rounded(op.hot.median_us);
    step_entries_.emplace(signature, TableEntry{.kind = Gpu(),
                                                .signature = signature,
                                                .us = us,
                                                .low_us = std::min(us, Rounded(op.hot.low_us)),
                                                .high_us = std::max(us, Rounded(op.hot.high_us)),
                                                .samples = op.hot.count});
  }

  // Behind all predictions, which must not have seen them.
  void AddStepEntries() {
    auto& table = result_.parameters.table;
    for (const auto& [signature, entry] : step_entries_) table.push_back(entry);
    std::ranges::sort(table, {}, [](const TableEntry& one) { return std::tie(one.kind, one.signature); });
  }

  // As chain(table,fitted,analytic) of the parameters would; 0 where the kind has no rates.
  std::pair<char, double> Predict(const std::string& signature, const OpWork& work) const {
    const auto entry = std::ranges::find_if(result_.parameters.table, [&](const TableEntry& one) {
      return one.kind == Gpu() && one.signature == signature;
    });
    if (entry != result_.parameters.table.end()) return {'A', entry->us};
    const DeviceSheet& sheet = *catalogue_.FindSheet(Gpu());
    const KindParameters* kind = result_.parameters.Find(Gpu());
    if (!sheet.HasRates() || kind == nullptr) return {'C', 0};
    ClassEfficiency efficiency = DefaultEfficiency(catalogue_, sheet.kind.device_class);
    const RooflineOptions roofline{.tf32 = kind->tf32};
    for (const RatioCurve& curve : kind->curves) {
      if (curve.op_class != work.op_class || curve.dtype != work.dtype) continue;
      const CurveAnswer answer =
          EvaluateCurve(curve, RooflineMicros(work, sheet, efficiency, catalogue_.Tiles(), roofline));
      return {answer.inside ? 'B' : 'C', answer.us};
    }
    for (const auto& [op_class, number] : kind->efficiency)
      efficiency[static_cast<std::size_t>(op_class)] = number.value;
    return {'C', RooflineMicros(work, sheet, efficiency, catalogue_.Tiles(), roofline)};
  }

  const CalibrationOptions& options_;
  const Catalogue& catalogue_;
  Observations observed_;
  std::map<sim::DeviceClass, std::string> kinds_;
  std::map<std::string, TableEntry> step_entries_;  // of the first recording that has the signature
  CalibrationResult result_;
};

}  // namespace

CalibrationResult Calibrate(const std::vector<NamedRecording>& probes,
                            const std::vector<NamedRecording>& steps, const CalibrationOptions& options,
                            const Catalogue& catalogue) {
  return Calibrator(options, catalogue).Make(probes, steps);
}

}  // namespace stowplan::cost_models
