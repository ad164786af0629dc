#include <nlohmann/json.hpp>

#include "sim/formats/formats.h"
#include "tests/formats/testing.h"
#include "tests/formats/worked_case.h"
#include "tests/testing.h"

namespace stowplan::formats {
namespace {

using Json = nlohmann::json;

Json TraceOf(const WorkedCase& worked) {
  return Json::parse(PrintChromeTrace(worked.Run(), *worked.problem, worked.placement));
}
std::vector<Json> EventsOf(const Json& trace, const std::string& phase) {
  std::vector<Json> events;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == phase) events.push_back(event);
  }
  return events;
}
std::string TrackOf(const Json& trace, const Json& event) {
  std::string process, thread;
  for (const Json& name : EventsOf(trace, "M")) {
    if (name["pid"] != event["pid"]) continue;
    if (name["name"] == "process_name") process = name["args"]["name"];
    if (name["name"] == "thread_name" && name["tid"] == event["tid"]) thread = name["args"]["name"];
  }
  return process + "/" + thread;
}

// Viewers drop overlapping slices without a word.
void ExpectNoOverlap(const Json& trace) {
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> tracks;
  for (const Json& slice : EventsOf(trace, "X")) {
    const double start = slice["ts"];
    tracks[{slice["pid"], slice["tid"]}].emplace_back(start, start + slice["dur"].get<double>());
  }
  for (auto& [track, slices] : tracks) {
    std::sort(slices.begin(), slices.end());
    for (std::size_t i = 1; i < slices.size(); ++i) EXPECT_LE(slices[i - 1].second, slices[i].first);
  }
}

TEST(ChromeTrace, ShowsOpsTransfersMemoryAndArrows) {
  const Json trace = TraceOf(WorkedCase());
  std::set<std::string> slices;
  for (const Json& slice : EventsOf(trace, "X")) {
    slices.insert(TrackOf(trace, slice) + " " + slice["name"].get<std::string>() + " " + slice["ts"].dump() +
                  " " + slice["dur"].dump());
  }
  EXPECT_EQ(slices, (std::set<std::string>{"gpu0 (gpu-a)/stream a 0 10", "gpu1 (gpu-a)/stream b c 115 10",
                                           "links/wire gpu0 -> gpu1 a:0 10 105"}));
  // One value an instant, the last: 512 at 125 is followed by 0.
  std::vector<std::string> memory;
  for (const Json& counter : EventsOf(trace, "C")) {
    memory.push_back(counter["pid"].dump() + " " + counter["ts"].dump() + " " +
                     counter["args"]["live bytes"].dump());
  }
  std::sort(memory.begin(), memory.end());
  EXPECT_EQ(memory,
            (std::vector<std::string>{"1 0 1000192", "1 115 0", "2 10 1000192", "2 115 1000704", "2 125 0"}));
  // The tensor: producer, transfer, consumer. The control dependency holds no link: producer, consumer.
  EXPECT_EQ(EventsOf(trace, "s").size(), 2u);
  EXPECT_EQ(EventsOf(trace, "t").size(), 1u);
  EXPECT_EQ(EventsOf(trace, "f").size(), 2u);
  EXPECT_EQ(EventsOf(trace, "f")[0]["ts"], 115);
  EXPECT_EQ(trace["otherData"]["runtime_us"], 125);
  EXPECT_TRUE(EventsOf(trace, "i").empty());
}

// Issuing takes 5 us: a at 0-5, b when its input is there, at 115 + 5 later.
TEST(ChromeTrace, ShowsHostThreads) {
  for (const auto& [per, process] : {std::pair("device", "gpu1 (gpu-a)"), std::pair("process", "host")}) {
    const Json trace = TraceOf(WorkedCase(std::string("dispatch: {cost: 5us, per: ") + per + "}\n"));
    std::vector<Json> issues;
    for (const Json& slice : EventsOf(trace, "X")) {
      if (slice["cat"] == "issue") issues.push_back(slice);
    }
    ASSERT_EQ(issues.size(), 2u);
    EXPECT_EQ(issues[0]["ts"], 0);
    EXPECT_EQ(issues[0]["dur"], 5);
    EXPECT_EQ(issues[1]["ts"], 120);
    EXPECT_EQ(TrackOf(trace, issues[1]), std::string(process) + "/host thread");
    ExpectNoOverlap(trace);
  }
}

TEST(ChromeTrace, MarksOutOfMemory) {
  const auto marks = EventsOf(TraceOf(WorkedCase("", "1MB")), "i");
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0]["pid"], 1);
  EXPECT_EQ(marks[0]["args"]["op"], "a");
}

// Two flows that share a link, and two ops that share a device, need two tracks each.
TEST(ChromeTrace, WhatOverlapsGetsTracksOfItsOwn) {
  WorkedCase worked("interconnect: fair\n");
  sim::Outcome outcome = worked.Run();
  outcome.transfers.push_back(outcome.transfers.back());
  outcome.transfers.back().start += 1'000'000;
  worked.placement.device = {1, 1};
  outcome.ops[0] = {100'000'000, 100'000'000, 118'000'000};
  const Json trace = Json::parse(PrintChromeTrace(outcome, *worked.problem, worked.placement));
  ExpectNoOverlap(trace);
  std::set<std::string> tracks;
  for (const Json& slice : EventsOf(trace, "X")) tracks.insert(TrackOf(trace, slice));
  EXPECT_EQ(tracks, (std::set<std::string>{"gpu1 (gpu-a)/stream", "gpu1 (gpu-a)/stream (2)",
                                           "links/wire gpu0 -> gpu1", "links/wire gpu0 -> gpu1 (2)"}));
}

// The published rules have no links: what a device sends stands on tracks of its own process.
TEST(ChromeTrace, PublishedRules) {
  const Json trace = TraceOf(WorkedCase("rules: published\n"));
  bool found = false;
  for (const Json& slice : EventsOf(trace, "X")) found |= TrackOf(trace, slice) == "gpu0 (gpu-a)/to gpu1";
  EXPECT_TRUE(found) << trace.dump(1);
  ExpectNoOverlap(trace);
}

}  // namespace
}  // namespace stowplan::formats
