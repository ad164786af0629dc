// Pieces of text for the printers of traces.
#pragma once

#include <string>

#include "profiler/traces/records.h"

namespace stowplan::profiler {

// Nanoseconds as microseconds, exactly: "12.500", "-0.001".
std::string MicrosText(Nanos time);

}  // namespace stowplan::profiler
