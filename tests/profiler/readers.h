// The profiler's readers as the fuzz targets and the tests of damaged files call them.
#pragma once

#include <string_view>
#include <vector>

#include "profiler/step_recording.h"

namespace stowplan::profiler {

struct ProfilerReader {
  const char* name;
  // Reads arbitrary bytes: an InputError is fine, anything else that escapes is a finding, and so is what is
  // read but not printed and read again the same.
  void (*read)(std::string_view text);
};
const std::vector<ProfilerReader>& ProfilerReaders();

// A stowplan.validation with a bit of everything: three placements, one of which ran out of memory, and two traced steps.
std::string_view SampleStepRecording();
// Of a workload of two ops on any cluster.
StepRecording ParseStepRecordingOfTwo(std::string_view json, const char* source);

}  // namespace stowplan::profiler
