#include "scenarios/importers/trace/ranges.h"

#include <algorithm>
#include <tuple>

namespace stowplan::scenarios::trace {

Ranges::Ranges(const std::vector<profiler::Marker>& markers)
    : markers_(markers),
      outer_(markers.size(), kNoRange),
      far_(markers.size(), kNoRange),
      depth_(markers.size(), 1) {
  const auto depth = [&](std::size_t range) { return range == kNoRange ? 0 : depth_[range]; };
  const auto far = [&](std::size_t range) { return range == kNoRange ? kNoRange : far_[range]; };
  for (std::size_t i = 0; i < markers.size(); ++i)
    threads_[{markers[i].process, markers[i].thread}].push_back(i);
  for (auto& [_, ranges] : threads_) {
    std::ranges::sort(ranges, {},
                      [&](std::size_t i) { return std::tuple(markers[i].start, -markers[i].end, i); });
    std::vector<std::size_t> open;
    for (const std::size_t range : ranges) {
      while (!open.empty() && markers[open.back()].end < markers[range].end) open.pop_back();
      if (!open.empty()) {
        const std::size_t outer = open.back(), next = far_[outer];
        outer_[range] = outer;
        depth_[range] = depth_[outer] + 1;
        far_[range] = depth_[outer] - depth(next) == depth(next) - depth(far(next)) ? far(next) : outer;
      }
      open.push_back(range);
    }
  }
}

std::size_t Ranges::Around(profiler::Id process, profiler::Id thread, profiler::Nanos time) const {
  const auto found = threads_.find({process, thread});
  if (found == threads_.end()) return kNoRange;
  const std::vector<std::size_t>& ranges = found->second;
  const auto next =
      std::ranges::upper_bound(ranges, time, {}, [&](std::size_t i) { return markers_[i].start; });
  if (next == ranges.begin()) return kNoRange;
  // No range outlives the one around it.
  const auto is_over = [&](std::size_t range) { return range != kNoRange && markers_[range].end < time; };
  std::size_t range = *std::prev(next);
  while (is_over(range)) range = is_over(far_[range]) ? far_[range] : outer_[range];
  return range;
}

}  // namespace stowplan::scenarios::trace
