#include "profiler/launch_census.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>

#include "profiler/correlation.h"

namespace berth::profiler {
namespace {

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::vector<const ApiCall*> CallsByThread(const ActivityTrace& trace) {
  std::vector<const ApiCall*> calls;
  for (const ApiCall& call : trace.calls) calls.push_back(&call);
  std::stable_sort(calls.begin(), calls.end(), [](const ApiCall* a, const ApiCall* b) {
    return std::tie(a->process, a->thread, a->start) < std::tie(b->process, b->thread, b->start);
  });
  return calls;
}

// A launch into a stream that is being captured runs nothing: it becomes a node of a graph.
void CountCalls(const ActivityTrace& trace, const std::unordered_set<Id>& with_work, LaunchCensus& census) {
  bool capturing = false;
  const ApiCall* before = nullptr;
  for (const ApiCall* call : CallsByThread(trace)) {
    const bool same_thread =
        before != nullptr && call->thread == before->thread && call->process == before->process;
    if (!same_thread || Contains(call->name, "StreamEndCapture")) capturing = false;
    if (Contains(call->name, "StreamBeginCapture")) capturing = true;
    before = call;
    const bool worked = with_work.contains(call->correlation);
    if (IsGraphLaunch(call->name)) {
      ++census.graph_launches;
      if (!worked) ++census.graph_launches_without_work;
    } else if (IsKernelLaunch(call->name) && !capturing) {
      ++census.launches;
      if (!worked) ++census.launches_without_work;
    }
  }
}

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
  CountCalls(trace, with_work, census);
  return census;
}

}  // namespace berth::profiler
