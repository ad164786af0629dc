// Between `stowplan-profile record` and the library inside of the recorded process: variables of the environment.
#pragma once

namespace stowplan::profiler {

inline constexpr char kInjectionLibrary[] = "libstowplan_injection.so";

inline constexpr char kInjectionFile[] =
    "STOWPLAN_PROFILE_FILE";  // where each process appends its RecordingStream
inline constexpr char kInjectionAfter[] =
    "STOWPLAN_PROFILE_AFTER";  // as --after, --for and --buffer-mib were given
inline constexpr char kInjectionFor[] = "STOWPLAN_PROFILE_FOR";
inline constexpr char kInjectionBufferMib[] = "STOWPLAN_PROFILE_BUFFER_MIB";

// Of a part whose process has not closed it.
inline constexpr char kNotClosed[] =
    "the process was killed or left by _exit, or its last records could not be written";

}  // namespace stowplan::profiler
