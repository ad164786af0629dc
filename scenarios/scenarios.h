// What is placed on what: workloads, clusters, importers, and what placements are written as for other programs. The tables
// of instances are in registry.cpp and exporters/registry.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/settings.h"
#include "sim/cluster.h"
#include "sim/hardware.h"
#include "sim/op_graph.h"
#include "sim/placement.h"
#include "sim/simulator.h"

namespace stowplan::scenarios {

struct WorkloadRow {
  const char* name;
  const char* what;  // one line, with the source of the architecture
  SettingTable settings;
  sim::OpGraph (*build)(
      const Settings& read);  // Finish()ed; throws InputError for settings that make no sense
};
const std::vector<WorkloadRow>& Workloads();
// The settings in force of a workload with parameters. Throws InputError for unknown names and as Settings does.
Settings WorkloadSettings(const std::string& workload);

struct ClusterRow {
  const char* name;
  const char* what;
  SettingTable settings;
  std::string (*yaml)(const Settings& read);  // a stowplan.cluster file
};
const std::vector<ClusterRow>& Clusters();

// What an importer may be told; what it has no use for it refuses.
struct ImportOptions {
  std::vector<std::pair<std::string, std::int64_t>> dims = {};  // values of symbolic dimensions
  std::string training = {};  // an optimizer: backward and update ops are added; empty: the graph as it is
  bool strict = false;        // refuse ops whose cost is not known
  std::string kineto = {};    // a Kineto trace of the run that an execution trace is of
  std::string gpu = {};       // the kind of device whose times that has; empty: taken for every GPU
  std::string memory = {};    // what ONNX Runtime measured of the nodes of an ONNX model: a file

  bool empty() const {
    return dims.empty() && training.empty() && !strict && kineto.empty() && gpu.empty() && memory.empty();
  }
};

struct ImportedGraph {
  sim::OpGraph graph;
  std::vector<std::string> notes = {};  // what the user should know of how it was read: a sentence each
};

struct ImporterRow {
  const char* name;
  const char* what;
  bool (*recognises)(const std::string& content);
  ImportedGraph (*import)(const std::string& content, const std::string& source,
                          const ImportOptions& options);
};
const std::vector<ImporterRow>& Importers();
// Throws InputError for a known format of weights that has no graph of ops: with what it is, and what would do in its place.
void RefuseForeign(const std::string& content, const std::string& source);

// What an exporter is given: all of it outlives the call.
struct ExportInput {
  const sim::Problem& problem;
  const sim::Placement& placement;  // satisfies CheckPlacement()
  std::string graph_file = {};      // what the graph was loaded from; may be the name of a workload
};

struct Exported {
  std::string text;
  std::vector<std::string> notes =
      {};  // what the user should know of it: a sentence each, without a full stop
};

// Which placements a format can say: where a search has to stay for its plan to be exported.
struct PlanSpace {
  enum class Devices : std::uint8_t { kGpus, kOneClass, kGpusAndCpu, kGpuAndCpu };  // of the last two one CPU
  const char* says;     // "stages of ..., ", for messages
  const char* grouper;  // of what is placed as one (docs/protocol.md); stages are some of these in a row
  bool stages;          // two at least, each on a device of its own; else anything anywhere
  Devices devices;
  const char* file;  // what the plan is called
};

struct ExporterRow {
  const char* name;
  const char* what;
  // Throws InputError where the other program cannot run this placement.
  Exported (*print)(const ExportInput& input);
  std::optional<PlanSpace> space = {};  // none = a picture of any placement
};
const std::vector<ExporterRow>& Exporters();
// `option`: what gave the name. Throws InputError listing those that there are.
const ExporterRow& FindExporter(const std::string& name, const std::string& option = "--to");

// A name from the tables with parameters, or a path ("-" = standard input), whose format is guessed from the
// content. Throws InputError listing the known names. Where a catalogue is given the kinds that a graph file's
// `cost_us` names must be its own. Where `notes` is given it gets those of the importer that read the file.
sim::OpGraph LoadGraph(const std::string& name_or_path, const sim::HardwareCatalogue* catalogue = nullptr,
                       std::vector<std::string>* notes = nullptr);
sim::Cluster LoadCluster(const std::string& name_or_path, const sim::HardwareCatalogue& catalogue);
// A stowplan.placement file, a device map of accelerate or transformers, or a human-expert split of
// msr-fiddle/dnn-partitioning for a graph imported from there.
sim::Placement LoadPlacement(const std::string& path, const sim::OpGraph& graph, const sim::Cluster& cluster);

}  // namespace stowplan::scenarios
