// The profiler's readers as the fuzz targets and the tests of damaged files call them.
#pragma once

#include <string_view>
#include <vector>

namespace berth::profiler {

struct ProfilerReader {
  const char* name;
  // Reads arbitrary bytes: an InputError is fine, anything else that escapes is a finding, and so is what is
  // read but not printed and read again the same.
  void (*read)(std::string_view text);
};
const std::vector<ProfilerReader>& ProfilerReaders();

// A berth.validation with a bit of everything: two placements, one of which ran out of memory, and two traced steps.
std::string_view SampleStepRecording();

}  // namespace berth::profiler
