// The catalogue with what parameter files measured in place of its own.

#include <cmath>
#include <map>

#include "cost_models/parameters/parameters.h"

namespace stowplan::cost_models {
namespace {

std::int64_t Ppm(double share) {
  return std::llround(share * static_cast<double>(sim::kPpm));
}

class Calibrated : public sim::HardwareCatalogue {
 public:
  Calibrated(std::vector<std::shared_ptr<const Parameters>> parameters, const Catalogue& base) : base_(base) {
    // As in a chain, the first file that has a number gives it.
    for (auto file = parameters.rbegin(); file != parameters.rend(); ++file) {
      for (const KindParameters& kind : (*file)->kinds) Add(kind);
      for (const LinkParameters& link : (*file)->links) Add(link);
    }
  }

  const sim::DeviceKind* FindDevice(const std::string& kind) const override {
    const auto found = devices_.find(kind);
    return found != devices_.end() ? &found->second : base_.FindDevice(kind);
  }
  const sim::LinkKind* FindLink(const std::string& kind) const override {
    const auto found = links_.find(kind);
    return found != links_.end() ? &found->second : base_.FindLink(kind);
  }
  std::vector<std::string> DeviceNames() const override { return base_.DeviceNames(); }
  std::vector<std::string> LinkNames() const override {
    std::vector<std::string> names = base_.LinkNames();
    for (const auto& [name, link] : links_) names.push_back(name);
    return names;
  }

 private:
  void Add(const KindParameters& from) {
    sim::DeviceKind& kind = devices_.try_emplace(from.kind, *base_.FindDevice(from.kind)).first->second;
    if (from.dispatch_us) kind.launch_cost = sim::FromMicros(from.dispatch_us->value);
    if (from.overlap_copy) kind.overlap_copy_ppm = Ppm(from.overlap_copy->value);
    if (!from.concurrency) return;
    kind.concurrency_ppm.clear();
    for (const double rate : from.concurrency->rates) kind.concurrency_ppm.push_back(Ppm(rate));
  }

  void Add(const LinkParameters& from) {
    sim::LinkKind& link = links_[from.kind];
    link.name = from.kind;
    link.bandwidth = from.bandwidth;
    link.curve.clear();
    for (const auto& [bytes, us] : from.knots) link.curve.emplace_back(bytes, sim::FromMicros(us));
    link.latency = link.curve.front().second;
    if (from.both) link.both_ppm = Ppm(from.both->value);
  }

  const Catalogue& base_;
  std::map<std::string, sim::DeviceKind> devices_;
  std::map<std::string, sim::LinkKind> links_;
};

}  // namespace

std::unique_ptr<sim::HardwareCatalogue> CalibratedCatalogue(
    std::vector<std::shared_ptr<const Parameters>> parameters, const Catalogue& base) {
  return std::make_unique<Calibrated>(std::move(parameters), base);
}

}  // namespace stowplan::cost_models
