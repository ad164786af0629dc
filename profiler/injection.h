// Between `stowplan-profile record` and the library inside of the recorded process.
#pragma once

namespace stowplan::profiler {

inline constexpr char kInjectionLibrary[] = "libstowplan_injection.so";

// Environment variable: the folder where each process leaves a stowplan.trace called PID.json.
inline constexpr char kInjectionFolder[] = "STOWPLAN_PROFILE_FOLDER";

}  // namespace stowplan::profiler
