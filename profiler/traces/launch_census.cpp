#include "profiler/traces/launch_census.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>

#include "profiler/traces/correlation.h"

namespace stowplan::profiler {
namespace {

std::vector<const ApiCall*> CallsByThread(const ActivityTrace& trace) {
  std::vector<const ApiCall*> calls;
  for (const ApiCall& call : trace.calls) calls.push_back(&call);
  std::stable_sort(calls.begin(), calls.end(), [](const ApiCall* a, const ApiCall* b) {
    return std::tie(a->process, a->thread, a->start) < std::tie(b->process, b->thread, b->start);
  });
  return calls;
}

// Walks the calls of each thread by start. Two things make a launch that has no work of its own: in a stream that
// is being captured it becomes a node of a graph and runs nothing; and a driver's call inside of a runtime's is the
// same launch, whose work has the correlation of either.
class CallCounter {
 public:
  CallCounter(const std::unordered_set<Id>& with_work, LaunchCensus& census)
      : with_work_(with_work), census_(census) {}

  void Add(const ApiCall& call) {
    const bool same_thread =
        outer_ != nullptr && call.thread == outer_->thread && call.process == outer_->process;
    if (!same_thread || NameContains(call.name, "StreamEndCapture")) capturing_ = false;
    if (NameContains(call.name, "StreamBeginCapture")) capturing_ = true;
    const bool worked = call.correlation != 0 && with_work_.contains(call.correlation);
    const bool inside = same_thread && call.level == ApiCall::Level::kDriver &&
                        outer_->level == ApiCall::Level::kRuntime && call.end <= outer_->end;
    if (inside) {
      worked_ = worked_ || worked;
      return;
    }
    Finish();
    outer_ = &call;
    worked_ = worked;
    captured_ = capturing_;
  }
  void Finish() {
    if (outer_ == nullptr) return;
    if (IsGraphLaunch(outer_->name)) {
      ++census_.graph_launches;
      if (!worked_) ++census_.graph_launches_without_work;
    } else if (IsKernelLaunch(outer_->name) && !captured_) {
      ++census_.launches;
      if (!worked_) ++census_.launches_without_work;
    }
  }

 private:
  const std::unordered_set<Id>& with_work_;
  LaunchCensus& census_;
  const ApiCall* outer_ = nullptr;  // counted when the next one that is not inside of it comes
  bool worked_ = false;
  bool captured_ = false;
  bool capturing_ = false;
};

}  // namespace

LaunchCensus CountLaunches(const ActivityTrace& trace) {
  LaunchCensus census;
  std::unordered_set<Id> with_work, with_call;  // correlations
  for (const ApiCall& call : trace.calls) with_call.insert(call.correlation);
  ForEachDeviceWork(trace, [&](const DeviceWork& work) {
    ++census.device_records;
    if (work.graph != 0) ++census.graph_records;
    if (work.correlation != 0) with_work.insert(work.correlation);
    if (!trace.calls.empty() && !with_call.contains(work.correlation)) ++census.without_call;
  });
  CallCounter counter(with_work, census);
  for (const ApiCall* call : CallsByThread(trace)) counter.Add(*call);
  counter.Finish();
  return census;
}

}  // namespace stowplan::profiler
