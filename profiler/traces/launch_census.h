// How many launches a trace shows, and how many of them left work on a device: what sanitiser.cpp tells missing
// records by.
#pragma once

#include "profiler/traces/records.h"

namespace stowplan::profiler {

struct LaunchCensus {
  std::int64_t device_records = 0;
  std::int64_t graph_records = 0;  // of them, nodes of CUDA graphs
  std::int64_t without_call = 0;   // of them, those whose call is not in the trace (0 if it has no calls)
  std::int64_t launches = 0;       // of single kernels, but those that were captured into a graph
  std::int64_t launches_without_work = 0;
  std::int64_t graph_launches = 0;
  std::int64_t graph_launches_without_work = 0;
};
LaunchCensus CountLaunches(const ActivityTrace& trace);

}  // namespace stowplan::profiler
