#include "profiler/traces/correlation.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace stowplan::profiler {
namespace {

using StreamKey = std::tuple<std::int32_t, Id, Id>;  // device, context, stream
using ThreadKey = std::pair<Id, Id>;                 // process, thread

StreamKey StreamOf(const DeviceWork& work) {
  return {work.device, work.context, work.stream};
}

// The innermost op around each moment of a thread. Ranges of one thread nest, or are cut short by the next.
class EnclosingOps {
 public:
  explicit EnclosingOps(const std::vector<Marker>& markers) : markers_(markers) {
    for (std::size_t i = 0; i < markers.size(); ++i) {
      if (markers[i].what == Marker::What::kOp)
        threads_[{markers[i].process, markers[i].thread}].push_back(i);
    }
    for (auto& [thread, ops] : threads_) {
      std::sort(ops.begin(), ops.end(), [&](std::size_t a, std::size_t b) {
        return std::tuple(markers[a].start, -markers[a].end, a) <
               std::tuple(markers[b].start, -markers[b].end, b);
      });
      std::vector<std::ptrdiff_t> open;
      for (const std::size_t op : ops) {
        while (!open.empty() && markers[static_cast<std::size_t>(open.back())].end < markers[op].end) {
          open.pop_back();
        }
        Enter(op, open.empty() ? kNobody : open.back());
        open.push_back(static_cast<std::ptrdiff_t>(op));
      }
    }
  }

  std::ptrdiff_t Around(ThreadKey thread, Nanos time) const {
    const auto ops = threads_.find(thread);
    if (ops == threads_.end()) return kNobody;
    const auto next = std::upper_bound(ops->second.begin(), ops->second.end(), time,
                                       [&](Nanos t, std::size_t op) { return t < markers_[op].start; });
    if (next == ops->second.begin()) return kNobody;
    auto op = static_cast<std::ptrdiff_t>(*std::prev(next));
    while (HasEnded(op, time)) {
      const Ancestors& of = ancestors_.at(static_cast<std::size_t>(op));
      op = HasEnded(of.far, time) ? of.far : of.outer;
    }
    return op;
  }

 private:
  // What is around an op, and one further out: by both any of them is found in a logarithm of steps, as they end ever later.
  struct Ancestors {
    std::ptrdiff_t outer;
    std::ptrdiff_t far;
    std::size_t depth;
  };

  bool HasEnded(std::ptrdiff_t op, Nanos time) const {
    return op != kNobody && markers_[static_cast<std::size_t>(op)].end < time;
  }

  std::size_t DepthOf(std::ptrdiff_t op) const {
    return op == kNobody ? 0 : ancestors_.at(static_cast<std::size_t>(op)).depth;
  }

  std::ptrdiff_t FarFrom(std::ptrdiff_t op) const {
    return op == kNobody ? kNobody : ancestors_.at(static_cast<std::size_t>(op)).far;
  }

  // Myers' skew-binary jumps: two of one length in a row become one behind them.
  void Enter(std::size_t op, std::ptrdiff_t outer) {
    const std::ptrdiff_t far = FarFrom(outer);
    const bool alike = DepthOf(outer) - DepthOf(far) == DepthOf(far) - DepthOf(FarFrom(far));
    ancestors_[op] = {outer, alike ? FarFrom(far) : outer, DepthOf(outer) + 1};
  }

  const std::vector<Marker>& markers_;
  std::map<ThreadKey, std::vector<std::size_t>> threads_;
  std::unordered_map<std::size_t, Ancestors> ancestors_;
};

class Linker {
 public:
  explicit Linker(const ActivityTrace& trace) : trace_(trace), enclosing_(trace.markers) {
    for (std::size_t i = 0; i < trace.calls.size(); ++i) {
      if (trace.calls[i].correlation != 0) call_.emplace(trace.calls[i].correlation, i);
    }
    for (std::size_t i = 0; i < trace.markers.size(); ++i) {
      if (trace.markers[i].external != 0) marker_.emplace(trace.markers[i].external, i);
    }
    for (const ExternalCorrelation& link : trace.external) AddExternal(link);
  }

  LinkedWork Link(WorkRef ref) const {
    LinkedWork linked{ref, kNobody, kNobody, 0};
    const Id correlation = WorkAt(trace_, ref).correlation;
    const auto call = call_.find(correlation);
    if (call != call_.end()) linked.call = static_cast<std::ptrdiff_t>(call->second);
    const auto op = op_.find(correlation);
    if (op != op_.end()) {
      linked.op = static_cast<std::ptrdiff_t>(op->second);
    } else if (call != call_.end()) {
      const ApiCall& made = trace_.calls[call->second];
      linked.op = enclosing_.Around({made.process, made.thread}, made.start);
    }
    return linked;
  }

 private:
  // Where several ops claim one call the innermost has it: the one that began last.
  void AddExternal(const ExternalCorrelation& link) {
    const auto marker = marker_.find(link.external);
    if (marker == marker_.end() || link.correlation == 0) return;
    const auto [op, fresh] = op_.emplace(link.correlation, marker->second);
    if (!fresh && trace_.markers[op->second].start < trace_.markers[marker->second].start) {
      op->second = marker->second;
    }
  }

  const ActivityTrace& trace_;
  EnclosingOps enclosing_;
  std::unordered_map<Id, std::size_t> call_;    // by correlation
  std::unordered_map<Id, std::size_t> marker_;  // by external id
  std::unordered_map<Id, std::size_t> op_;      // marker by correlation
};

Gap GapBetween(const ActivityTrace& trace, WorkRef before, const LinkedWork& next) {
  const DeviceWork& first = WorkAt(trace, before);
  const DeviceWork& second = WorkAt(trace, next.work);
  Gap gap{Gap::Cause::kUnknown, second.start - first.end, 0};
  if (second.graph != 0 && second.graph == first.graph && second.correlation == first.correlation) {
    gap.cause = Gap::Cause::kDevice;  // two nodes of one launch
  } else if (next.call != kNobody) {
    const ApiCall& call = trace.calls[static_cast<std::size_t>(next.call)];
    if (second.start < call.start) return gap;  // the clocks do not agree: nothing can be said
    const bool was_empty = call.end > first.end;
    gap.cause = was_empty ? Gap::Cause::kHost : Gap::Cause::kDevice;
    if (was_empty) gap.launch_delay = second.start - call.start;
  }
  return gap;
}

}  // namespace

const DeviceWork& WorkAt(const ActivityTrace& trace, WorkRef ref) {
  switch (ref.list) {
    case WorkRef::List::kKernels:
      return trace.kernels[ref.index];
    case WorkRef::List::kCopies:
      return trace.copies[ref.index];
    default:
      return trace.memsets[ref.index];
  }
}

std::vector<WorkRef> WorkByStart(const ActivityTrace& trace) {
  std::vector<WorkRef> refs;
  const auto add = [&](WorkRef::List list, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) refs.push_back({list, i});
  };
  add(WorkRef::List::kKernels, trace.kernels.size());
  add(WorkRef::List::kCopies, trace.copies.size());
  add(WorkRef::List::kMemsets, trace.memsets.size());
  std::stable_sort(refs.begin(), refs.end(), [&](WorkRef a, WorkRef b) {
    const DeviceWork &x = WorkAt(trace, a), &y = WorkAt(trace, b);
    return std::tie(x.start, x.end) < std::tie(y.start, y.end);
  });
  return refs;
}

bool IsKernelLaunch(std::string_view call) {
  return NameContains(call, "LaunchKernel") || NameContains(call, "LaunchCooperativeKernel") ||
         call == "cuLaunchGrid" || call == "cuLaunchGridAsync" || call == "cuLaunch";
}

bool IsGraphLaunch(std::string_view call) {
  return NameContains(call, "GraphLaunch");
}

Correlation Correlate(const ActivityTrace& trace) {
  const Linker linker(trace);
  Correlation result;
  std::map<StreamKey, WorkRef> last;  // of each stream, the one that ends last so far
  for (const WorkRef ref : WorkByStart(trace)) {
    LinkedWork linked = linker.Link(ref);
    const DeviceWork& work = WorkAt(trace, ref);
    const StreamKey stream = StreamOf(work);
    const auto [before, first] = last.emplace(stream, ref);
    linked.device_time = work.end - work.start;
    if (!first && work.graph == 0)
      linked.device_time -=
          std::clamp<Nanos>(WorkAt(trace, before->second).end - work.start, 0, linked.device_time);
    if (!first) {
      const Gap gap = GapBetween(trace, before->second, linked);
      if (gap.length > 0) result.gaps.push_back(gap);
      if (work.end >= WorkAt(trace, before->second).end) before->second = ref;
    }
    result.work.push_back(linked);
  }
  return result;
}

}  // namespace stowplan::profiler
