#include "sim/fair_share.h"

#include <algorithm>
#include <limits>

namespace berth::sim {

void FairShare::Fix(Flow& flow, std::int64_t rate) {
  flow.rate = std::max<std::int64_t>(rate, 1);
  for (const auto r : flow.resources) {
    auto& left = left_[static_cast<std::size_t>(r)];
    left = std::max<std::int64_t>(left - flow.rate, 0);
    --unfixed_[static_cast<std::size_t>(r)];
  }
}

void FairShare::Solve(std::span<const std::int64_t> capacity, std::span<Flow> flows) {
  left_.assign(capacity.begin(), capacity.end());
  unfixed_.assign(capacity.size(), 0);
  used_.clear();
  for (const Flow& flow : flows) {
    for (const auto r : flow.resources) {
      if (unfixed_[static_cast<std::size_t>(r)]++ == 0) used_.push_back(r);
    }
  }
  std::sort(used_.begin(), used_.end());
  fixed_.assign(flows.size(), 0);
  for (std::size_t remaining = flows.size(); remaining > 0;) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int32_t bottleneck = -1;
    for (const auto r : used_) {
      const auto unfixed = unfixed_[static_cast<std::size_t>(r)];
      if (unfixed == 0) continue;
      const std::int64_t share = left_[static_cast<std::size_t>(r)] / unfixed;
      if (share < least) {
        least = share;
        bottleneck = r;
      }
    }
    // A flow that wants no more than the least share gets what it wants; the shares of the others only grow
    // by that.
    std::size_t limited = flows.size();
    for (std::size_t f = 0; f < flows.size() && limited == flows.size(); ++f) {
      if (!fixed_[f] && flows[f].limit <= least) limited = f;
    }
    if (limited < flows.size()) {
      Fix(flows[limited], flows[limited].limit);
      fixed_[limited] = 1;
      --remaining;
      continue;
    }
    for (std::size_t f = 0; f < flows.size(); ++f) {
      const auto& resources = flows[f].resources;
      if (fixed_[f] || std::find(resources.begin(), resources.end(), bottleneck) == resources.end()) continue;
      Fix(flows[f], least);
      fixed_[f] = 1;
      --remaining;
    }
  }
}

}  // namespace berth::sim
