// The ranges of a trace: which of a program's named ranges stand around a moment of one of its threads.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "profiler/traces/records.h"

namespace stowplan::scenarios::trace {

inline constexpr std::size_t kNoRange = SIZE_MAX;

// Ops and annotations alike. Ranges of one thread nest, or are cut short by the next. Keeps a reference to the markers.
class Ranges {
 public:
  explicit Ranges(const std::vector<profiler::Marker>& markers);

  // The innermost; kNoRange where there is none.
  std::size_t Around(profiler::Id process, profiler::Id thread, profiler::Nanos time) const;
  // The next one around a marker.
  std::size_t Outer(std::size_t marker) const { return outer_[marker]; }
  // The nearest for which test(marker) holds, from this one outward.
  template <typename Test>
  std::size_t Nearest(std::size_t marker, const Test& test) const {
    while (marker != kNoRange && !test(markers_[marker])) marker = outer_[marker];
    return marker;
  }

 private:
  const std::vector<profiler::Marker>& markers_;
  std::vector<std::size_t> outer_;  // by marker
  // By marker, so that thousands that enclose one another are passed in few steps (Myers, An applicative random-access stack,
  // 1983): one further out, and how many are around.
  std::vector<std::size_t> far_, depth_;
  std::map<std::pair<profiler::Id, profiler::Id>, std::vector<std::size_t>> threads_;  // markers by start
};

}  // namespace stowplan::scenarios::trace
