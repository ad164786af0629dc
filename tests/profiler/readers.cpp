#include "tests/profiler/readers.h"

#include <string>

#include "profiler/step_recording.h"
#include "profiler/traces/kineto.h"
#include "profiler/traces/recording.h"
#include "profiler/traces/sanitiser.h"
#include "sim/base/error.h"
#include "sim/formats/formats.h"

namespace stowplan::profiler {
namespace {

template <typename Print>
void TwiceTheSame(std::string_view text, const Print& print) {
  std::string printed;
  try {
    printed = print(text, "input");
  } catch (const InputError& error) {
    STOWPLAN_CHECK(*error.what() != '\0');
    return;
  }
  STOWPLAN_CHECK_EQ(print(printed, "printed"), printed);
}

// What is done with any trace that somebody brings.
void Use(const ActivityTrace& trace) {
  STOWPLAN_CHECK(!Sanitise(trace).sentence.empty());
}

void TryRecording(std::string_view text) {
  TwiceTheSame(text, [](std::string_view json, const char* source) {
    const Recording recording = ParseRecording(json, source);
    for (const auto& [name, part] : recording.parts) {
      if (part.activity) Use(*part.activity);
    }
    return PrintRecording(recording);
  });
}

void TryKineto(std::string_view text) {
  TwiceTheSame(text, [](std::string_view json, const char* source) {
    const KinetoTrace read = ParseKineto(json, source);
    Use(read.trace);
    return PrintKineto(read.trace);
  });
}

// Knows one workload of two ops and kinds of devices by their first letter.
class TwoKinds : public sim::HardwareCatalogue {
 public:
  const sim::DeviceKind* FindDevice(const std::string& kind) const override {
    return kind.starts_with("c") ? &cpu_ : &gpu_;
  }
  const sim::LinkKind* FindLink(const std::string&) const override { return nullptr; }
  std::vector<std::string> DeviceNames() const override { return {"cpu", "gpu"}; }
  std::vector<std::string> LinkNames() const override { return {}; }

 private:
  sim::DeviceKind cpu_{.name = "cpu", .device_class = sim::DeviceClass::kCpu, .memory = {}};
  sim::DeviceKind gpu_{.name = "gpu", .device_class = sim::DeviceClass::kGpu, .memory = {}};
};

void TryStepRecording(std::string_view text) {
  TwiceTheSame(text, [](std::string_view json, const char* source) {
    return PrintStepRecording(ParseStepRecordingOfTwo(json, source));
  });
}

}  // namespace

StepRecording ParseStepRecordingOfTwo(std::string_view json, const char* source) {
  const auto load = [](const std::string&) {
    return formats::ParseGraph(R"({"format": "stowplan.graph", "version": 1, "name": "two", "ops": [
      {"name": "a", "type": "T", "outputs": [{"bytes": 1000}]}, {"name": "b", "type": "T", "inputs": ["a"]}]})",
                               "the workload");
  };
  return ParseStepRecording(json, source, load, TwoKinds());
}

const std::vector<ProfilerReader>& ProfilerReaders() {
  static const std::vector<ProfilerReader> readers = {
      {"trace", TryRecording}, {"kineto", TryKineto}, {"validation", TryStepRecording}};
  return readers;
}

std::string_view SampleStepRecording() {
  return R"({"format": "stowplan.validation", "version": 2, "workload": "two",
 "provenance": {"machine": "a CPU", "date": "2026-11-21T07:00:00Z", "commit": "abc", "dirty": false, "command": "x", "software": {"onednn": "2.6.3"}},
 "load": {"before": 0.5, "after": 1}, "wanted_steps": 2, "pace_ns": 4600,
 "cluster": "{format: stowplan.cluster, version: 1, name: two, devices: [{name: a, kind: cpu, memory: 1kB}, {name: b, kind: cpu, memory: 1GiB}]}",
 "stand_ins": ["T"],
 "execution": {"stand_in_reasons": [{"type": "T", "reason": "no kernel"}], "multiprocessors": [64, 32]},
 "clocks": [{"before": 0, "clocks": {"clocks.sm": "345 MHz"}},
  {"before": 2, "clocks": {"clocks.sm": "1980 MHz"}}],
 "placements": [
  {"family": "blocks", "device": "01", "priority": [1,0.5],
   "steps_us": [203.100,202.900],
   "undisturbed": 2, "run": 3, "peak_bytes": [1024,1024], "least_peak_bytes": [1024,1024], "most_peak_bytes": [1024,2048]},
  {"family": "given", "device": "00", "order": [0,1],
   "steps_us": [],
   "undisturbed": 0, "run": 1, "peak_bytes": [1024,0], "least_peak_bytes": [1024,0], "most_peak_bytes": [1024,0],
   "oom": {"device": 0, "op": 0, "what": "output", "needed_bytes": 1024, "capacity_bytes": 1000, "exhausted": true}},
  {"family": "given", "device": "11",
   "steps_us": [150.000],
   "undisturbed": 1, "run": 1, "peak_bytes": [0,1024], "least_peak_bytes": [0,1024], "most_peak_bytes": [0,1024]}],
 "traced": [{"placement": 0, "ns": 203000,
  "ops": [[0,0,0,100000],[1,1,103000,203000,4000]],
  "copies": [[0,0,0,1,100000,103000]]},
  {"placement": 2, "ns": 150000,
  "ops": [[0,1,0,70000],[1,1,70000,150000]],
  "copies": []}]}
)";
}

}  // namespace stowplan::profiler
