// What the tests of the profiler share: random traces, small ones by hand, messages of refusals.
#pragma once

#include <functional>
#include <string>

#include <rapidcheck.h>

#include "profiler/traces/records.h"

namespace stowplan::profiler {

std::string SamplePath(const std::string& name);  // tests/profiler/samples/NAME

// What the InputError says; fails the test where there is none.
std::string MessageOf(const std::function<void()>& refused);

// Any values, as damaged recorders give them, too.
rc::Gen<ActivityTrace> RandomTrace();

// A sound trace of `kernels` launches on one stream, one after the other: launch i is called at (i + 1) * 100 us
// for 5 us as correlation i + 1, its kernel starts 20 us after the call's start and lasts 30 us; one op marker
// around each launch with external id i + 1, and one synchronisation at the end.
ActivityTrace SoundTrace(int kernels);

}  // namespace stowplan::profiler
