#include "profiler/chrome.h"

#include <cmath>
#include <map>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include "tests/profiler/testing.h"

namespace berth::profiler {
namespace {

using Json = nlohmann::json;

struct Shown {
  Nanos start;
  Nanos end;
};
using Track = std::pair<int, int>;

std::map<Track, std::vector<Shown>> SlicesOf(const Json& document) {
  std::map<Track, std::vector<Shown>> tracks;
  for (const Json& event : document.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const Nanos start = std::llround(event.at("ts").get<double>() * 1e3);
    const Nanos length = std::llround(event.at("dur").get<double>() * 1e3);
    tracks[{event.at("pid"), event.at("tid")}].push_back({start, start + length});
  }
  return tracks;
}

// Perfetto shows slices of a track that nest or do not touch, and drops the others.
bool CanBeShown(const Shown& a, const Shown& b) {
  const bool apart = a.end <= b.start || b.end <= a.start;
  const bool nested = (a.start <= b.start && b.end <= a.end) || (b.start <= a.start && a.end <= b.end);
  return apart || nested;
}

ActivityTrace Crowded() {
  ActivityTrace trace;
  const auto time = [] { return *rc::gen::inRange<Nanos>(1, 40); };
  for (int i = *rc::gen::inRange(0, 25); i > 0; --i) {
    const Nanos start = time(), end = start + time() - 1;
    trace.calls.push_back({"call", start, end, ApiCall::Level::kRuntime, 1, *rc::gen::inRange<Id>(1, 3), i});
    KernelRecord kernel;
    kernel.name = "k";
    kernel.start = start;
    kernel.end = end;
    kernel.stream = *rc::gen::inRange<Id>(1, 3);
    trace.kernels.push_back(kernel);
  }
  return trace;
}

RC_GTEST_PROP(Chrome, NoTrackHoldsSlicesThatAViewerWouldDrop, ()) {
  const ActivityTrace trace = Crowded();
  std::size_t shown = 0;
  for (const auto& [track, slices] : SlicesOf(Json::parse(PrintChrome(trace)))) {
    shown += slices.size();
    for (std::size_t i = 0; i < slices.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) RC_ASSERT(CanBeShown(slices[i], slices[j]));
    }
  }
  RC_ASSERT(shown == trace.calls.size() + trace.kernels.size());
}

RC_GTEST_PROP(Chrome, AnyTracePrintsAsJsonThatCountsWhatHasNoTime, ()) {
  const ActivityTrace trace = *RandomTrace();
  const Json document = Json::parse(PrintChrome(trace));
  std::size_t shown = 0;
  for (const auto& [track, slices] : SlicesOf(document)) shown += slices.size();
  const std::size_t all = trace.kernels.size() + trace.copies.size() + trace.memsets.size() +
                          trace.calls.size() + trace.synchronisations.size() + trace.overheads.size() +
                          trace.markers.size();
  RC_ASSERT(document.at("otherData").at("slices").get<std::size_t>() == shown);
  RC_ASSERT(shown + document.at("otherData").at("without_time").get<std::size_t>() == all);
}

TEST(Chrome, ASoundTraceNeedsOneTrackForEachThreadAndStream) {
  const Json document = Json::parse(PrintChrome(SoundTrace(20)));
  EXPECT_EQ(SlicesOf(document).size(), 3u);  // the thread with its ops and calls, the stream, the waits
}

}  // namespace
}  // namespace berth::profiler
