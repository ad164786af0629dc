#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include "profiler/traces/record_fields.h"
#include "profiler/traces/recording_stream.h"
#include "sim/formats/formats.h"
#include "tests/profiler/testing.h"
#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

using Json = nlohmann::json;

Recording RecordingOf(ActivityTrace trace) {
  Recording recording;
  recording.kind = kActivityKind;
  recording.machine = {{"cpu", {std::string("a CPU")}}};
  Part part;
  part.date = "2026-11-21T03:00:00+00:00";
  part.activity = std::move(trace);
  recording.Put("step", part);
  return recording;
}

RC_GTEST_PROP(Recording, AnyTraceReadsBackEqual, ()) {
  const Recording recording = RecordingOf(*RandomTrace());
  RC_ASSERT(ParseRecording(PrintRecording(recording), "printed") == recording);
}

TEST(Recording, OfPyTorchIsReadInFull) {
  const Recording recording = ReadRecording(SamplePath("trace.json"));
  EXPECT_EQ(recording.kind, "pytorch.copies");
  EXPECT_TRUE(recording.quick);
  ASSERT_EQ(recording.parts.size(), 2u);
  EXPECT_EQ(recording.Find("h2d")->outcome, Part::Outcome::kSkipped);
  EXPECT_EQ(recording.Find("h2d")->reason, "there is no accelerator");
  EXPECT_TRUE(std::holds_alternative<sim::Attribute::List>(recording.Find("on_device")->result.value));
  EXPECT_EQ(ParseRecording(PrintRecording(recording), "printed"), recording);
}

TEST(Recording, OfActivityHoldsRecords) {
  const Recording recording = ReadRecording(SamplePath("trace.activity.json"));
  const ActivityTrace& trace = *recording.Find("step")->activity;
  ASSERT_EQ(trace.kernels.size(), 1u);
  EXPECT_EQ(trace.kernels[0].end - trace.kernels[0].start, 12500);
  EXPECT_EQ(trace.kernels[0].grid, (std::array<std::int32_t, 3>{16, 8, 1}));
  EXPECT_EQ(trace.copies[0].from, MemoryKind::kPinned);
  EXPECT_EQ(trace.memsets[0].graph_node, 4);
  EXPECT_EQ(trace.calls[1].level, ApiCall::Level::kDriver);
  EXPECT_EQ(trace.markers[0].external, trace.external[0].external);
  EXPECT_EQ(trace.refused, std::vector<std::string>{"memory: no permission"});
}

TEST(Recording, IsWrittenCompressedAndReadBack) {
  const tests::TempFolder folder;
  const std::string path = folder / "recording.json.zst";
  const Recording recording = RecordingOf(SoundTrace(200));
  WriteRecording(path, recording);
  EXPECT_LT(std::filesystem::file_size(path) * 10, PrintRecording(recording).size());
  EXPECT_EQ(ReadRecording(path), recording);
}

TEST(Recording, FailedPartsAreTriedAgainSkippedOnesNot) {
  Recording recording;
  EXPECT_FALSE(recording.Done("a"));
  recording.Put("a", {.outcome = Part::Outcome::kFailed, .reason = "driver", .date = "2026"});
  EXPECT_FALSE(recording.Done("a"));
  recording.Put("a", {.outcome = Part::Outcome::kSkipped, .reason = "no device", .date = "2026"});
  EXPECT_TRUE(recording.Done("a"));
  EXPECT_EQ(recording.parts.size(), 1u);
}

TEST(Recording, IncompletePartsAreGoneOnWithAndSayWhy) {
  Recording recording;
  recording.kind = kProbesKind;
  recording.machine = {{"cpu", {std::string("a CPU")}}};
  recording.Put("gemm",
                {.incomplete = "stopped behind 3 rows", .date = "2026", .result = {sim::Attributes{}}});
  EXPECT_FALSE(recording.Done("gemm"));
  EXPECT_EQ(ParseRecording(PrintRecording(recording), "printed"), recording);
  recording.parts[0].second.incomplete.clear();
  EXPECT_TRUE(recording.Done("gemm"));
}

TEST(Recording, SchemaKnowsTheSameFieldsAsTheReader) {
  std::ifstream file(STOWPLAN_SOURCE_DIR "/docs/schema/trace.json");
  const Json properties = Json::parse(file).at("$defs").at("activity").at("properties");
  ActivityTrace trace;
  std::size_t lists = 0;
  VisitLists(trace, [&](std::string_view list, auto& records) {
    ++lists;
    std::set<std::string> fields, described;
    VisitFields(records.emplace_back(), [&](std::string_view key, auto&&...) { fields.emplace(key); });
    for (const auto& [key, unused] : properties.at(std::string(list)).at("items").at("properties").items()) {
      described.insert(key);
    }
    EXPECT_EQ(fields, described) << list;
  });
  EXPECT_EQ(properties.size(), lists + 5);  // and what stands beside the lists
}

}  // namespace
}  // namespace stowplan::profiler
