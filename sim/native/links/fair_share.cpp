#include "sim/native/links/fair_share.h"

#include <algorithm>
#include <limits>

namespace stowplan::sim {

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
  std::size_t remaining = flows.size();
  // Not above the limit of any flow that is not fixed.
  std::int64_t least_limit = 0;
  while (remaining > 0) {
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
    if (least_limit <= least) {
      // A flow that wants no more than the least share gets what it wants; the shares of the others only grow
      // by that.
      const std::size_t before = remaining;
      least_limit = std::numeric_limits<std::int64_t>::max();
      for (Flow& flow : flows) {
        if (flow.rate > 0) continue;
        if (flow.limit > least) {
          least_limit = std::min(least_limit, flow.limit);
          continue;
        }
        Fix(flow, flow.limit);
        --remaining;
      }
      if (remaining < before) continue;
    }
    for (auto use = At(bottleneck).last_use; use >= 0; use = uses_[static_cast<std::size_t>(use)].previous) {
      Flow& flow = *uses_[static_cast<std::size_t>(use)].flow;
      if (flow.rate > 0) continue;
      Fix(flow, least);
      --remaining;
    }
  }
}

}  // namespace stowplan::sim
