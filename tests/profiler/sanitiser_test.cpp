// One fixture for each fault that recorders are known to have (docs/profiling.md), made from a sound trace.
#include "profiler/traces/sanitiser.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "profiler/traces/correlation.h"
#include "tests/profiler/testing.h"
#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

using Verdict = SanitisedTrace::Verdict;

// The fault is found `count` times, the verdict is this one, and that many kernels of 100 are left.
void Expect(const SanitisedTrace& result, Verdict verdict, Fault fault, std::int64_t count,
            std::size_t left) {
  EXPECT_EQ(result.verdict, verdict) << result.sentence;
  const Finding* const finding = result.Find(fault);
  ASSERT_NE(finding, nullptr) << result.sentence;
  EXPECT_EQ(finding->count, count) << finding->sentence;
  EXPECT_FALSE(finding->sentence.empty());
  EXPECT_EQ(result.trace.kernels.size(), left) << result.sentence;
}

TEST(Sanitiser, SoundTracesPassUntouched) {
  const ActivityTrace trace = SoundTrace(100);
  const SanitisedTrace result = Sanitise(trace);
  EXPECT_EQ(result.verdict, Verdict::kUsable);
  EXPECT_EQ(result.sentence, "usable: 100 device records, nothing left out");
  EXPECT_TRUE(result.findings.empty());
  EXPECT_EQ(result.trace, trace);
}

TEST(Sanitiser, ZeroStampsAreLeftOut) {
  ActivityTrace trace = SoundTrace(100);
  trace.kernels[10].start = trace.kernels[10].end = kNoStamp;
  trace.kernels[20].end = kNoStamp;
  Expect(Sanitise(trace), Verdict::kRepaired, Fault::kZeroStamp, 2, 98);
}

TEST(Sanitiser, TooManyZeroStampsRefuseTheTrace) {
  ActivityTrace trace = SoundTrace(100);
  for (std::size_t i = 0; i < 40; ++i) trace.kernels[i].start = kNoStamp;
  const SanitisedTrace result = Sanitise(trace);
  Expect(result, Verdict::kRefused, Fault::kZeroStamp, 40, 60);
  EXPECT_EQ(result.sentence,
            "refused: 40 of 100 device records (40.0 %) are false or missing, more than 5 %: 40 zero stamp");
}

TEST(Sanitiser, StampsOfAForeignClockAreLeftOut) {
  ActivityTrace trace = SoundTrace(100);
  for (const std::size_t i : {50u, 51u}) {
    trace.kernels[i].start += 100'000'000'000'000;  // 1e14 ns, as reported
    trace.kernels[i].end += 100'000'000'000'000;
  }
  Expect(Sanitise(trace), Verdict::kRepaired, Fault::kForeignClock, 2, 98);
}

TEST(Sanitiser, AForeignClockIsSeenWithoutRecordsOfTheHost) {
  ActivityTrace trace = SoundTrace(100);
  trace.calls.clear();
  trace.markers.clear();
  trace.synchronisations.clear();
  trace.kernels[99].start += 100'000'000'000'000;
  trace.kernels[99].end += 100'000'000'000'000;
  Expect(Sanitise(trace), Verdict::kRepaired, Fault::kForeignClock, 1, 99);
}

TEST(Sanitiser, KernelsBeforeTheirLaunchLoseTheirDelayAlone) {
  ActivityTrace trace = SoundTrace(100);
  trace.kernels[5].start -= 30'000;
  trace.kernels[5].end -= 30'000;
  const SanitisedTrace result = Sanitise(trace);
  Expect(result, Verdict::kRepaired, Fault::kBeforeLaunch, 1, 100);
  EXPECT_NE(result.Find(Fault::kBeforeLaunch)->sentence.find("by up to 10.0 us"), std::string::npos);
  std::size_t without_cause = 0;
  for (const Gap& gap : Correlate(result.trace).gaps) without_cause += gap.cause == Gap::Cause::kUnknown;
  EXPECT_EQ(without_cause, 1u);
}

TEST(Sanitiser, AClockBehindTheHostsIsRefused) {
  ActivityTrace trace = SoundTrace(100);
  for (KernelRecord& kernel : trace.kernels) {
    kernel.start -= 30'000;
    kernel.end -= 30'000;
  }
  Expect(Sanitise(trace), Verdict::kRefused, Fault::kBeforeLaunch, 100, 100);
}

TEST(Sanitiser, ACorruptDurationIsSeenByTheSuccessorsItCovers) {
  ActivityTrace trace = SoundTrace(100);
  trace.kernels[30].end = trace.kernels[33].end + 1000;
  const SanitisedTrace result = Sanitise(trace);
  Expect(result, Verdict::kRepaired, Fault::kCorruptDuration, 1, 99);
  for (const KernelRecord& kernel : result.trace.kernels) EXPECT_EQ(kernel.end - kernel.start, 30'000);
}

TEST(Sanitiser, ACorruptDurationOfTheLastOneIsSeenByTheEndOfTheRun) {
  ActivityTrace trace = SoundTrace(100);
  trace.kernels[99].end += 5'000'000'000'000;
  trace.kernels[98].end = trace.kernels[98].start - 1;
  Expect(Sanitise(trace), Verdict::kRepaired, Fault::kCorruptDuration, 2, 98);
}

TEST(Sanitiser, OverlapsOnAStreamAreLeftOutWithinTheClocksResolutionKept) {
  ActivityTrace trace = SoundTrace(100);
  trace.kernels[40].end = trace.kernels[41].start + 10'000;
  trace.kernels[60].end = trace.kernels[61].start + 1'000;
  Expect(Sanitise(trace), Verdict::kRepaired, Fault::kOverlap, 1, 99);
}

// Programmatic dependent launch: kernels of Hopper begin while the last blocks of their predecessor run.
TEST(Sanitiser, EarlyStartsAreKeptWhereTheLaunchAllowsThem) {
  ActivityTrace trace = SoundTrace(100);
  for (std::size_t i = 1; i < 100; ++i) trace.kernels[i].start = trace.kernels[i - 1].end - 3'000;
  EXPECT_EQ(Sanitise(trace).verdict, Verdict::kRefused);
  for (ApiCall& call : trace.calls) call.name = "cudaLaunchKernelExC";
  const SanitisedTrace result = Sanitise(trace);
  EXPECT_EQ(result.trace.kernels.size(), 100u) << result.sentence;
  EXPECT_EQ(result.Find(Fault::kOverlap), nullptr);
  trace.kernels[9].end = trace.kernels[20].end;  // one that covers its successors is corrupt all the same
  EXPECT_NE(Sanitise(trace).Find(Fault::kCorruptDuration), nullptr);
}

TEST(Sanitiser, OtherStreamsAndEqualStampsAreNoOverlap) {
  ActivityTrace trace = SoundTrace(100);
  trace.kernels[40].end = trace.kernels[42].end;
  trace.kernels[40].stream = 8;
  trace.kernels[51].start = trace.kernels[50].start;
  trace.calls[51].start = trace.kernels[51].start - 5'000;
  trace.calls[51].end = trace.kernels[51].start;
  EXPECT_EQ(Sanitise(trace).verdict, Verdict::kUsable) << Sanitise(trace).sentence;
}

TEST(Sanitiser, DroppedBuffersAndLostKernelsAreCounted) {
  ActivityTrace trace = SoundTrace(100);
  trace.lost_records = 2;
  trace.kernels.erase(trace.kernels.begin() + 3);
  const SanitisedTrace result = Sanitise(trace);
  Expect(result, Verdict::kRepaired, Fault::kLostRecords, 3, 99);
  EXPECT_EQ(result.Find(Fault::kLostRecords)->sentence,
            "records are missing: 2 dropped by the recorder, 1 launched but never seen on a device");
  trace.lost_records = 20;
  EXPECT_EQ(Sanitise(trace).verdict, Verdict::kRefused);
}

TEST(Sanitiser, WorkThatBeganBeforeTheRecordingHasNoLaunch) {
  ActivityTrace trace = SoundTrace(100);
  trace.calls.erase(trace.calls.begin(), trace.calls.begin() + 2);
  Expect(Sanitise(trace), Verdict::kUsable, Fault::kLostRecords, 2, 100);
}

// Nodes 0 ... 9 become one launch of a graph.
ActivityTrace GraphTrace() {
  ActivityTrace trace = SoundTrace(100);
  trace.calls[0].name = "cudaGraphLaunch";
  trace.calls.erase(trace.calls.begin() + 1, trace.calls.begin() + 10);
  for (std::size_t i = 0; i < 10; ++i) {
    trace.kernels[i].graph = 4;
    trace.kernels[i].graph_node = static_cast<Id>(i + 1);
    trace.kernels[i].correlation = 1;
  }
  return trace;
}

TEST(Sanitiser, NodesOfAGraphAreKnownByOneLaunchAndMayOverlap) {
  ActivityTrace trace = GraphTrace();
  trace.kernels[3].end = trace.kernels[4].end;
  const SanitisedTrace result = Sanitise(trace);
  Expect(result, Verdict::kUsable, Fault::kGraphNodes, 10, 100);
  EXPECT_EQ(result.Find(Fault::kGraphNodes)->sentence,
            "10 device records belong to 1 launch of CUDA graphs and have no launch of their own");
}

TEST(Sanitiser, AGraphWithoutItsNodesIsRefused) {
  ActivityTrace trace = GraphTrace();
  trace.kernels.erase(trace.kernels.begin(), trace.kernels.begin() + 10);
  Expect(Sanitise(trace), Verdict::kRefused, Fault::kHiddenGraph, 1, 90);
}

TEST(Sanitiser, LaunchesIntoACaptureRunNothing) {
  ActivityTrace trace = SoundTrace(100);
  trace.calls[10].name = "cudaStreamBeginCapture";
  trace.calls[20].name = "cudaStreamEndCapture";
  trace.kernels.erase(trace.kernels.begin() + 10, trace.kernels.begin() + 21);
  EXPECT_EQ(Sanitise(trace).verdict, Verdict::kUsable) << Sanitise(trace).sentence;
}

// The runtime's launch calls the driver's; the kernel has the correlation of one of the two.
TEST(Sanitiser, ADriversCallInsideOfARuntimesIsTheSameLaunch) {
  ActivityTrace trace = SoundTrace(100);
  for (std::size_t i = 0; i < 100; ++i) {
    ApiCall inside = trace.calls[i];
    inside.name = "cuLaunchKernel";
    inside.level = ApiCall::Level::kDriver;
    inside.start += 1000;
    inside.end -= 1000;
    inside.correlation += 1000;
    if (i % 2 == 0) trace.kernels[i].correlation = inside.correlation;
    trace.calls.push_back(inside);
  }
  const SanitisedTrace result = Sanitise(trace);
  EXPECT_EQ(result.verdict, Verdict::kUsable) << result.sentence;
  EXPECT_TRUE(result.findings.empty());
  trace.kernels.erase(trace.kernels.begin(), trace.kernels.begin() + 2);
  Expect(Sanitise(trace), Verdict::kRepaired, Fault::kLostRecords, 2, 98);
}

TEST(Sanitiser, NoRecordOfTheDeviceIsRefusedWithTheRecordersReason) {
  ActivityTrace trace = SoundTrace(100);
  trace.kernels.clear();
  trace.refused = {"kernels: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"};
  const SanitisedTrace result = Sanitise(trace);
  Expect(result, Verdict::kRefused, Fault::kNoDevice, 100, 0);
  EXPECT_EQ(result.sentence,
            "refused: 100 launches were made, but no record of any device: kernels: "
            "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES");
}

TEST(Sanitiser, HostRecordsThatCannotBeTrueAreLeftOut) {
  ActivityTrace trace = SoundTrace(100);
  trace.markers[7].end = trace.markers[7].start - 1;
  trace.markers[8].start = kNoStamp;
  Expect(Sanitise(trace), Verdict::kRepaired, Fault::kHostClock, 2, 100);
}

TEST(Sanitiser, RecordsOfTheHostAloneAreUsable) {
  ActivityTrace trace = SoundTrace(10);
  trace.kernels.clear();
  trace.calls.clear();
  EXPECT_EQ(Sanitise(trace).verdict, Verdict::kUsable) << Sanitise(trace).sentence;
}

RC_GTEST_PROP(Sanitiser, TakesAnythingAndIsDoneAfterOnePass, ()) {
  const SanitisedTrace once = Sanitise(*RandomTrace());
  RC_ASSERT(!once.sentence.empty());
  for (const Finding& finding : once.findings)
    RC_ASSERT(finding.count >= finding.left_out && finding.count > 0);
  const Correlation correlation = Correlate(once.trace);
  RC_ASSERT(correlation.work.size() ==
            once.trace.kernels.size() + once.trace.copies.size() + once.trace.memsets.size());
  for (const WorkRef ref : WorkByStart(once.trace)) {
    const DeviceWork& work = WorkAt(once.trace, ref);
    RC_ASSERT(work.start != kNoStamp && work.end >= work.start);
  }
}

}  // namespace
}  // namespace stowplan::profiler
