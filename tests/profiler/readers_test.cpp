// Files that are damaged in a fixed way: every reader refuses them or reads them, and nothing else happens.
#include "tests/profiler/readers.h"

#include "profiler/step_recording.h"
#include "sim/formats/formats.h"
#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

const ProfilerReader& ReaderOf(std::string_view name) {
  for (const ProfilerReader& reader : ProfilerReaders()) {
    if (name == reader.name) return reader;
  }
  throw RunError("no reader " + std::string(name));
}

// Cut off, a byte changed, a piece doubled or lost, at places that a fixed sequence draws.
void TryDamaged(const ProfilerReader& reader, const std::string& sample) {
  reader.read(sample);
  std::uint32_t state = 7;
  const auto draw = [&state](std::size_t below) {
    state = state * 1664525U + 1013904223U;
    return static_cast<std::size_t>(state >> 8) % below;
  };
  for (int i = 0; i < 600; ++i) {
    std::string text = sample;
    const std::size_t at = draw(text.size());
    switch (i % 4) {
      case 0:
        text.resize(at);
        break;
      case 1:
        text[at] = "0-9\"[]{},:e.\x80 "[draw(15)];
        break;
      case 2:
        text.insert(at, text.substr(draw(text.size()), 1 + draw(60)));
        break;
      default:
        text.erase(at, 1 + draw(30));
    }
    SCOPED_TRACE(text);
    reader.read(text);
  }
}

TEST(ProfilerReadersTest, SurviveDamagedTraces) {
  const std::string folder = STOWPLAN_SOURCE_DIR "/tests/profiler/samples";
  TryDamaged(ReaderOf("trace"), formats::ReadFile(folder + "/trace.json"));
  TryDamaged(ReaderOf("trace"), formats::ReadFile(folder + "/trace.activity.json"));
}

TEST(ProfilerReadersTest, SurviveDamagedKinetoTraces) {
  TryDamaged(ReaderOf("kineto"),
             formats::ReadFile(STOWPLAN_SOURCE_DIR "/tests/profiler/samples/kineto/every_kind.json"));
}

TEST(ProfilerReadersTest, SurviveDamagedStepRecordings) {
  TryDamaged(ReaderOf("validation"), std::string(SampleStepRecording()));
}

}  // namespace
}  // namespace stowplan::profiler
