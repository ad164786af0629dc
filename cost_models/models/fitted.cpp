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
// Tables by shape (shape_prices.h) stand in place of a curve where the file has them. Without a file the model has those that
// ship with stowplan (data/prices), what others measured, but for kinds that published tables rest on
// (DeviceSheet::structural), and beyond them a law for tensor cores (tensor_law.h). Tier B for a kind and number format that were measured, within the measured work; tier C for others.
//
// Curves belong to the structural model they were made with, tables to the rates of the data sheet; a file made with
// other rates or efficiencies is refused. Classes and kinds without either are left to the next model of a chain.

#include <algorithm>
#include <map>
#include <span>

#include <fmt/format.h>

#include "cost_models/models/models.h"
#include "cost_models/models/shape_prices.h"
#include "cost_models/models/tensor_law.h"
#include "cost_models/ops/op_types.h"
#include "cost_models/ops/roofline.h"
#include "cost_models/parameters/ratio_curve.h"
#include "sim/base/error.h"

namespace stowplan::cost_models {
namespace {

// Testbeds fit products of unrolled cells apart; the kernel that was measured is that of any product.
OpWork AsMeasured(OpWork work) {
  const OpType* const type = FindOpType(work.type);
  if (work.op_class == OpClass::kRecurrentGemm && type != nullptr) work.op_class = type->op_class;
  return work;
}

class Fitted : public sim::CostModel, public ParameterUser, public OriginTeller {
 public:
  Fitted(const Spec& spec, const Catalogue& catalogue) : catalogue_(catalogue) {
    const Settings read(spec, FileSettings());
    const std::string file = read.Text("file");
    name_ = read.Canonical();
    if (!file.empty()) parameters_ = std::make_shared<const Parameters>(ReadParameters(file, catalogue));
    shapes_ = std::make_unique<ShapePrices>(catalogue, parameters_);
    if (parameters_ == nullptr) return;
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
    const OpWork work = AsMeasured(KernelsOf(graph, op).front());
    const bool has_law = LawOf(work, device).has_value();
    const std::string origin = shapes_->OriginOf(work, device, has_law);
    if (!origin.empty() || !has_law) return origin;
    return fmt::format(
        "a law fitted to whole models on an rtx3090 (huggingface/pytorch-image-models, PyTorch 2.4): {} of "
        "{}, "
        "error not known",
        ToString(work.op_class), work.dtype);
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
  // With shipped prices alone, and not where published tables rest on the sheet.
  std::optional<double> LawOf(const OpWork& work, const sim::Device& device) const {
    const DeviceSheet* sheet = catalogue_.FindSheet(device.kind);
    if (parameters_ != nullptr || sheet == nullptr || sheet->structural || !sheet->HasRates())
      return std::nullopt;
    return TensorLawMicros(work, *sheet);
  }

  std::optional<sim::Price> PriceOf(const OpWork& work, const sim::Device& device) const {
    // What was measured of the chip itself, then the law, then what was measured of others.
    const OpWork measured = AsMeasured(work);
    const auto law = LawOf(measured, device);
    if (const auto price = shapes_->Price(measured, device, law.has_value())) return price;
    if (law) return StructuralPrice(*law);
    if (shapes_->Serve(device.kind)) return std::nullopt;
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
  std::unique_ptr<ShapePrices> shapes_;
  std::map<std::string, DeviceRates> kinds_;
  std::map<std::string, const CpuLines*> lines_;  // of parameters_
};

}  // namespace

std::unique_ptr<sim::CostModel> MakeFitted(const Spec& spec, const Catalogue& catalogue) {
  return std::make_unique<Fitted>(spec, catalogue);
}

}  // namespace stowplan::cost_models
