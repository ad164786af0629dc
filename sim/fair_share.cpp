#include "sim/fair_share.h"

#include <algorithm>
#include <limits>

namespace berth::sim {

void FairShare::Fix(Flow& flow, std::int64_t rate) {
  flow.rate = std::max<std::int64_t>(rate, 1);
  for (const auto r : flow.resources) {
    Resource& resource = At(r);
    resource.left = std::max<std::int64_t>(resource.left - flow.rate, 0);
    if (--resource.unfixed > 1) {
      resource.share = resource.left / resource.unfixed;
    } else {
      resource.share = resource.left;
    }
  }
}

void FairShare::Fill(std::span<Flow> flows) {
  for (std::size_t remaining = flows.size(); remaining > 0;) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int32_t bottleneck = -1;
    std::size_t kept = 0;
    for (const auto r : used_) {
      const Resource& resource = At(r);
      if (resource.unfixed == 0) continue;
      used_[kept++] = r;
      if (resource.share < least || (resource.share == least && r < bottleneck)) {
        least = resource.share;
        bottleneck = r;
      }
    }
    used_.resize(kept);
    // A flow that wants no more than the least share gets what it wants; the shares of the others only grow
    // by that.
    const std::size_t before = remaining;
    for (Flow& flow : flows) {
      if (flow.rate > 0 || flow.limit > least) continue;
      Fix(flow, flow.limit);
      --remaining;
    }
    if (remaining < before) continue;
    for (Flow& flow : flows) {
      const auto& resources = flow.resources;
      if (flow.rate > 0 || std::find(resources.begin(), resources.end(), bottleneck) == resources.end())
        continue;
      Fix(flow, least);
      --remaining;
    }
  }
}

}  // namespace berth::sim
