#include "problem/explain/timeline_data.h"

#include <algorithm>

namespace stowplan::problem {
namespace {

// Where slice `bin` of `bins` begins.
sim::Picos Begin(std::size_t bin, std::size_t bins, sim::Picos runtime) {
  return static_cast<sim::Picos>(static_cast<double>(runtime) * static_cast<double>(bin) /
                                 static_cast<double>(bins));
}

std::size_t BinOf(sim::Picos time, std::size_t bins, sim::Picos runtime) {
  auto bin =
      std::min(bins - 1, static_cast<std::size_t>(static_cast<double>(time) / static_cast<double>(runtime) *
                                                  static_cast<double>(bins)));
  while (bin > 0 && Begin(bin, bins, runtime) > time) --bin;
  while (bin + 1 < bins && Begin(bin + 1, bins, runtime) <= time) ++bin;
  return bin;
}

// The samples of one device: its last run of changes at `at`, an instant or a slice.
struct Pending {
  sim::Picos at = -1;
  MemorySample largest, last;
};

void Flush(const Pending& pending, std::vector<MemorySample>& curve) {
  if (pending.at < 0) return;
  if (pending.largest.live > pending.last.live) curve.push_back(pending.largest);
  curve.push_back(pending.last);
}

template <typename SliceOf>
std::vector<std::vector<MemorySample>> Curves(const sim::Outcome& outcome, const SliceOf& slice_of) {
  std::vector<std::vector<MemorySample>> curves(outcome.devices.size());
  std::vector<Pending> pending(outcome.devices.size());
  for (const sim::MemoryPoint& point : outcome.memory) {
    const auto d = static_cast<std::size_t>(point.device);
    const MemorySample now{point.time, point.live};
    if (const sim::Picos at = slice_of(point.time); at != pending[d].at) {
      Flush(pending[d], curves[d]);
      pending[d] = {at, now, now};
    }
    if (now.live > pending[d].largest.live) pending[d].largest = now;
    pending[d].last = now;
  }
  for (std::size_t d = 0; d < curves.size(); ++d) Flush(pending[d], curves[d]);
  return curves;
}

}  // namespace

BinnedLane BinLane(const sim::Lane& lane, sim::Picos runtime, std::size_t bins) {
  BinnedLane binned{std::vector<double>(bins, 0), std::vector<std::int32_t>(bins, -1)};
  std::vector<sim::Picos> longest(bins, 0);
  sim::Picos covered = 0;  // slices of several tracks overlap
  for (const sim::LaneSlice& slice : lane.slices) {
    if (slice.end <= slice.start) continue;
    for (std::size_t bin = BinOf(slice.start, bins, runtime); bin < bins; ++bin) {
      const sim::Picos from = Begin(bin, bins, runtime);
      const sim::Picos to = bin + 1 == bins ? runtime : Begin(bin + 1, bins, runtime);
      if (from >= slice.end) break;
      const sim::Picos here = std::min(to, slice.end) - std::max(from, slice.start);
      if (here > longest[bin]) {
        longest[bin] = here;
        binned.longest[bin] = slice.index;
      }
      const sim::Picos fresh = std::min(to, slice.end) - std::max({from, slice.start, covered});
      if (fresh > 0) binned.busy[bin] += static_cast<double>(fresh) / static_cast<double>(to - from);
    }
    covered = std::max(covered, slice.end);
  }
  return binned;
}

std::vector<std::vector<MemorySample>> MemoryCurves(const sim::Outcome& outcome, std::size_t most_samples) {
  auto curves = Curves(outcome, [](sim::Picos time) { return time; });
  const bool fits = std::all_of(curves.begin(), curves.end(),
                                [&](const auto& curve) { return curve.size() <= most_samples; });
  if (fits || outcome.runtime == 0) return curves;
  return Curves(outcome, [&](sim::Picos time) {
    return static_cast<sim::Picos>(BinOf(time, most_samples / 2, outcome.runtime));
  });
}

}  // namespace stowplan::problem
