// An ActivityTrace as the `result` of a part of stowplan.trace: between recording.cpp and activity_text.cpp.
#pragma once

#include <string>

#include "profiler/traces/records.h"
#include "sim/formats/document/document.h"

namespace stowplan::profiler {

ActivityTrace ReadActivity(formats::Value value);
void AppendActivity(std::string& out, const ActivityTrace& trace);

}  // namespace stowplan::profiler
