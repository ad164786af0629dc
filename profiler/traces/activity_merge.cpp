#include "profiler/traces/activity_merge.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "profiler/traces/record_fields.h"
#include "sim/base/error.h"

namespace stowplan::profiler {
namespace {

// visit(time) for every stamp that there is.
template <typename Visit>
void ForEachStamp(ActivityTrace& trace, const Visit& visit) {
  const auto look = [&](Nanos& time) {
    if (time != kNoStamp) visit(time);
  };
  const auto both = [&](auto& record) { look(record.start), look(record.end); };
  ForEachDeviceWork(trace, both);
  for (ApiCall& call : trace.calls) both(call);
  for (Synchronisation& wait : trace.synchronisations) both(wait);
  for (Overhead& overhead : trace.overheads) both(overhead);
  for (Marker& marker : trace.markers) both(marker);
  for (MemoryEvent& event : trace.memory) look(event.time);
}

constexpr Nanos kFarthest = Nanos{1} << 61;  // as in files

void MoveBase(ActivityTrace& trace, std::int64_t base) {
  const Nanos later = trace.base_ns - base;
  trace.base_ns = base;
  if (later == 0) return;
  ForEachStamp(trace, [&](Nanos& time) {
    const Nanos moved = time + later;
    if (moved > kFarthest || moved < -kFarthest)
      throw InputError("the pieces of a recording lie too far apart for one clock.");
    time = moved == kNoStamp ? 1 : moved;
  });
}

}  // namespace

void MoveToOrigin(ActivityTrace& trace) {
  Nanos first = INT64_MAX;
  ForEachStamp(trace, [&](Nanos& time) {
    if (time > kNoStamp) first = std::min(first, time);
  });
  if (first == INT64_MAX) return;
  const Nanos origin = first - std::min<Nanos>(first - 1, 1000);
  trace.base_ns += origin;
  ForEachStamp(trace, [&](Nanos& time) {
    if (time > kNoStamp) time -= origin;
  });
}

void AppendTrace(ActivityTrace& whole, ActivityTrace more) {
  if (RecordsIn(whole) == 0) whole.base_ns = more.base_ns;
  if (RecordsIn(more) == 0) more.base_ns = whole.base_ns;
  const std::int64_t base = std::min(whole.base_ns, more.base_ns);
  MoveBase(whole, base);
  MoveBase(more, base);
  const auto add = [](std::int64_t& sum, std::int64_t count) { sum = std::min(sum + count, kFarthest); };
  add(whole.buffers, more.buffers);
  add(whole.lost_records, more.lost_records);
  add(whole.cut_records, more.cut_records);
  for (std::string& reason : more.refused) {
    if (std::ranges::find(whole.refused, reason) == whole.refused.end())
      whole.refused.push_back(std::move(reason));
  }
  const auto append = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  append(whole.kernels, more.kernels);
  append(whole.copies, more.copies);
  append(whole.memsets, more.memsets);
  append(whole.calls, more.calls);
  append(whole.memory, more.memory);
  append(whole.synchronisations, more.synchronisations);
  append(whole.overheads, more.overheads);
  append(whole.external, more.external);
  append(whole.markers, more.markers);
}

std::int64_t RecordsIn(const ActivityTrace& trace) {
  std::int64_t count = 0;
  VisitLists(trace, [&](std::string_view, const auto& records) {
    count += static_cast<std::int64_t>(records.size());
  });
  return count;
}

}  // namespace stowplan::profiler
