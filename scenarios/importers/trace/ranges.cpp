#include "scenarios/importers/trace/ranges.h"

#include <algorithm>
#include <tuple>

namespace stowplan::scenarios::trace {

Ranges::Ranges(const std::vector<profiler::Marker>& markers)
    : markers_(markers), outer_(markers.size(), kNoRange) {
  for (std::size_t i = 0; i < markers.size(); ++i)
    threads_[{markers[i].process, markers[i].thread}].push_back(i);
  for (auto& [_, ranges] : threads_) {
    std::ranges::sort(ranges, {},
                      [&](std::size_t i) { return std::tuple(markers[i].start, -markers[i].end, i); });
    std::vector<std::size_t> open;
    for (const std::size_t range : ranges) {
      while (!open.empty() && markers[open.back()].end < markers[range].end) open.pop_back();
      if (!open.empty()) outer_[range] = open.back();
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
  return Nearest(*std::prev(next), [&](const profiler::Marker& marker) { return marker.end >= time; });
}

}  // namespace stowplan::scenarios::trace
