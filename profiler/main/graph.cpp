// stowplan-profile graph: whole steps of a graph, executed for real (graph_session.h).
#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>

#include "profiler/main/commands.h"
#include "profiler/main/graph_session.h"
#include "sim/base/error.h"
#include "sim/formats/outputs.h"

namespace stowplan::profiler {
namespace {

const BackendRow& ChooseBackend(const std::string& given, const sim::Cluster& cluster) {
  if (!given.empty()) return FindBackend(given);
  const bool cpus =
      std::all_of(cluster.devices.begin(), cluster.devices.end(),
                  [](const sim::Device& device) { return device.device_class == sim::DeviceClass::kCpu; });
  return FindBackend(cpus ? "cpu" : "cuda");
}

void CheckOptions(const GraphOptions& options) {
  if (options.plan.warm_up < 0 || options.plan.steps < 1 || options.plan.at_most < options.plan.steps ||
      options.plan.traced < 0 || options.plan.pause_us < 0 || options.inputs.cores < 0 ||
      !(options.again_seconds >= 0))
    throw InputError(
        "--warm-up, --traced, --pause-us, --again-seconds and --cores from 0, --steps from 1 and --at-most "
        "from "
        "--steps are wanted.");
}

int RunGraph(const GraphOptions& options) {
  CheckOptions(options);
  const LoadedGraph loaded(options.inputs);
  const BackendRow& row = ChooseBackend(options.device, loaded.cluster);
  const std::unique_ptr<Backend> backend = OpenBackend(row);
  const bool mixed =
      std::string_view(row.name) != "cpu" &&
      std::any_of(loaded.cluster.devices.begin(), loaded.cluster.devices.end(),
                  [](const auto& device) { return device.device_class == sim::DeviceClass::kCpu; });
  const std::unique_ptr<Backend> cpu = mixed ? OpenBackend(FindBackend("cpu")) : nullptr;
  formats::PrepareOutput(options.out);
  return GraphSession(options, loaded, *backend, cpu.get()).Run();
}

}  // namespace

RunVerb DeclareGraph(CLI::App& app) {
  const auto options = std::make_shared<GraphOptions>();
  app.add_option("GRAPH", options->inputs.graph, "a graph file")->required();
  app.add_option("PLACEMENT", options->inputs.placements,
                 "placement files; the stem of a name says the family")
      ->required();
  app.add_option("--cluster", options->inputs.cluster, "the devices that the placements name")
      ->required()
      ->option_text("C");
  app.add_option("--out", options->out, "the stowplan.validation to write or to continue; .zst compresses")
      ->required()
      ->option_text("FILE");
  app.add_option("--device", options->device,
                 "what executes: " + BackendNames() + "; else as the cluster needs")
      ->option_text("D");
  app.add_option("--workload", options->inputs.workload,
                 "what the recording calls the graph: a name of `stowplan list workloads`; else GRAPH")
      ->option_text("W");
  app.add_option("--memory-cap", options->inputs.memory_caps,
                 "limit the memory of a device, to see what fits")
      ->option_text("DEVICE=BYTES");
  app.add_option(
         "--sm-share", options->inputs.sm_shares,
         "the share of the GPU's multiprocessors that an accelerator has to itself, as if it were a GPU "
         "of its own; for all accelerators or none, together at most 1")
      ->option_text("DEVICE=SHARE");
  app.add_option("--stand-in", options->stand_in_types,
                 "an op type that accelerators run by a stand-in although they know it: where it fails")
      ->option_text("TYPE");
  app.add_option("--cores", options->inputs.cores, "of each CPU device; else all there are, in equal parts")
      ->option_text("N");
  app.add_option("--warm-up", options->plan.warm_up, "steps before the first that counts")
      ->capture_default_str()
      ->option_text("N");
  app.add_option("--steps", options->plan.steps, "undisturbed ones wanted of each placement")
      ->capture_default_str()
      ->option_text("N");
  app.add_option("--at-most", options->plan.at_most, "steps of each placement, disturbed ones included")
      ->capture_default_str()
      ->option_text("N");
  app.add_option("--again-seconds", options->again_seconds,
                 "at most, for placements that were disturbed and are measured again; 0 = none")
      ->capture_default_str()
      ->option_text("S");
  app.add_option("--traced", options->plan.traced,
                 "traced steps of each placement, of which the middle one is kept")
      ->capture_default_str()
      ->option_text("N");
  app.add_option("--pause-us", options->plan.pause_us, "asleep before each step: for busy machines")
      ->capture_default_str()
      ->option_text("N");
  app.add_option(
         "--seed", options->seed,
         "measure the placements in an order drawn with it, so that a machine that drifts favours none; "
         "0 = as given")
      ->option_text("K");
  return [options] { return RunGraph(*options); };
}

}  // namespace stowplan::profiler
