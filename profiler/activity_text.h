// An ActivityTrace as the `result` of a part of berth.trace: between recording.cpp and activity_text.cpp.
#pragma once

#include <string>

#include "profiler/records.h"
#include "sim/formats/document.h"

namespace berth::profiler {

ActivityTrace ReadActivity(formats::Value value);
void AppendActivity(std::string& out, const ActivityTrace& trace);

}  // namespace berth::profiler
