#include "cost_models/calibration/op_fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "cost_models/calibration/efficiency_fit.h"
#include "cost_models/calibration/errors.h"
#include "cost_models/calibration/graph_op_fit.h"
#include "cost_models/calibration/line_fit.h"
#include "cost_models/calibration/probe_graph.h"
#include "cost_models/parameters/ratio_curve.h"

namespace stowplan::cost_models {
namespace {

constexpr std::size_t kLeastPoints = 5;  // of a curve
constexpr int kLineFolds = 5;
constexpr int kMostWorkloadFolds = 16;  // of more workloads several are left out together

struct Probe {
  ProbedWork work;
  OpPoint point;
  std::string signature;
  Repeats repeats;
  int group = 0;  // of its op and shape
};

class OpFitter {
 public:
  OpFitter(const Observations& observed, sim::DeviceClass device_class, const std::string& kind,
           const Catalogue& catalogue, const OpFitOptions& options)
      : observed_(observed), device_class_(device_class), catalogue_(catalogue), options_(options) {
    fit_.kind = fit_.parameters.kind = kind;
    sheet_ = catalogue.FindSheet(kind);
    if (device_class != sim::DeviceClass::kCpu)
      tf32_ = options.tf32.value_or(observed.tf32);  // CPUs have no TF32
  }

  OpFit Make() {
    Collect();
    if (!sheet_->HasRates()) {
      if (!probes_.empty() && device_class_ != sim::DeviceClass::kCpu) {
        fit_.notes.push_back(
            fmt::format("the catalogue has no rates of '{}', so that its ops have table entries and no "
                        "curves; --kind {}=KIND "
                        "names one that has",
                        fit_.kind, sim::ToString(device_class_)));
      }
    } else if (!probes_.empty()) {
      if (sheet_->peak_tf32 > 0) fit_.parameters.tf32 = tf32_;
      FitEfficiencies();
    }
    if (device_class_ == sim::DeviceClass::kCpu) FitLines();
    FitClasses();
    EnterGraphOps(observed_, device_class_, options_, &fit_);
    NameMissingClasses();
    return std::move(fit_);
  }

 private:
  void Collect() {
    std::map<std::string, int> of_no_type, other_format, too_short;
    std::map<std::string, int> groups;
    for (const ObservedOp& op : observed_.ops) {
      if (op.device_class != device_class_) continue;
      const auto graph = GraphOf(op);
      if (!graph) {
        ++of_no_type[op.op];
        continue;
      }
      Probe probe;
      probe.work = {graph->graph, WorkOf(*graph->graph, graph->op), 0};
      const bool contraction = IsContraction(probe.work.work.op_class);
      if (contraction && !Stands(op.format, probe.work.work.op_class)) {
        ++other_format[op.op + " in " + op.format];
        continue;
      }
      probe.repeats = TimeAlone(op.hot, op.cold, device_class_, observed_, options_);
      if (probe.repeats.median_us <= 0) {
        ++too_short[op.op];
        continue;
      }
      probe.signature = Signature(*graph->graph, graph->op);
      std::string shape = op.op;
      for (const auto& [name, size] : op.shape) shape += fmt::format(" {}={}", name, size);
      probe.group = groups.emplace(shape, static_cast<int>(groups.size())).first->second;
      probe.work.measured_us = Rounded(probe.repeats.median_us);
      probe.point = {.label = LabelOf(op),
                     .workload = op.workload,
                     .work = contraction ? probe.work.work.flops : probe.work.work.bytes,
                     .measured_us = probe.work.measured_us};
      probes_.push_back(probe);
      if (!graph->recurrent_too) continue;
      probe.work.work.op_class = OpClass::kRecurrentGemm;
      borrowed_.push_back(std::move(probe));
    }
    Note(of_no_type, "no op of a graph does the same by itself");
    Note(too_short, "shorter than the clock tells");
    Note(other_format, "f32 ops of the class run in the other mode (--tf32)");
  }

  // Of the two ways to compute in f32 one is what ops of the class do.
  bool Stands(const std::string& format, OpClass op_class) const {
    if (format != "f32" && format != "tf32") return true;
    return (format == "tf32") == tf32_[static_cast<std::size_t>(op_class)];
  }

  void Note(const std::map<std::string, int>& counts, const std::string& why) {
    for (const auto& [op, count] : counts)
      fit_.notes.push_back(fmt::format("{}: {} rows of {} left out: {}", fit_.kind, count, op, why));
  }

  void FitEfficiencies() {
    const RooflineOptions roofline{.tf32 = fit_.parameters.tf32};
    const ClassEfficiency start = DefaultEfficiency(catalogue_, device_class_);
    std::vector<ProbedWork> works;
    for (const auto* list : {&probes_, &borrowed_})
      for (const Probe& probe : *list) works.push_back(probe.work);
    fit_.parameters.efficiency = FitEfficiency(works, *sheet_, start, catalogue_.Tiles(), roofline);
    ClassEfficiency fitted = start;
    for (const auto& [op_class, number] : fit_.parameters.efficiency)
      fitted[static_cast<std::size_t>(op_class)] = number.value;
    for (auto* list : {&probes_, &borrowed_}) {
      for (Probe& probe : *list) {
        const auto price = [&](const ClassEfficiency& efficiency) {
          return RooflineMicros(probe.work.work, *sheet_, efficiency, catalogue_.Tiles(), roofline);
        };
        probe.point.structural_us = price(start);
        probe.point.analytic_us = price(fitted);
      }
    }
  }

  void FitClasses() {
    std::set<std::string> signatures;
    std::map<std::pair<OpClass, std::string>, std::vector<const Probe*>> classes;
    for (const auto* list : {&probes_, &borrowed_}) {
      for (const Probe& probe : *list) {
        classes[{probe.work.work.op_class, std::string(probe.work.work.dtype)}].push_back(&probe);
      }
    }
    for (const auto& [key, probes] : classes) {
      ClassFit fit{.op_class = key.first, .dtype = key.second};
      fit.borrowed = key.first == OpClass::kRecurrentGemm;
      for (const Probe* probe : probes) fit.points.push_back(probe->point);
      if (!fit.borrowed) {
        for (const Probe* probe : probes) fit.table_entries += AddEntry(*probe, &signatures) ? 1 : 0;
      }
      if (device_class_ == sim::DeviceClass::kCpu) {
        fit.has_curve =
            std::ranges::any_of(fit.points, [](const OpPoint& point) { return point.fitted_us > 0; });
      } else if (sheet_->HasRates()) {
        FitCurve(probes, &fit);
      }
      fit_.classes.push_back(std::move(fit));
    }
    std::ranges::sort(fit_.table, {}, &TableEntry::signature);
    if (!fit_.parameters.curves.empty())
      fit_.parameters.structural = StructuralFingerprint(catalogue_, fit_.kind);
  }

  // Of all families at once, since they share a cache.
  void FitLines() {
    std::map<std::string, int> workloads;
    for (const Probe& probe : probes_)
      if (!probe.point.workload.empty()) workloads.emplace(probe.point.workload, 0);
    int next = 0;
    for (auto& [name, number] : workloads) number = next++;
    std::vector<LineSample> by_shape, by_workload;
    for (const Probe& probe : probes_) {
      by_shape.push_back({probe.work.work, probe.point.measured_us, probe.repeats.spread(), probe.group});
      by_workload.push_back(by_shape.back());
      by_workload.back().group = probe.point.workload.empty() ? -1 : workloads[probe.point.workload];
    }
    fit_.parameters.cpu_lines = FitCpuLines(by_shape);
    const CpuLines& lines = fit_.parameters.cpu_lines;
    const std::vector<double> held_out = HeldOutLineMicros(by_shape, kLineFolds),
                              others = HeldOutLineMicros(by_workload,
                                                         next < 2 ? 0 : std::min(next, kMostWorkloadFolds));
    for (std::size_t i = 0; i < probes_.size(); ++i) {
      OpPoint& point = probes_[i].point;
      const OpWork& work = probes_[i].work.work;
      const CpuLine* const line = lines.Find(work);
      if (line != nullptr) point.fitted_us = LineMicros(*line, lines.cache_bytes, work);
      point.held_out_us = held_out[i];
      point.other_workloads_us = others[i];
    }
  }

  bool AddEntry(const Probe& probe, std::set<std::string>* signatures) {
    if (!signatures->insert(probe.signature).second) {
      fit_.notes.push_back(fmt::format("{}: {} was measured twice; the first stands in the table", fit_.kind,
                                       probe.point.label));
      return false;
    }
    const double us = probe.point.measured_us;
    fit_.table.push_back({.kind = fit_.kind,
                          .signature = probe.signature,
                          .us = us,
                          .low_us = std::min(us, Rounded(probe.repeats.low_us)),
                          .high_us = std::max(us, Rounded(probe.repeats.high_us)),
                          .samples = probe.repeats.count});
    return true;
  }

  static RatioSample SampleOf(const Probe& probe) {
    return {.structural_us = probe.point.structural_us,
            .measured_us = probe.point.measured_us,
            .work = probe.point.work,
            .spread = probe.repeats.spread(),
            .group = probe.group};
  }

  void FitCurve(const std::vector<const Probe*>& probes, ClassFit* fit) {
    std::vector<RatioSample> samples;
    std::set<double> times;
    for (const Probe* probe : probes) {
      samples.push_back(SampleOf(*probe));
      times.insert(Rounded(samples.back().structural_us));
    }
    const std::string name = std::string(ToString(fit->op_class)) + " in " + fit->dtype;
    if (samples.size() < kLeastPoints || times.size() < 2) {
      fit_.notes.push_back(
          fmt::format("{}: {} was measured at {} sizes, of which no curve is made (wanted: {})", fit_.kind,
                      name, times.size(), kLeastPoints));
      return;
    }
    RatioCurve curve = FitRatioCurve(fit->op_class, samples);
    curve.dtype = fit->dtype;
    const std::vector<double> held_out = HeldOutMicros(samples);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      fit->points[i].fitted_us = EvaluateCurve(curve, samples[i].structural_us).us;
      fit->points[i].held_out_us = held_out[i];
    }
    LeaveWorkloadsOut(probes, samples, fit);
    fit->has_curve = true;
    fit_.parameters.curves.push_back(std::move(curve));
  }

  static void LeaveWorkloadsOut(const std::vector<const Probe*>& probes,
                                const std::vector<RatioSample>& samples, ClassFit* fit) {
    std::set<std::string> workloads;
    for (const Probe* probe : probes)
      if (!probe->point.workload.empty()) workloads.insert(probe->point.workload);
    if (workloads.size() < 2) return;
    for (const std::string& left_out : workloads) {
      std::vector<RatioSample> rest;
      for (std::size_t i = 0; i < probes.size(); ++i)
        if (probes[i]->point.workload != left_out) rest.push_back(samples[i]);
      std::set<double> times;
      for (const RatioSample& sample : rest) times.insert(Rounded(sample.structural_us));
      if (rest.size() < kLeastPoints || times.size() < 2) continue;
      const RatioCurve curve = FitRatioCurve(fit->op_class, rest);
      for (std::size_t i = 0; i < probes.size(); ++i) {
        if (probes[i]->point.workload == left_out)
          fit->points[i].other_workloads_us = EvaluateCurve(curve, samples[i].structural_us).us;
      }
    }
  }

  void NameMissingClasses() {
    if (probes_.empty() || !sheet_->HasRates()) return;
    std::set<OpClass> seen;
    for (const ClassFit& fit : fit_.classes) seen.insert(fit.op_class);
    std::vector<std::string> missing;
    for (int i = 0; i < kOpClasses; ++i) {
      const auto op_class = static_cast<OpClass>(i);
      if (!seen.contains(op_class)) missing.emplace_back(ToString(op_class));
    }
    if (missing.empty()) return;
    fit_.notes.push_back(fmt::format("{}: no probe of {}: the structural model alone prices them", fit_.kind,
                                     JoinNames(missing)));
  }

  const Observations& observed_;
  const sim::DeviceClass device_class_;
  const Catalogue& catalogue_;
  OpFitOptions options_;
  Tf32Classes tf32_;
  const DeviceSheet* sheet_ = nullptr;
  std::vector<Probe> probes_;
  std::vector<Probe> borrowed_;  // those of gemm, as recurrent_gemm
  OpFit fit_;
};

}  // namespace

OpFit FitOps(const Observations& observed, sim::DeviceClass device_class, const std::string& kind,
             const Catalogue& catalogue, const OpFitOptions& options) {
  return OpFitter(observed, device_class, kind, catalogue, options).Make();
}

}  // namespace stowplan::cost_models
