// fitted(file=PATH): the structural model, corrected by measurements of the same class on the same kind.
//
// For each kind and op class the file holds a non-decreasing curve from structural time (roofline.h with the
// catalogue's own efficiencies) to measured time, linear between knots in logarithms: between knots the ratio
// of the two is interpolated, and the answer grows with the work because both steps do. Tier B between the
// outermost knots, with the interval that held-out samples gave. Outside, the outermost ratio is kept and the
// answer is tier C. A curve may be of one number format; one without stands for the others.
//
// A CPU has lines in place of curves (cpu_line.h), which need no structural model: tier B within the bytes that were
// measured, tier C outside.
//
// Tables by shape (ratio_tables.h) stand in place of a curve where the file has them. Without a file the model has
// those that ship with stowplan (data/prices.json): what others measured, of the kinds they measured, and of all of them
// together for any other GPU whose sheet has rates, but those that published tables rest on (DeviceSheet::structural).
// Tier B for a kind that was measured, within the measured work; tier C for others, with the interval that GPUs left out
// of the fit gave.
//
// Rows in f32 are of PyTorch's defaults, convolutions on TF32 units where there are any and products not. Ops that run
// otherwise (OpWork::tf32) are left to the next model. So are convolutions of cards with such units where only rows of
// other GPUs could price them: rows of cards without say nothing of them.
//
// Curves belong to the structural model they were made with, tables to the rates of the data sheet; a file made with
// other rates or efficiencies is refused. Classes and kinds without either are left to the next model of a chain.

#include <algorithm>
#include <map>
#include <span>

#include <fmt/format.h>

#include "cost_models/models/models.h"
#include "cost_models/ops/roofline.h"
#include "cost_models/parameters/ratio_curve.h"
#include "cost_models/parameters/ratio_tables.h"
#include "sim/base/error.h"

namespace stowplan::cost_models {
namespace {

class Fitted : public sim::CostModel, public ParameterUser, public OriginTeller {
 public:
  Fitted(const Spec& spec, const Catalogue& catalogue) : catalogue_(catalogue) {
    const Settings read(spec, FileSettings());
    const std::string file = read.Text("file");
    name_ = read.Canonical();
    if (file.empty()) return;  // ShippedPrices(), once a device asks
    parameters_ = std::make_shared<const Parameters>(ReadParameters(file, catalogue));
    for (const KindParameters& kind : parameters_->kinds) {
      if (!kind.curves.empty()) AddKind(kind);
      if (!kind.tables.empty()) CheckSheet(kind);
      if (!kind.cpu_lines.lines.empty()) lines_.emplace(kind.kind, &kind.cpu_lines);
    }
  }

  std::string name() const override { return name_; }

  std::vector<std::shared_ptr<const Parameters>> UsedParameters() const override {
    if (parameters_ == nullptr) return {};
    return {parameters_};
  }

  std::string OriginOf(const sim::OpGraph& graph, sim::OpIndex op, const sim::Device& device) const override {
    const auto tables = TablesFor(device);
    const OpWork work = KernelsOf(graph, op).front();
    const RatioTables* found = tables ? TableOf(*tables, work) : nullptr;
    if (found == nullptr) return {};
    const Provenance& from = tables->from->provenance;
    const bool borrowed = ShapeFamilyOf(work).borrowed;
    std::string error = borrowed ? "borrowed from ops like it, error not known"
                                 : fmt::format("error {:.0f} %", 100 * found->held_out_error);
    if (!borrowed && !tables->kind.empty() && tables->kind != device.kind) error += " there";
    return fmt::format("{} {} ({}, {}): {} of {}, {}",
                       from.source.empty() ? "measured on" : "measured by others on",
                       WhoseOf(*tables, device), from.source.empty() ? from.machine : from.source, from.date,
                       found->family, found->dtype, error);
  }

  std::optional<sim::Price> Predict(const sim::OpGraph& graph, sim::OpIndex op,
                                    const sim::Device& device) const override {
    // All kernels of an op or none: the next model of a chain prices whole ops.
    std::optional<sim::Price> sum;
    for (const OpWork& work : KernelsOf(graph, op)) {
      const auto one = PriceOf(work, device);
      if (!one) return std::nullopt;
      sum = sum ? sim::Price{sum->us + one->us, std::max(sum->tier, one->tier), sum->low_us + one->low_us,
                             sum->high_us + one->high_us}
                : *one;
    }
    return sum;
  }

 private:
  std::optional<sim::Price> PriceOf(const OpWork& work, const sim::Device& device) const {
    if (const auto tables = TablesFor(device)) return PriceOf(*tables, work, device);
    const auto kind = kinds_.find(device.kind);
    const auto lines = lines_.find(device.kind);
    if (kind == kinds_.end() && lines == lines_.end()) return std::nullopt;
    if (work.op_class == OpClass::kNothing) return std::nullopt;
    if (lines != lines_.end()) {
      if (const CpuLine* line = lines->second->Find(work)) return PriceOf(*line, *lines->second, work);
    }
    if (kind == kinds_.end()) return std::nullopt;
    const bool measured_in_tf32 = kind->second.tf32[static_cast<std::size_t>(work.op_class)];
    if (work.dtype == "f32" && work.tf32.value_or(measured_in_tf32) != measured_in_tf32) return std::nullopt;
    const RatioCurve* curve = FindCurve(kind->second, work);
    if (curve == nullptr) return std::nullopt;
    const double structural = RooflineMicros(work, *kind->second.sheet, kind->second.efficiency,
                                             catalogue_.Tiles(), {.tf32 = kind->second.tf32});
    const CurveAnswer answer = EvaluateCurve(*curve, structural);
    if (!answer.inside) return StructuralPrice(answer.us);
    return sim::Price{answer.us, sim::Tier::kInterpolated, answer.us * curve->low_ratio,
                      answer.us * curve->high_ratio};
  }

  struct DeviceRates {
    const DeviceSheet* sheet = nullptr;
    ClassEfficiency efficiency{};
    Tf32Classes tf32;
    const std::vector<RatioCurve>* curves = nullptr;
  };

  struct Tables {
    std::span<const RatioTables> tables;
    const DeviceSheet* sheet = nullptr;
    std::string_view kind;  // whose they are, or of its chip; empty: of all kinds together
    const Parameters* from = nullptr;
  };

  std::optional<Tables> TablesFor(const sim::Device& device) const {
    const DeviceSheet* sheet = catalogue_.FindSheet(device.kind);
    if (sheet == nullptr || !sheet->HasRates() || sheet->multiprocessors == 0) return std::nullopt;
    if (parameters_ == nullptr && sheet->structural) return std::nullopt;
    const Parameters& from =
        parameters_ != nullptr ? *parameters_ : ShippedPrices(ShippedKindOf(device.kind, *sheet));
    const KindParameters* kind = from.Find(device.kind);
    if (kind == nullptr) kind = OfItsChip(*sheet, from);
    if (kind != nullptr && !kind->tables.empty()) return Tables{kind->tables, sheet, kind->kind, &from};
    if (kind != nullptr || from.any_gpu.empty()) return std::nullopt;
    return Tables{from.any_gpu, sheet, {}, &from};
  }

  // Itself, else one of its chip; empty where none was measured.
  std::string ShippedKindOf(const std::string& kind, const DeviceSheet& sheet) const {
    const std::vector<std::string>& kinds = ShippedKinds();
    if (std::ranges::find(kinds, kind) != kinds.end()) return kind;
    const auto same = std::ranges::find_if(kinds, [&](const std::string& one) {
      return !sheet.chip.empty() && catalogue_.FindSheet(one)->chip == sheet.chip;
    });
    return same != kinds.end() ? *same : "";
  }

  const KindParameters* OfItsChip(const DeviceSheet& sheet, const Parameters& from) const {
    if (sheet.chip.empty()) return nullptr;
    const auto found = std::ranges::find_if(from.kinds, [&](const KindParameters& one) {
      return !one.tables.empty() && catalogue_.FindSheet(one.kind)->chip == sheet.chip;
    });
    return found != from.kinds.end() ? &*found : nullptr;
  }

  static const RatioTables* TableOf(const Tables& tables, const OpWork& work) {
    if (work.dtype == "f32" && IsContraction(work.op_class) && tables.sheet->peak_tf32 > 0) {
      const bool measured_in_tf32 = Convolutions()[static_cast<std::size_t>(work.op_class)];
      if (work.tf32.value_or(measured_in_tf32) != measured_in_tf32) return nullptr;
      if (measured_in_tf32 && tables.kind.empty()) return nullptr;
    }
    return FindTables(tables.tables, work);
  }

  // "t4", "a100-pcie-40gb, the same chip", "other GPUs: p4 and t4"
  std::string WhoseOf(const Tables& tables, const sim::Device& device) const {
    if (!tables.kind.empty())
      return fmt::format("{}{}", tables.kind, tables.kind != device.kind ? ", the same chip" : "");
    if (parameters_ == nullptr) return "other GPUs: " + JoinNames(ShippedKinds());
    std::vector<std::string> kinds;
    for (const KindParameters& kind : parameters_->kinds)
      if (!kind.tables.empty()) kinds.push_back(kind.kind);
    return "other GPUs: " + JoinNames(kinds);
  }

  static std::optional<sim::Price> PriceOf(const Tables& tables, const OpWork& work,
                                           const sim::Device& device) {
    const RatioTables* found = TableOf(tables, work);
    if (found == nullptr) return std::nullopt;
    const double us = TablesMicros(*found, work, *tables.sheet);
    const double size = IsContraction(work.op_class) ? work.flops : work.bytes;
    const auto& range = found->evidence.range;
    const bool inside = range && size >= range->first && size <= range->second;
    const bool measured = tables.kind == device.kind && inside && !ShapeFamilyOf(work).borrowed;
    return sim::Price{us, measured ? sim::Tier::kInterpolated : sim::Tier::kStructural, us * found->low_ratio,
                      us * found->high_ratio};
  }

  static sim::Price PriceOf(const CpuLine& line, const CpuLines& lines, const OpWork& work) {
    const double us = LineMicros(line, lines.cache_bytes, work);
    const auto& range = line.evidence.range;
    if (!range || work.bytes < range->first || work.bytes > range->second) return StructuralPrice(us);
    return sim::Price{us, sim::Tier::kInterpolated, us * line.low_ratio, us * line.high_ratio};
  }

  // That of the class and number format, else that of the class for all formats.
  static const RatioCurve* FindCurve(const DeviceRates& rates, const OpWork& work) {
    const RatioCurve* any = nullptr;
    for (const RatioCurve& curve : *rates.curves) {
      if (curve.op_class != work.op_class) continue;
      if (curve.dtype == work.dtype) return &curve;
      if (curve.dtype.empty()) any = &curve;
    }
    return any;
  }

  void CheckSheet(const KindParameters& kind) const {
    const std::string fingerprint = SheetFingerprint(*catalogue_.FindSheet(kind.kind));
    if (kind.sheet == fingerprint) return;
    throw InputError(fmt::format(
        "{}: the tables of '{}' were fitted with the rates {} of its data sheet, but it now has {}; "
        "calibrate again from the rows, or give the sheet they were fitted with",
        parameters_->source, kind.kind, kind.sheet, fingerprint));
  }

  void AddKind(const KindParameters& kind) {
    DeviceRates rates;
    rates.sheet = catalogue_.FindSheet(kind.kind);
    if (!rates.sheet->HasRates()) {
      throw InputError(
          fmt::format("{}: has curves for '{}', a kind without rates; curves correct the structural "
                      "model, so give the kind of the catalogue that was measured",
                      parameters_->source, kind.kind));
    }
    const std::string fingerprint = StructuralFingerprint(catalogue_, kind.kind);
    if (kind.structural != fingerprint) {
      throw InputError(
          fmt::format("{}: the curves of '{}' correct the structural model {}, but this stowplan has {}; "
                      "calibrate again from the recordings",
                      parameters_->source, kind.kind, kind.structural, fingerprint));
    }
    rates.efficiency = DefaultEfficiency(catalogue_, rates.sheet->kind.device_class);
    rates.tf32 = kind.tf32;
    rates.curves = &kind.curves;
    kinds_.emplace(kind.kind, rates);
  }

  const Catalogue& catalogue_;
  std::string name_;
  std::shared_ptr<const Parameters> parameters_;
  std::map<std::string, DeviceRates> kinds_;
  std::map<std::string, const CpuLines*> lines_;  // of parameters_
};

}  // namespace

std::unique_ptr<sim::CostModel> MakeFitted(const Spec& spec, const Catalogue& catalogue) {
  return std::make_unique<Fitted>(spec, catalogue);
}

}  // namespace stowplan::cost_models
