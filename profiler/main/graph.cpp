#include <memory>

#include <CLI/CLI.hpp>

#include "profiler/main/commands.h"
#include "profiler/main/graph_backends.h"
#include "sim/error.h"

namespace berth::profiler {

RunVerb DeclareGraph(CLI::App& app) {
  const auto options = std::make_shared<GraphOptions>();
  app.add_option("GRAPH", options->graph, "a graph file")->required();
  app.add_option("PLACEMENT", options->placement, "a placement file")->required();
  app.add_option("--cluster", options->cluster, "the devices that the placement names")
      ->required()
      ->option_text("C");
  app.add_option("--backend", options->backend, "what executes ops: " + GraphBackendNames())
      ->option_text("B");
  app.add_option("--steps", options->steps, "measured steps, after as many warm-ups as a third")
      ->capture_default_str()
      ->option_text("N");
  app.add_option("--out", options->out, "the berth.trace to write; .zst compresses")
      ->required()
      ->option_text("FILE");
  return [options] { return RunGraph(*options); };
}

}  // namespace berth::profiler
