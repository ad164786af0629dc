// Between `berth-profile record` and the library inside of the recorded process.
#pragma once

namespace berth::profiler {

inline constexpr char kInjectionLibrary[] = "libberth_injection.so";

// Environment variable: the folder where each process leaves a berth.trace called PID.json.
inline constexpr char kInjectionFolder[] = "BERTH_PROFILE_FOLDER";

}  // namespace berth::profiler
