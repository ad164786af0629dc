#include "cli/calibrate/report.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "output/console.h"

namespace stowplan::cli {
namespace {

using namespace cost_models;
using Pairs = std::vector<std::pair<double, double>>;

std::string Percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string Micros(double us) {
  return fmt::format("{:.4g}", us);
}

// Work as a power of ten with its unit left out: flops of contractions, bytes of others.
std::string RangeText(const std::pair<double, double>& range) {
  return fmt::format("{:.1e} – {:.1e}", range.first, range.second);
}

std::string Tf32Text(const Tf32Classes& tf32) {
  if (tf32.none()) return "";
  if (tf32 == AllContractions()) return "; f32 contractions in TF32";
  return tf32 == Convolutions() ? "; f32 convolutions in TF32, products in f32" : "; some f32 ops in TF32";
}

std::string EvidenceText(const Evidence& evidence) {
  return fmt::format("n {}, spread {}, fit error {}", evidence.samples, Percent(evidence.spread),
                     Percent(evidence.fit_error));
}

void AddErrors(const Pairs& pairs, std::vector<std::string>* row) {
  const ErrorSummary errors = Errors(pairs);
  if (errors.n == 0) {
    row->insert(row->end(), {"–", "–", "–", "–"});
    return;
  }
  for (const double share : {errors.mape, errors.median, errors.p95, errors.time_weighted})
    row->push_back(Percent(share));
}

Pairs PairsOf(const std::vector<OpPoint>& points, double OpPoint::*predicted) {
  Pairs pairs;
  for (const OpPoint& point : points)
    if (point.*predicted > 0) pairs.emplace_back(point.measured_us, point.*predicted);
  return pairs;
}

output::ReportSection OpSection(const CalibrationResult& result) {
  output::ReportSection section{.title = "Op times, each shape predicted by curves that have not seen it",
                                .header = {"kind", "class", "format", "tier", "n", "entries", "MAPE",
                                           "median", "p95", "time-weighted", "structural", "work"},
                                .left_columns = 4};
  Pairs all;
  for (const OpFit& fit : result.ops) {
    for (const ClassFit& one : fit.classes) {
      std::pair<double, double> range = {INFINITY, 0};
      for (const OpPoint& point : one.points)
        range = {std::min(range.first, point.work), std::max(range.second, point.work)};
      const Pairs pairs = PairsOf(one.points, &OpPoint::held_out_us);
      if (!one.borrowed) all.insert(all.end(), pairs.begin(), pairs.end());
      std::vector<std::string> row = {fit.kind,
                                      one.borrowed ? "recurrent_gemm (of gemm)" : ToString(one.op_class),
                                      one.dtype,
                                      one.has_curve ? (one.table_entries > 0 ? "A, B" : "B") : "A",
                                      std::to_string(one.points.size()),
                                      std::to_string(one.table_entries)};
      AddErrors(pairs, &row);
      const ErrorSummary structural = Errors(PairsOf(one.points, &OpPoint::analytic_us));
      row.push_back(structural.n > 0 ? Percent(structural.mape) : "–");
      row.push_back(RangeText(range));
      section.rows.push_back(std::move(row));
    }
  }
  if (all.empty()) return section;
  std::vector<std::string> row = {"all", "", "", "", std::to_string(all.size()), ""};
  AddErrors(all, &row);
  section.rows.push_back(std::move(row));
  return section;
}

output::ReportSection WorkloadSection(const CalibrationResult& result) {
  output::ReportSection section{.title = "Op times, each workload predicted from the others",
                                .header = {"workload", "n", "MAPE", "median", "p95", "time-weighted"}};
  std::map<std::string, Pairs> workloads;
  for (const OpFit& fit : result.ops) {
    for (const ClassFit& one : fit.classes) {
      if (one.borrowed) continue;
      for (const OpPoint& point : one.points)
        if (point.other_workloads_us > 0)
          workloads[point.workload].emplace_back(point.measured_us, point.other_workloads_us);
    }
  }
  for (const auto& [workload, pairs] : workloads) {
    std::vector<std::string> row = {workload, std::to_string(pairs.size())};
    AddErrors(pairs, &row);
    section.rows.push_back(std::move(row));
  }
  return section;
}

output::ReportSection EfficiencySection(const CalibrationResult& result) {
  output::ReportSection section{
      .title = "Efficiencies: share of the data sheet's peak",
      .sentences = {"spread: median distance of the ops' own values. fit error: of the structural "
                    "model with this efficiency, over all ops of the class."},
      .header = {"kind", "class", "efficiency", "n", "spread", "fit error"},
      .left_columns = 2};
  for (const OpFit& fit : result.ops) {
    for (const auto& [op_class, number] : fit.parameters.efficiency) {
      section.rows.push_back({fit.kind, ToString(op_class), fmt::format("{:.3f}", number.value),
                              std::to_string(number.evidence.samples), Percent(number.evidence.spread),
                              Percent(number.evidence.fit_error)});
    }
  }
  return section;
}

output::ReportSection CopySection(const CalibrationResult& result) {
  constexpr sim::Bytes kSmall = sim::Bytes{64} << 10;
  output::ReportSection section{.title = "Copies, inner sizes predicted by knots that have not seen them",
                                .header = {"path", "sizes", "knots", "T(0) us", "of it host", "GB/s", "MAPE",
                                           "p95", "from 64 KiB", "below, worst us", "alpha-beta MAPE"}};
  for (const PathFit& path : result.paths) {
    Pairs knots, large, line;
    double worst = 0;
    for (const CopyPoint& point : path.fit.points) {
      if (point.held_out_us <= 0) continue;
      knots.emplace_back(point.sample.us, point.held_out_us);
      line.emplace_back(point.sample.us, point.alpha_beta_us);
      if (point.sample.bytes >= kSmall) {
        large.push_back(knots.back());
      } else {
        worst = std::max(worst, std::abs(point.held_out_us - point.sample.us));
      }
    }
    const LinkParameters& link = path.fit.link;
    section.rows.push_back(
        {ToString(path.path), std::to_string(path.fit.points.size()), std::to_string(link.knots.size()),
         Micros(link.knots.front().us), Micros(path.host_us),
         fmt::format("{:.3g}", static_cast<double>(link.bandwidth) / 1e9), Percent(Errors(knots).mape),
         Percent(Errors(knots).p95), Percent(Errors(large).mape), fmt::format("{:.2f}", worst),
         Percent(Errors(line).mape)});
  }
  for (const LinkParameters& link : result.parameters.links) {
    const bool is_path = std::ranges::any_of(
        result.paths, [&](const PathFit& path) { return path.fit.link.kind == link.kind; });
    if (is_path) continue;
    section.sentences.push_back(fmt::format(
        "{} is one curve for both directions: {} from what was measured in each. {}", link.kind,
        Percent(link.evidence.fit_error),
        link.both ? fmt::format("Each keeps {:.3f} of its bandwidth while the other is busy ({}).",
                                link.both->value, EvidenceText(link.both->evidence))
                  : std::string("What the other direction takes was not measured.")));
  }
  return section;
}

void AddHostRows(const KindParameters& host, output::ReportSection* section) {
  const auto add = [&](const char* name, const std::string& value, const Evidence& evidence,
                       const char* use) {
    section->rows.push_back({host.kind, name, value, std::to_string(evidence.samples),
                             Percent(evidence.spread), Percent(evidence.fit_error), use});
  };
  const auto number = [&](const char* name, const std::optional<FittedNumber>& fitted, const char* unit,
                          const char* use) {
    if (fitted) add(name, fmt::format("{:.4g}{}", fitted->value, unit), fitted->evidence, use);
  };
  number("host's time for one op", host.dispatch_us, " us", "dispatch: {cost: auto}");
  number("gap between kernels of a full queue", host.kernel_gap_us, " us", "in every op's time");
  number("start of launch to start of kernel", host.launch_to_start_us, " us",
         "nothing: an op of the simulator starts when it is issued");
  number("one more node of a CUDA graph", host.graph_node_us, " us",
         "nothing: every op is launched by itself");
  if (host.concurrency)
    add("rate of each of two ops", fmt::format("{:.3f}", host.concurrency->rates.back()),
        host.concurrency->evidence, "concurrency: auto");
  number("rate of an op beside a copy", host.overlap_copy, "", "overlap_copy: auto");
}

output::ReportSection HostSection(const CalibrationResult& result) {
  output::ReportSection section{.title = "Launching, gaps and what runs side by side",
                                .header = {"kind", "number", "value", "n", "spread", "fit error", "used as"},
                                .left_columns = 2};
  for (const HostFit& fit : result.hosts) AddHostRows(fit.parameters, &section);
  return section;
}

output::ReportSection PairSection(const CalibrationResult& result) {
  output::ReportSection section{.title = "Two at once",
                                .header = {"kind", "pair", "measured us", "predicted us", "rate"},
                                .left_columns = 2};
  for (const HostFit& host : result.hosts) {
    for (const PairFit& pair : host.pairs) {
      section.rows.push_back({host.parameters.kind, pair.name, Micros(pair.measured_us),
                              pair.predicted_us > 0 ? Micros(pair.predicted_us) : "–",
                              pair.rate > 0 ? fmt::format("{:.3f}", pair.rate) : pair.why_not});
    }
  }
  return section;
}

output::ReportSection StepSection(const CalibrationResult& result) {
  output::ReportSection section{.title = "Ops of whole steps, predicted from the probes",
                                .header = {"workload", "tier", "n", "MAPE", "median", "p95", "time-weighted"},
                                .left_columns = 2};
  for (const StepFit& step : result.steps) {
    section.sentences.push_back(fmt::format("{}: of {} of device time {}; {}", step.ops.workload,
                                            output::TimeText(step.ops.device_us),
                                            cost_models::AccountOf(step.ops), step.ops.verdict));
    std::map<std::string, Pairs> tiers;
    for (const StepPoint& point : step.points) {
      // An op counts as often as it was called.
      const auto calls = static_cast<double>(point.calls);
      for (const std::string& tier : {std::string(1, point.tier), std::string("all")})
        tiers[tier].emplace_back(calls * point.measured_us, calls * point.predicted_us);
    }
    for (const auto& [tier, pairs] : tiers) {
      std::vector<std::string> row = {step.ops.workload, tier, std::to_string(pairs.size())};
      AddErrors(pairs, &row);
      section.rows.push_back(std::move(row));
    }
  }
  return section;
}

output::ReportSection Meanings() {
  return {
      .title = "What the figures mean",
      .sentences = {
          "MAPE, median, p95: of |predicted / measured - 1| over ops or sizes. time-weighted: sum of "
          "|predicted - "
          "measured| / sum of measured, so that long ops count most.",
          "tier A: these very shapes are in the table; B: interpolated by the class's curve; the errors are "
          "those "
          "of B. structural: MAPE of the structural model with the fitted efficiencies (tier C).",
          "alpha-beta: latency and bandwidth alone, fitted to the same sizes. fit error: root mean square of "
          "ln(fitted / measured), of held-out samples for curves.",
          "All times are of ops and copies alone. How far whole steps are from measured ones is for "
          "`stowplan "
          "validate`."}};
}

// "465 table entries, 3 of them ops of graphs, 17 curves, 8 efficiencies; f32 convolutions in TF32"
std::string KindText(const CalibrationResult& result, const KindParameters& kind) {
  const auto entries = std::ranges::count(result.parameters.table, kind.kind, &TableEntry::kind);
  std::string text = fmt::format("{} table entries", entries);
  const auto fit = std::ranges::find(result.ops, kind.kind, &OpFit::kind);
  if (fit != result.ops.end() && fit->graph_entries > 0)
    text += fmt::format(" ({} of them ops of graphs)", fit->graph_entries);
  if (const std::size_t lines = kind.cpu_lines.lines.size(); lines > 0)
    return text + fmt::format(", {} line{}", lines, lines == 1 ? "" : "s");
  return text + fmt::format(", {} curves, {} efficiencies{}", kind.curves.size(), kind.efficiency.size(),
                            Tf32Text(kind.tf32));
}

}  // namespace

output::ReportPage MakeFitReport(const CalibrationResult& result) {
  const Parameters& parameters = result.parameters;
  const cost_models::Provenance& from = parameters.provenance;
  output::ReportPage report{
      .title = "Calibration of " + parameters.name,
      .facts = {{"machine", from.machine},
                {"driver", from.driver},
                {"libraries", from.library},
                {"recorded", from.date + " by revision " + from.commit},
                {"clocks as found", result.clocks.empty() ? "not told" : result.clocks}}};
  for (const KindParameters& kind : parameters.kinds)
    report.facts.emplace_back("kind " + kind.kind, KindText(result, kind));
  std::vector<std::string> links;
  for (const LinkParameters& link : parameters.links) links.push_back(link.kind);
  if (!links.empty()) report.facts.emplace_back("link kinds", fmt::format("{}", fmt::join(links, ", ")));
  if (!from.command.empty()) report.facts.emplace_back("command", from.command);

  for (output::ReportSection section :
       {OpSection(result), WorkloadSection(result), StepSection(result), EfficiencySection(result),
        CopySection(result), HostSection(result), PairSection(result)}) {
    if (!section.rows.empty()) report.sections.push_back(std::move(section));
  }
  if (!result.notes.empty())
    report.sections.push_back({.title = "Left out, and missing", .sentences = result.notes});
  report.sections.push_back(Meanings());
  return report;
}

}  // namespace stowplan::cli
