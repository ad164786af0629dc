// Between `berth-profile record` and the plug-in inside of the recorded process.
#pragma once

namespace berth::profiler {

// Environment variable: the folder where each process leaves a berth.trace called PID.json.
inline constexpr char kInjectionFolder[] = "BERTH_PROFILE_FOLDER";

}  // namespace berth::profiler
