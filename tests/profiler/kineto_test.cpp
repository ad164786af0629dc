#include "profiler/traces/kineto.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include "profiler/traces/correlation.h"
#include "profiler/traces/sanitiser.h"
#include "tests/profiler/testing.h"
#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

using Json = nlohmann::json;

TEST(Kineto, EveryKindOfEventIsRead) {
  const KinetoTrace read = ReadKineto(SamplePath("kineto/every_kind.json"));
  const ActivityTrace& trace = read.trace;
  EXPECT_EQ(trace.base_ns, 1'763'640'000'000'000'000);
  ASSERT_EQ(trace.kernels.size(), 2u);
  const KernelRecord& kernel = trace.kernels[0];
  EXPECT_EQ(kernel.start, 5'000'025'001);
  EXPECT_EQ(kernel.end - kernel.start, 8'032);
  EXPECT_EQ(kernel.stream, 7);
  EXPECT_EQ(kernel.grid, (std::array<std::int32_t, 3>{1, 2, 1}));
  EXPECT_EQ(kernel.dynamic_shared_bytes, 32768);
  EXPECT_EQ(trace.kernels[1].start, kNoStamp);
  EXPECT_EQ(trace.kernels[1].graph_node, 9);
  ASSERT_EQ(trace.copies.size(), 1u);
  EXPECT_EQ(trace.copies[0].from, MemoryKind::kPageable);
  EXPECT_EQ(trace.copies[0].to, MemoryKind::kDevice);
  EXPECT_EQ(trace.copies[0].bytes, 4096);
  EXPECT_EQ(trace.memsets[0].kind, MemoryKind::kDevice);
  ASSERT_EQ(trace.calls.size(), 2u);
  EXPECT_EQ(trace.calls[1].level, ApiCall::Level::kDriver);
  EXPECT_EQ(trace.synchronisations[0].what, Synchronisation::What::kStream);
  EXPECT_EQ(trace.overheads[0].process, -1);
  ASSERT_EQ(trace.memory.size(), 2u);
  EXPECT_EQ(trace.memory[1].what, MemoryEvent::What::kFree);
  EXPECT_EQ(trace.memory[1].bytes, 4096);
  ASSERT_EQ(trace.markers.size(), 2u);
  EXPECT_EQ(trace.markers[0].what, Marker::What::kAnnotation);
  EXPECT_NE(sim::FindAttribute(trace.markers[1].attributes, "Input Dims"), nullptr);
  EXPECT_EQ(trace.external, std::vector<ExternalCorrelation>({{2, 77}}));
  EXPECT_EQ(read.ignored, (std::map<std::string, std::int64_t>{{"X Trace", 1}, {"X python_function", 1}}));
  EXPECT_FALSE(read.mended);
}

// Names that are nowhere closed as theirs are, in one line: each was looked for up to the end of the file.
TEST(Kineto, ManyOddNamesAreNoWork) {
  std::string json = R"({"traceEvents": [)";
  for (int i = 0; i < 100'000; ++i) json += R"({"name": "a"},)";
  EXPECT_THROW(ParseKineto(json + "]}", "odd.json"), InputError);
}

// What a profiler leaves that is killed: the events before, and that there were more.
TEST(Kineto, ACutTraceHasItsWholeEvents) {
  const std::string whole =
      R"({"schemaVersion": 1, "traceEvents": [
          {"ph": "X", "cat": "kernel", "name": "a{[", "ts": 5, "dur": 2, "args": {"stream": 7, "correlation": 1}},
          {"ph": "s", "id": 1, "ts": 5},
          {"ph": "X", "cat": "kernel", "name": "b", "ts": 8, "dur": 2, "args": {"stream": 7, "correlation": 2}}], "more": 1})";
  EXPECT_FALSE(ParseKineto(whole, "whole.json").cut);
  EXPECT_EQ(ParseKineto(whole, "whole.json").trace.kernels.size(), 2);
  for (const auto& [end, kernels] : {std::pair{"\"more\"", 2}, {"\"b\"", 1}, {"7, \"correlation\": 1", 0}}) {
    const KinetoTrace read = ParseKineto(whole.substr(0, whole.find(end)), "cut.json");
    EXPECT_TRUE(read.cut) << end;
    EXPECT_EQ(read.trace.kernels.size(), static_cast<std::size_t>(kernels)) << end;
  }
  EXPECT_THROW(ParseKineto(whole.substr(0, 20), "cut.json"), InputError) << "before the list of events";
}

TEST(Kineto, OpsAndKernelsAreTied) {
  const ActivityTrace trace = ReadKineto(SamplePath("kineto/every_kind.json")).trace;
  const Correlation correlation = Correlate(trace);
  Nanos of_mm = 0;
  for (const LinkedWork& work : correlation.work) {
    if (work.op == kNobody) continue;
    EXPECT_EQ(trace.markers[static_cast<std::size_t>(work.op)].name, "aten::mm");
    of_mm += work.device_time;
  }
  EXPECT_EQ(of_mm, 8'032);
  EXPECT_EQ(Sanitise(trace).Find(Fault::kZeroStamp)->count, 1);
}

TEST(Kineto, OldVersionsAndBuildsWithoutItAreRead) {
  const auto read = [](const char* events) { return ParseKineto(events, "trace.json").trace; };
  const ActivityTrace bare = read(
      R"([{"name": "aten::mm", "ph": "X", "ts": 0, "dur": 18, "tid": 1, "pid": "CPU functions", "args": {}}])");
  ASSERT_EQ(bare.markers.size(), 1u);
  EXPECT_GT(bare.markers[0].start, kNoStamp);
  EXPECT_EQ(bare.markers[0].end - bare.markers[0].start, 18'000);
  const ActivityTrace old = read(R"json({"traceEvents": [
      {"ph": "X", "cat": "Kernel", "name": "k", "pid": 0, "tid": "stream 7", "ts": 1600000000000000, "dur": 3,
       "args": {"device": 0, "stream": "7", "correlation": 5, "external id": 8}},
      {"ph": "X", "cat": "Memcpy", "name": "Memcpy DtoH (Device -> Pinned)", "pid": 0, "tid": 7, "ts": 9, "dur": 3},
      {"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 2, "ts": 8, "dur": 1,
       "args": {"correlation": 5}},
      {"ph": "X", "cat": "Operator", "name": "mm", "pid": 1, "tid": 2, "ts": 7, "dur": 3,
       "args": {"External id": "8"}}]})json");
  ASSERT_EQ(old.kernels.size(), 1u);
  EXPECT_EQ(old.kernels[0].stream, 7);
  EXPECT_EQ(old.copies[0].to, MemoryKind::kPinned);
  EXPECT_EQ(old.calls.size(), 1u);
  EXPECT_EQ(old.external, std::vector<ExternalCorrelation>({{8, 5}}));
  EXPECT_EQ(old.markers[0].external, 8);
}

// PyTorch 1.x, and newer versions where no op is around a call, write the correlation where the op's id belongs.
TEST(Kineto, ACorrelationIsNoOp) {
  const ActivityTrace trace = ParseKineto(R"json({"traceEvents": [
      {"ph": "X", "cat": "cpu_op", "name": "aten::to", "pid": 1, "tid": 2, "ts": 1, "dur": 1, "args": {"External id": 5}},
      {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 2, "ts": 7, "dur": 3, "args": {"External id": 6}},
      {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 2, "ts": 8, "dur": 1,
       "args": {"External id": 5, "correlation": 5}},
      {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 9, "dur": 3,
       "args": {"External id": 5, "correlation": 5}}]})json",
                                          "trace.json")
                                  .trace;
  EXPECT_TRUE(trace.external.empty());
  const Correlation correlation = Correlate(trace);
  ASSERT_EQ(correlation.work.size(), 1u);
  EXPECT_EQ(trace.markers.at(static_cast<std::size_t>(correlation.work[0].op)).name, "aten::mm");
}

TEST(Kineto, TellsTheGpuThatWorked) {
  const auto read = [](const char* devices) {
    return ParseKineto(
               std::string(R"({"deviceProperties": )") + devices +
                   R"(, "traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 1, "tid": 7, "ts": 9,
                               "dur": 3, "args": {"device": 1}}]})",
               "trace.json")
        .gpu;
  };
  EXPECT_EQ(read(R"([{"id": 0, "name": "Tesla T4"}, {"id": 1, "name": "NVIDIA H200"}])"), "NVIDIA H200");
  EXPECT_EQ(read("[]"), "");
  EXPECT_EQ(read("7"), "");
}

TEST(Kineto, RocmSaysHost) {
  const Copy copy = ParseKineto(R"json({"traceEvents": [{"ph": "X", "cat": "gpu_memcpy", "ts": 9, "dur": 3,
      "name": "Memcpy HtoD (Host -> Device)", "pid": 1, "tid": 7}]})json",
                                "trace.json")
                        .trace.copies.at(0);
  EXPECT_EQ(copy.from, MemoryKind::kPageable);
  EXPECT_EQ(copy.to, MemoryKind::kDevice);
}

TEST(Kineto, QuotesInNamesAreMended) {
  const KinetoTrace read = ParseKineto(
      "{\"traceEvents\": [\n{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"f<\"a\">\", \"pid\": 0, "
      "\"tid\": 7,\n"
      "\"ts\": 5, \"dur\": 1, \"args\": {}}]}",
      "trace.json");
  EXPECT_TRUE(read.mended);
  EXPECT_EQ(read.trace.kernels[0].name, "f<\"a\">");
}

// A trace that Kineto can say: times of this century, one op for a call that is there, no doubled ids.
ActivityTrace Expressible(ActivityTrace trace) {
  constexpr Nanos kLongest = Nanos{1} << 50;
  const auto bound = [](Nanos& start, Nanos& end) {
    start = std::abs(start % kLongest);
    end = start + end % kLongest;
  };
  ForEachDeviceWork(trace, [&](DeviceWork& work) { bound(work.start, work.end); });
  for (KernelRecord& kernel : trace.kernels) {
    for (sim::Bytes* bytes : {&kernel.static_shared_bytes, &kernel.dynamic_shared_bytes})
      *bytes = std::abs(*bytes) / 2;
  }
  const auto bound_all = [&](auto& records) {
    for (auto& record : records) bound(record.start, record.end);
  };
  bound_all(trace.calls);
  bound_all(trace.synchronisations);
  bound_all(trace.overheads);
  bound_all(trace.markers);
  for (MemoryEvent& event : trace.memory) {
    event.time = std::abs(event.time % kLongest);
    event.bytes = std::abs(event.bytes);
  }
  trace.external.clear();
  Id next = 1;
  for (ApiCall& call : trace.calls) {
    call.correlation = next++;
    trace.external.push_back({call.correlation + 100, call.correlation});
  }
  ForEachDeviceWork(trace, [&](DeviceWork& work) { work.correlation = next++; });
  return trace;
}

RC_GTEST_PROP(Kineto, WhatIsWrittenReadsBackEqual, ()) {
  const ActivityTrace trace = Expressible(*RandomTrace());
  const KinetoTrace read = ParseKineto(PrintKineto(trace), "printed");
  RC_ASSERT(read.trace == trace);
  RC_ASSERT(read.ignored.empty());
}

TEST(Kineto, TheSampleSurvivesBeingWritten) {
  const ActivityTrace trace = ReadKineto(SamplePath("kineto/every_kind.json")).trace;
  EXPECT_EQ(ParseKineto(PrintKineto(trace), "printed").trace, trace);
}

TEST(Kineto, EveryLaunchHasAnArrow) {
  const Json events = Json::parse(PrintKineto(SoundTrace(3))).at("traceEvents");
  std::multiset<std::string> phases;
  for (const Json& event : events) {
    if (event.value("cat", "") == "ac2g") phases.insert(event.at("ph").get<std::string>());
  }
  EXPECT_EQ(phases, (std::multiset<std::string>{"f", "f", "f", "s", "s", "s"}));
}

}  // namespace
}  // namespace stowplan::profiler
