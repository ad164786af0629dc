// CUPTI's buffers fabricated in memory: the parsing of its records is tested without a GPU.
#include "profiler/cuda/cupti_activity.h"

#include <cupti.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "profiler/traces/correlation.h"
#include "profiler/traces/sanitiser.h"
#include "tests/testing.h"

namespace stowplan::profiler::cuda {
namespace {

// Records behind one another, as CUPTI packs them.
class Buffer {
 public:
  template <typename Record>
  Buffer& Add(const Record& record) {
    static_assert(sizeof(Record) % 8 == 0);
    const std::size_t at = words_.size();
    words_.resize(at + sizeof(Record) / 8);
    std::memcpy(&words_[at], &record, sizeof(Record));
    return *this;
  }
  std::size_t bytes() const { return words_.size() * 8; }
  ActivityTrace Decoded(std::size_t bytes) {
    ActivityTrace trace;
    CuptiActivity::OpenRanges ranges;
    DecodeInto(bytes, trace, ranges);
    return trace;
  }
  ActivityTrace Decoded() { return Decoded(bytes()); }
  void DecodeInto(std::size_t bytes, ActivityTrace& trace, CuptiActivity::OpenRanges& ranges) {
    CuptiActivity::Decode(reinterpret_cast<std::uint8_t*>(words_.data()), bytes, trace, ranges);
  }

 private:
  std::vector<std::uint64_t> words_;
};

CUpti_ActivityKernel10 FakeKernel(std::uint32_t correlation, std::uint64_t start) {
  CUpti_ActivityKernel10 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.name = "gemm";
  record.start = start;
  record.end = start + 50;
  record.streamId = 7;
  record.correlationId = correlation;
  record.gridX = 4;
  record.blockX = 128;
  record.registersPerThread = 32;
  record.dynamicSharedMemory = 1024;
  return record;
}

CUpti_ActivityAPI LaunchRecord(std::uint32_t correlation, std::uint64_t start) {
  CUpti_ActivityAPI record{};
  record.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  record.cbid = 211;  // cudaLaunchKernel_v7000
  record.start = start;
  record.end = start + 5;
  record.processId = 40;
  record.threadId = 41;
  record.correlationId = correlation;
  return record;
}

CUpti_ActivityExternalCorrelation ExternalRecord(std::uint32_t correlation, std::uint64_t external) {
  CUpti_ActivityExternalCorrelation record{};
  record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  record.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
  record.externalId = external;
  record.correlationId = correlation;
  return record;
}

TEST(CuptiActivity, DecodesKernelsCallsAndTheirOps) {
  const ActivityTrace trace =
      Buffer().Add(ExternalRecord(3, 9)).Add(FakeKernel(3, 1000)).Add(LaunchRecord(3, 900)).Decoded();
  EXPECT_EQ(trace.cut_records, 0);
  ASSERT_EQ(trace.kernels.size(), 1u);
  EXPECT_EQ(trace.kernels[0].name, "gemm");
  EXPECT_EQ(trace.kernels[0].end - trace.kernels[0].start, 50);
  EXPECT_EQ(trace.kernels[0].stream, 7);
  EXPECT_EQ(trace.kernels[0].grid, (std::array<std::int32_t, 3>{4, 0, 0}));
  EXPECT_EQ(trace.kernels[0].dynamic_shared_bytes, 1024);
  ASSERT_EQ(trace.calls.size(), 1u);
  EXPECT_TRUE(IsKernelLaunch(trace.calls[0].name)) << trace.calls[0].name;
  EXPECT_EQ(trace.calls[0].thread, 41);
  EXPECT_EQ(trace.external, std::vector<ExternalCorrelation>({{9, 3}}));
}

TEST(CuptiActivity, DecodesCopiesFillsWaitsMemoryAndOverhead) {
  CUpti_ActivityMemcpy6 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.bytes = 4096;
  CUpti_ActivityMemcpyPtoP4 peer{};
  peer.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  peer.srcDeviceId = 1;
  peer.dstDeviceId = 2;
  CUpti_ActivityMemset4 memset{};
  memset.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  memset.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC;
  memset.graphId = 5;
  memset.graphNodeId = 6;
  CUpti_ActivitySynchronization2 wait{};
  wait.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  wait.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
  wait.streamId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  CUpti_ActivityMemory4 memory{};
  memory.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  memory.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  memory.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  memory.bytes = 77;
  CUpti_ActivityOverhead3 overhead{};
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  const ActivityTrace trace =
      Buffer().Add(overhead).Add(memory).Add(wait).Add(memset).Add(peer).Add(copy).Decoded();
  EXPECT_EQ(trace.cut_records, 0);
  ASSERT_EQ(trace.copies.size(), 2u);
  EXPECT_EQ(trace.copies[0].to_device, 2);
  EXPECT_EQ(trace.copies[1].from, MemoryKind::kPinned);
  EXPECT_EQ(trace.copies[1].bytes, 4096);
  EXPECT_EQ(trace.memsets.at(0).kind, MemoryKind::kDevice);
  EXPECT_EQ(trace.memsets.at(0).graph_node, 6);
  EXPECT_EQ(trace.synchronisations.at(0).what, Synchronisation::What::kContext);
  EXPECT_EQ(trace.synchronisations.at(0).stream, 0);
  EXPECT_EQ(trace.memory.at(0).what, MemoryEvent::What::kFree);
  EXPECT_EQ(trace.memory.at(0).bytes, 77);
  EXPECT_EQ(trace.overheads.at(0).name, "buffer flush");
}

TEST(CuptiActivity, BothEndsOfARangeBecomeOneMarker) {
  CUpti_ActivityMarker2 end{}, start{};
  start.kind = end.kind = CUPTI_ACTIVITY_KIND_MARKER;
  start.id = end.id = 3;
  start.flags = CUPTI_ACTIVITY_FLAG_MARKER_START;
  start.timestamp = 100;
  start.name = "step";
  end.flags = CUPTI_ACTIVITY_FLAG_MARKER_END;
  end.timestamp = 200;
  const ActivityTrace trace = Buffer().Add(end).Add(start).Decoded();
  ASSERT_EQ(trace.markers.size(), 1u);
  EXPECT_EQ(trace.markers[0].name, "step");
  EXPECT_EQ(trace.markers[0].start, 100);
  EXPECT_EQ(trace.markers[0].end, 200);
}

CUpti_ActivityMarker2 RangeEnd(std::uint32_t id, bool starts, std::uint64_t time) {
  CUpti_ActivityMarker2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MARKER;
  record.flags = starts ? CUPTI_ACTIVITY_FLAG_MARKER_START : CUPTI_ACTIVITY_FLAG_MARKER_END;
  record.id = id;
  record.timestamp = time;
  return record;
}

TEST(CuptiActivity, RangesGoFromBufferToBufferAndTheirIdsMayComeAgain) {
  ActivityTrace trace;
  CuptiActivity::OpenRanges ranges;
  for (const auto& [id, starts, time] :
       std::vector<std::tuple<std::uint32_t, bool, std::uint64_t>>{{1, true, 100},
                                                                   {2, true, 110},
                                                                   {2, false, 120},
                                                                   {1, false, 200},
                                                                   {1, true, 300},
                                                                   {1, false, 400}}) {
    Buffer one;
    one.Add(RangeEnd(id, starts, time));
    one.DecodeInto(one.bytes(), trace, ranges);
  }
  ASSERT_EQ(trace.markers.size(), 3u);
  EXPECT_EQ(trace.markers[0].end - trace.markers[0].start, 10);
  EXPECT_EQ(trace.markers[1].end - trace.markers[1].start, 100);
  EXPECT_EQ(trace.markers[2].start, 300);
  EXPECT_TRUE(ranges.empty());
}

TEST(CuptiActivity, ARangeThatIsNeverClosedIsKeptWithoutItsEnd) {
  ActivityTrace trace;
  CuptiActivity::OpenRanges ranges;
  Buffer buffer;
  buffer.Add(RangeEnd(1, true, 100));
  buffer.DecodeInto(buffer.bytes(), trace, ranges);
  EXPECT_TRUE(trace.markers.empty());
  CuptiActivity::AddOpen(trace, ranges);
  ASSERT_EQ(trace.markers.size(), 1u);
  EXPECT_EQ(trace.markers[0].start, 100);
  EXPECT_EQ(trace.markers[0].end, kNoStamp);
  EXPECT_TRUE(ranges.empty());
}

TEST(CuptiActivity, AnEmptyBufferIsNoFault) {
  const ActivityTrace trace = Buffer().Add(FakeKernel(1, 10)).Decoded(0);
  EXPECT_TRUE(trace.kernels.empty());
  EXPECT_EQ(trace.cut_records, 0);
}

RC_GTEST_PROP(CuptiActivity, ATruncatedBufferGivesWhatIsWholeAndCountsTheCut, ()) {
  Buffer buffer;
  std::vector<std::size_t> ends = {0};
  for (std::uint32_t i = 1; i <= 4; ++i) {
    buffer.Add(LaunchRecord(i, i * 100));
    ends.push_back(buffer.bytes());
    buffer.Add(FakeKernel(i, i * 100 + 20));
    ends.push_back(buffer.bytes());
  }
  const std::size_t bytes = *rc::gen::inRange<std::size_t>(0, buffer.bytes() + 1);
  const ActivityTrace trace = buffer.Decoded(bytes);
  std::size_t whole = 0;
  while (whole + 1 < ends.size() && ends[whole + 1] <= bytes) ++whole;
  RC_ASSERT(trace.calls.size() + trace.kernels.size() == whole);
  RC_ASSERT(trace.cut_records == (ends[whole] < bytes ? 1 : 0));
}

RC_GTEST_PROP(CuptiActivity, RecordsOutOfOrderAreCorrelatedTheSame, ()) {
  constexpr std::uint32_t kCount = 6;
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < 3 * kCount; ++i) order.push_back(i);
  for (std::size_t i = order.size() - 1; i > 0; --i) {
    std::swap(order[i], order[*rc::gen::inRange<std::size_t>(0, i + 1)]);
  }
  Buffer buffer;
  for (const std::uint32_t number : order) {
    const std::uint32_t id = number / 3 + 1;
    if (number % 3 == 0) buffer.Add(LaunchRecord(id, id * 1000));
    if (number % 3 == 1) buffer.Add(FakeKernel(id, id * 1000 + 200));
    if (number % 3 == 2) buffer.Add(ExternalRecord(id, id + 50));
  }
  ActivityTrace trace = buffer.Decoded();
  for (std::uint32_t id = 1; id <= kCount; ++id) {
    trace.markers.push_back({"op", id * 1000, id * 1000 + 6, Marker::What::kOp, 40, 41, id + 50, {}});
  }
  RC_ASSERT(Sanitise(trace).verdict == SanitisedTrace::Verdict::kUsable);
  const Correlation correlation = Correlate(trace);
  RC_ASSERT(correlation.work.size() == kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    const LinkedWork& linked = correlation.work[i];
    RC_ASSERT(trace.calls[static_cast<std::size_t>(linked.call)].correlation == static_cast<Id>(i + 1));
    RC_ASSERT(linked.op == static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace
}  // namespace stowplan::profiler::cuda
