#include "profiler/traces/correlation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/profiler/testing.h"
#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

TEST(Correlation, TiesKernelsToCallsAndOps) {
  const ActivityTrace trace = SoundTrace(5);
  const Correlation correlation = Correlate(trace);
  ASSERT_EQ(correlation.work.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(correlation.work[i].call, static_cast<std::ptrdiff_t>(i));
    EXPECT_EQ(correlation.work[i].op, static_cast<std::ptrdiff_t>(i));
    EXPECT_EQ(correlation.work[i].device_time, 30'000);
  }
}

TEST(Correlation, AnOpHasAllItsCalls) {
  ActivityTrace trace = SoundTrace(3);
  for (ExternalCorrelation& link : trace.external) link.external = 1;
  const Correlation correlation = Correlate(trace);
  ASSERT_EQ(correlation.work.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(correlation.work[i].call, static_cast<std::ptrdiff_t>(i));
    EXPECT_EQ(correlation.work[i].op, 0);
    EXPECT_EQ(correlation.work[i].device_time, 30'000);
  }
  ASSERT_EQ(correlation.gaps.size(), 2u);
  for (const Gap& gap : correlation.gaps) EXPECT_EQ(gap.length, 70'000);
}

TEST(Correlation, WithoutExternalIdsTheInnermostOpAroundTheCallHasIt) {
  ActivityTrace trace = SoundTrace(2);
  trace.external.clear();
  const Nanos call = trace.calls[0].start;
  trace.markers = {{"outer", call - 9000, call + 90'000, Marker::What::kOp, 1, 2, 0, {}},
                   {"inner", call - 2000, call + 8000, Marker::What::kOp, 1, 2, 0, {}},
                   {"note", call - 1000, call + 7000, Marker::What::kAnnotation, 1, 2, 0, {}},
                   {"elsewhere", call - 1000, call + 7000, Marker::What::kOp, 1, 3, 0, {}}};
  const Correlation correlation = Correlate(trace);
  EXPECT_EQ(correlation.work[0].op, 1);
  EXPECT_EQ(correlation.work[1].op, kNobody);
}

// Ops that each enclose the next, and calls behind the end of all but one of them: in quadratic time this took minutes.
TEST(Correlation, AnOpAroundManyIsFoundInTime) {
  constexpr int kOps = 50'000;
  ActivityTrace trace = SoundTrace(kOps);
  trace.external.clear();
  trace.markers.clear();
  const Nanos first = trace.calls.front().start, last = trace.calls.back().end;
  for (int i = 0; i < kOps; ++i)
    trace.markers.push_back(
        {"op", first - 2 * kOps + i, i == 7 ? last + 1 : first - i, Marker::What::kOp, 1, 2, 0, {}});
  for (int i = 0; i < 7; ++i) trace.markers[static_cast<std::size_t>(i)].end = last + 2;
  const Correlation correlation = Correlate(trace);
  ASSERT_EQ(correlation.work.size(), static_cast<std::size_t>(kOps));
  EXPECT_TRUE(std::ranges::all_of(correlation.work, [](const LinkedWork& work) { return work.op == 7; }));
}

TEST(Correlation, WhatRunsBesideItsPredecessorIsNotCountedTwice) {
  ActivityTrace trace = SoundTrace(2);
  trace.kernels[1].start = trace.kernels[0].end - 3'000;
  trace.kernels[1].end = trace.kernels[0].end + 27'000;
  const Correlation correlation = Correlate(trace);
  EXPECT_EQ(correlation.work[0].device_time, 30'000);
  EXPECT_EQ(correlation.work[1].device_time, 27'000);
  trace.kernels[0].graph = trace.kernels[1].graph = 5;  // nodes may run side by side
  EXPECT_EQ(Correlate(trace).work[1].device_time, 30'000);
}

TEST(Correlation, TheHostIsTheCauseOfAGapIfTheStreamWasEmpty) {
  ActivityTrace trace = SoundTrace(3);
  trace.calls[2].start = trace.kernels[1].start;  // launched while its predecessor ran
  trace.calls[2].end = trace.calls[2].start + 5000;
  const Correlation correlation = Correlate(trace);
  ASSERT_EQ(correlation.gaps.size(), 2u);
  EXPECT_EQ(correlation.gaps[0].cause, Gap::Cause::kHost);
  EXPECT_EQ(correlation.gaps[0].launch_delay, 20'000);
  EXPECT_EQ(correlation.gaps[1].cause, Gap::Cause::kDevice);
  EXPECT_EQ(correlation.gaps[1].length, 70'000);
}

TEST(Correlation, NodesOfAGraphShareOneCall) {
  ActivityTrace trace = SoundTrace(3);
  trace.calls.resize(1);
  trace.calls[0].name = "cudaGraphLaunch_v10000";
  for (KernelRecord& kernel : trace.kernels) {
    kernel.graph = 9;
    kernel.correlation = 1;
  }
  const Correlation correlation = Correlate(trace);
  ASSERT_EQ(correlation.work.size(), 3u);
  for (const LinkedWork& work : correlation.work) {
    EXPECT_EQ(work.call, 0);
    EXPECT_EQ(work.op, 0);
    EXPECT_EQ(work.device_time, 30'000);
  }
  ASSERT_EQ(correlation.gaps.size(), 2u);
  for (const Gap& gap : correlation.gaps) EXPECT_EQ(gap.cause, Gap::Cause::kDevice);
}

RC_GTEST_PROP(Correlation, DoesNotDependOnTheOrderOfRecords, ()) {
  const int count = *rc::gen::inRange(2, 12);
  const ActivityTrace trace = SoundTrace(count);
  ActivityTrace shuffled = trace;
  const auto turn = *rc::gen::inRange<std::ptrdiff_t>(0, count);
  std::reverse(shuffled.kernels.begin(), shuffled.kernels.end());
  std::rotate(shuffled.kernels.begin(), shuffled.kernels.begin() + turn, shuffled.kernels.end());
  std::reverse(shuffled.external.begin(), shuffled.external.end());
  const Correlation a = Correlate(trace), b = Correlate(shuffled);
  RC_ASSERT(a.work.size() == static_cast<std::size_t>(count) && b.work.size() == a.work.size());
  RC_ASSERT(a.gaps == b.gaps);
  for (std::size_t i = 0; i < a.work.size(); ++i) {
    RC_ASSERT(WorkAt(trace, a.work[i].work) == WorkAt(shuffled, b.work[i].work));
    RC_ASSERT(a.work[i].call == b.work[i].call && a.work[i].op == b.work[i].op);
    RC_ASSERT(a.work[i].device_time == b.work[i].device_time);
  }
}

}  // namespace
}  // namespace stowplan::profiler
