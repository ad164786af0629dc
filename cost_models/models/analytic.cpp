// analytic: the structural model of roofline.h for every kind that has rates, with the efficiencies of the
// catalogue or others.
//
//   waves=yes          count waves of output tiles where the grid is known
//   tf32=convolutions  which f32 contractions run on TF32 units where there are any, if graph and op do not say:
//                      convolutions alone, as PyTorch has it by default, all or none
//   file=PATH          efficiencies by kind and class from a stowplan.cost_model file
//   CLASS=SHARE        efficiency of an op class on all kinds: gemm=0.5
//   KIND.CLASS=SHARE   on one kind: k40.gemm=0.5; wins over CLASS, which wins over the file, which wins over
//                      the catalogue
//
// Tier C throughout. Kinds without rates (cpu, gpu) are not priced.

#include <map>

#include <fmt/format.h>

#include "cost_models/models/models.h"
#include "cost_models/ops/roofline.h"
#include "sim/base/error.h"

namespace stowplan::cost_models {
namespace {

class Analytic : public sim::CostModel, public ParameterUser {
 public:
  Analytic(const Spec& spec, const Catalogue& catalogue) : catalogue_(catalogue) {
    SettingTable table = AnalyticSettings();
    for (const auto& [key, _] : spec.named) {
      if (table.Find(key) != nullptr) continue;
      CheckEfficiencyKey(key);
      table.rows.push_back({key, "an efficiency", Number(1e-6, 2), "1"});
      overrides_[key] = 1;
    }
    const Settings read(spec, table);
    const std::string file = read.Text("file");
    options_.waves = read.Bool("waves");
    if (read.Is("tf32", "convolutions")) options_.tf32 = Convolutions();
    if (read.Is("tf32", "all")) options_.tf32 = AllContractions();
    for (auto& [key, share] : overrides_) share = read.Double(key);
    if (!file.empty()) parameters_ = std::make_shared<const Parameters>(ReadParameters(file, catalogue));
    for (const std::string& kind : catalogue.DeviceNames()) efficiency_.emplace(kind, EfficiencyOf(kind));
    name_ = CanonicalName(file);
  }

  std::string name() const override { return name_; }

  std::vector<std::shared_ptr<const Parameters>> UsedParameters() const override {
    if (parameters_ == nullptr) return {};
    return {parameters_};
  }

  std::optional<sim::Price> Predict(const sim::OpGraph& graph, sim::OpIndex op,
                                    const sim::Device& device) const override {
    const std::vector<OpWork> kernels = KernelsOf(graph, op);
    if (kernels.size() == 1 && kernels.front().op_class == OpClass::kNothing) return kFree;
    const DeviceSheet* sheet = catalogue_.FindSheet(device.kind);
    if (sheet == nullptr || !sheet->HasRates()) return std::nullopt;
    RooflineOptions options = options_;
    const KindParameters* fitted = parameters_ != nullptr ? parameters_->Find(device.kind) : nullptr;
    if (fitted != nullptr) options.tf32 |= fitted->tf32;  // what its efficiencies are shares of
    double us = 0;
    for (const OpWork& work : kernels)
      us += RooflineMicros(work, *sheet, efficiency_.find(device.kind)->second, catalogue_.Tiles(), options);
    return StructuralPrice(us);
  }

 private:
  void CheckEfficiencyKey(const std::string& key) const {
    const auto dot = key.rfind('.');
    const bool kind_known = dot == std::string::npos || catalogue_.FindSheet(key.substr(0, dot)) != nullptr;
    if (kind_known && OpClassNamed(dot == std::string::npos ? key : key.substr(dot + 1))) return;
    std::vector<std::string> classes;
    for (int i = 0; i < kOpClasses; ++i) classes.emplace_back(ToString(static_cast<OpClass>(i)));
    throw InputError(
        fmt::format("analytic has no setting '{}'; it takes file, waves, tf32, an op class ({}), and "
                    "KIND.CLASS with a kind of "
                    "the catalogue ({})",
                    key, JoinNames(classes), JoinNames(catalogue_.DeviceNames())));
  }

  ClassEfficiency EfficiencyOf(const std::string& kind) const {
    ClassEfficiency efficiency = DefaultEfficiency(catalogue_, catalogue_.FindSheet(kind)->kind.device_class);
    const KindParameters* fitted = parameters_ != nullptr ? parameters_->Find(kind) : nullptr;
    for (int i = 0; i < kOpClasses; ++i) {
      const auto op_class = static_cast<OpClass>(i);
      double& share = efficiency[static_cast<std::size_t>(i)];
      if (fitted != nullptr && fitted->efficiency.contains(op_class))
        share = fitted->efficiency.at(op_class).value;
      const std::string key = ToString(op_class);
      if (const auto found = overrides_.find(key); found != overrides_.end()) share = found->second;
      if (const auto found = overrides_.find(kind + "." + key); found != overrides_.end())
        share = found->second;
    }
    return efficiency;
  }

  // What differs from the defaults only: spelling out 14 kinds x 10 classes would hide it.
  std::string CanonicalName(const std::string& file) const {
    Spec spec{"analytic", {}, {}};
    if (!file.empty()) spec.named.emplace_back("file", file);
    if (!options_.waves) spec.named.emplace_back("waves", "no");
    if (options_.tf32 != Convolutions())
      spec.named.emplace_back("tf32", options_.tf32.any() ? "all" : "none");
    for (const auto& [key, share] : overrides_) spec.named.emplace_back(key, fmt::format("{}", share));
    return spec.ToString();
  }

  const Catalogue& catalogue_;
  RooflineOptions options_;
  std::map<std::string, double> overrides_;  // by key as given
  std::shared_ptr<const Parameters> parameters_;
  std::map<std::string, ClassEfficiency> efficiency_;  // by kind
  std::string name_;
};

}  // namespace

SettingTable AnalyticSettings() {
  return {{{"file", "efficiencies that were measured: a stowplan.cost_model file", Text(), ""},
           {"waves", "count whole waves of tiles", YesNo(), "yes"},
           {"tf32", "which contractions of f32 run at the rate of TF32",
            OneOf({"convolutions", "all", "none"}), "convolutions"}}};
}

std::unique_ptr<sim::CostModel> MakeAnalytic(const Spec& spec, const Catalogue& catalogue) {
  return std::make_unique<Analytic>(spec, catalogue);
}

}  // namespace stowplan::cost_models
