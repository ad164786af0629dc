#include "cost_models/models/measured_elsewhere.h"

#include <algorithm>

namespace stowplan::cost_models {
namespace {

using sim::Price;

// Null where the op was measured on the device's kind or class, or nowhere that counts.
const std::pair<std::string, double>* ElsewhereOf(const sim::Op& op, const sim::Device& device,
                                                  const Catalogue& catalogue) {
  if (op.cost_us || op.cost_us_by_kind.empty() || catalogue.FindDevice(device.kind) == nullptr)
    return nullptr;
  const std::string device_class = sim::ToString(device.device_class);
  const std::pair<std::string, double>* elsewhere = nullptr;
  for (const auto& measured : op.cost_us_by_kind) {
    if (measured.first == device.kind || measured.first == device_class) return nullptr;
    const sim::DeviceKind* kind = catalogue.FindDevice(measured.first);
    if (elsewhere == nullptr && kind != nullptr && kind->device_class == device.device_class)
      elsewhere = &measured;
  }
  return elsewhere;
}

class Moving : public sim::CostModel {
 public:
  Moving(const sim::CostModel& model, const Catalogue& catalogue)
      : model_(model), catalogue_(catalogue), structural_(MakeCostModel("analytic", catalogue)) {}

  std::string name() const override { return model_.name(); }

  std::optional<Price> Predict(const sim::OpGraph& graph, sim::OpIndex op,
                               const sim::Device& device) const override {
    const auto* measured = ElsewhereOf(graph.ops[static_cast<std::size_t>(op)], device, catalogue_);
    if (measured == nullptr) return model_.Predict(graph, op, device);
    sim::Device from = device;
    from.kind = measured->first;
    auto there = model_.Predict(graph, op, from), here = model_.Predict(graph, op, device);
    if (!there || !here || there->tier != here->tier) {
      there = structural_->Predict(graph, op, from);
      here = structural_->Predict(graph, op, device);
    }
    if (there && here && there->us == here->us) return Moved(measured->second, *here, 1);
    if (!there || !here || there->us <= 0) return model_.Predict(graph, op, device);
    return Moved(measured->second, *here, here->us / there->us);
  }

 private:
  // As sure as the ratio is.
  static Price Moved(double measured_us, const Price& here, double ratio) {
    const double us = measured_us * ratio;
    if (here.us <= 0) return {us, sim::Tier::kStructural, us, us};
    return {us, std::max(here.tier, sim::Tier::kInterpolated), us * here.low_us / here.us,
            us * here.high_us / here.us};
  }

  const sim::CostModel& model_;
  const Catalogue& catalogue_;
  const std::unique_ptr<sim::CostModel> structural_;
};

}  // namespace

std::unique_ptr<sim::CostModel> MovingMeasuredTimes(const sim::CostModel& model, const Catalogue& catalogue) {
  return std::make_unique<Moving>(model, catalogue);
}

std::vector<MovedTimes> MovedTimesOf(const sim::OpGraph& graph, const sim::Cluster& cluster,
                                     const Catalogue& catalogue) {
  std::vector<MovedTimes> all;
  std::vector<std::string> seen;  // kinds
  for (const sim::Device& device : cluster.devices) {
    if (std::ranges::find(seen, device.kind) != seen.end()) continue;
    seen.push_back(device.kind);
    for (const sim::Op& op : graph.ops) {
      const auto* measured = ElsewhereOf(op, device, catalogue);
      if (measured == nullptr) continue;
      auto found = std::ranges::find_if(
          all, [&](const MovedTimes& one) { return one.from == measured->first && one.to == device.kind; });
      if (found == all.end()) found = all.insert(all.end(), {measured->first, device.kind, 0});
      ++found->ops;
    }
  }
  return all;
}

}  // namespace stowplan::cost_models
