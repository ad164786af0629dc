// What Kineto calls the kinds of copies and waits: shared by its reader and its printer.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "profiler/traces/records.h"

namespace stowplan::profiler::kineto {

// By MemoryKind; "Memcpy HtoD (Pageable -> Device)", "Memset (Device)".
inline constexpr std::string_view kMemoryNames[] = {"Unknown", "Pageable", "Pinned",
                                                    "Device",  "Array",    "Managed"};
// By Synchronisation::What.
inline constexpr std::string_view kSynchronisationNames[] = {
    "Unknown Sync", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"};
inline constexpr std::string_view kMemoryEvent = "[memory]";

}  // namespace stowplan::profiler::kineto
