// What can execute a graph for real: the one table of it. A backend is an Executor of profiler/executor; a build
// without one says so.
#pragma once

#include <string>
#include <vector>

namespace berth::profiler {

struct GraphOptions {
  std::string graph, placement, cluster, backend, out;
  int steps = 30;
};

struct GraphBackend {
  const char* name;
  const char* what;  // one line
  int (*run)(const GraphOptions& options);
};
const std::vector<GraphBackend>& GraphBackends();
std::string GraphBackendNames();  // "cpu, cuda"; "none in this build"

// Executes with the backend that the options name, or the only one there is. Throws Unavailable in a build without
// any, InputError for a name that is none.
int RunGraph(const GraphOptions& options);

}  // namespace berth::profiler
