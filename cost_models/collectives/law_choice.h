// Which law is a GPU's where nobody measured it, or not that type of collective. Internal to cost_models/collectives/.
#pragma once

#include <array>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cost_models/collectives/collectives.h"
#include "cost_models/collectives/laws.h"
#include "cost_models/ops/portable_math.h"
#include "sim/base/error.h"

namespace stowplan::cost_models {

inline constexpr int kCollectiveTypes = 6;

struct LawChoice {
  HostLaw law;
  double bandwidth = 0;  // [B/s] of the links that it was measured on
  std::string evidence;
};

// A law of another type made from what was measured: an all-reduce is a reduce-scatter and an all-gather.
inline HostLaw HalfOf(HostLaw law) {
  for (HostLaw::Knot& knot : law.knots) knot.start /= 2;
  law.in_switch.reset();
  return law;
}

// Laws by fabric and kind of GPU.
class LawChooser {
 public:
  LawChooser(const CollectiveData& data, const Catalogue& catalogue) : data_(data), catalogue_(catalogue) {}

  // `bandwidth`: [B/s] of the links of a GPU of this kind.
  LawChoice Choose(const std::string& kind, bool nvlink, double bandwidth, sim::CollectiveType type) const {
    const std::string like = NearestGpu(kind, nvlink, bandwidth);
    const auto [law, derived] = LawOf(like, type);
    const double measured = LinkBandwidth(*law);
    std::string evidence = law->source;
    if (like != kind || derived) {
      evidence = fmt::format("derived: {} of {}", ToString(law->type), like);
      if (like != kind) evidence += fmt::format(", links {:.3g} times as wide", bandwidth / measured);
    }
    HostLaw chosen = derived && law->type == sim::CollectiveType::kAllReduce ? HalfOf(*law) : *law;
    chosen.type = type;
    return {std::move(chosen), measured, std::move(evidence)};
  }

 private:
  double LinkBandwidth(const HostLaw& law) const {
    const LinkSheet* const sheet = catalogue_.FindLinkSheet(law.link);
    return static_cast<double>(
        (sheet != nullptr ? sheet : BuiltinCatalogue().FindLinkSheet(law.link))->kind.bandwidth);
  }
  bool IsNvlink(const HostLaw& law) const { return law.link.starts_with("nv"); }

  // The kind itself, else one of its chip, else the one with the most similar links; the first of equals.
  std::string NearestGpu(const std::string& kind, bool nvlink, double bandwidth) const {
    const DeviceSheet* const sheet = catalogue_.FindSheet(kind);
    const HostLaw* nearest = nullptr;
    double least = 0;
    for (const HostLaw& law : data_.laws) {
      if (IsNvlink(law) != nvlink) continue;
      double distance = std::abs(PortableLog(bandwidth / LinkBandwidth(law)));
      const DeviceSheet* const measured = catalogue_.FindSheet(law.gpu);
      if (sheet != nullptr && measured != nullptr && !sheet->chip.empty() && sheet->chip == measured->chip)
        distance -= kMuch;
      if (law.gpu == kind) distance -= 2 * kMuch;
      if (nearest == nullptr || distance < least) {
        nearest = &law;
        least = distance;
      }
    }
    return nearest->gpu;
  }

  // And whether it is one of another type.
  std::pair<const HostLaw*, bool> LawOf(const std::string& gpu, sim::CollectiveType type) const {
    static constexpr std::array<std::array<sim::CollectiveType, 3>, kCollectiveTypes> kFrom = {{
        {sim::CollectiveType::kAllReduce, sim::CollectiveType::kAllReduce, sim::CollectiveType::kAllReduce},
        {sim::CollectiveType::kReduceScatter, sim::CollectiveType::kAllGather,
         sim::CollectiveType::kAllReduce},
        {sim::CollectiveType::kAllGather, sim::CollectiveType::kReduceScatter,
         sim::CollectiveType::kAllReduce},
        {sim::CollectiveType::kAllToAll, sim::CollectiveType::kAllGather, sim::CollectiveType::kAllReduce},
        {sim::CollectiveType::kBroadcast, sim::CollectiveType::kAllGather, sim::CollectiveType::kAllReduce},
        {sim::CollectiveType::kReduce, sim::CollectiveType::kReduceScatter, sim::CollectiveType::kAllReduce},
    }};
    for (const sim::CollectiveType from : kFrom[static_cast<std::size_t>(type)]) {
      for (const HostLaw& law : data_.laws)
        if (law.gpu == gpu && law.type == from) return {&law, from != type};
    }
    throw InputError("cost_models/data/collectives.yaml: has no all-reduce of " + gpu);
  }

  static constexpr double kMuch = 1e6;

  const CollectiveData& data_;
  const Catalogue& catalogue_;
};

}  // namespace stowplan::cost_models
