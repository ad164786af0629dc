#include "profiler/main/graph_backends.h"

#include "profiler/backend.h"
#include "sim/error.h"

namespace berth::profiler {

const std::vector<GraphBackend>& GraphBackends() {
  static const std::vector<GraphBackend> backends = {};
  return backends;
}

std::string GraphBackendNames() {
  std::string names;
  for (const GraphBackend& backend : GraphBackends())
    names += (names.empty() ? "" : ", ") + std::string(backend.name);
  return names.empty() ? "none in this build" : names;
}

int RunGraph(const GraphOptions& options) {
  if (GraphBackends().empty()) throw Unavailable("this build has nothing that executes graphs");
  for (const GraphBackend& backend : GraphBackends()) {
    if (options.backend.empty() || options.backend == backend.name) return backend.run(options);
  }
  throw InputError("there is no backend \"" + options.backend + "\"; there are " + GraphBackendNames() + ".");
}

}  // namespace berth::profiler
