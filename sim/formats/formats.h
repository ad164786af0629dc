// Reading and writing every stowplan.* file (docs/formats.md). All readers throw InputError with one sentence:
// file, place, what is wrong, what would be right. Any file may be zstd- or gzip-compressed, told by its content.
// Files are written whole or not at all. Paths "-" mean standard input or output. Thread-safe: no state.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster.h"
#include "sim/hardware.h"
#include "sim/op_graph.h"
#include "sim/outcome.h"
#include "sim/placement.h"
#include "sim/simulator.h"

namespace stowplan::formats {

// ---- files ------------------------------------------------------------------------------------------------

// The bytes of a file, decompressed where it is zstd or gzip.
std::string ReadFile(const std::string& path);
// Written to a temporary neighbour and renamed; compressed when the path ends in ".zst".
void WriteFile(const std::string& path, std::string_view content);

// ---- stowplan.graph ------------------------------------------------------------------------------------------

// Where a catalogue is given the kinds that `cost_us` names must be its own. `source`: what messages call the
// file. Collectives become their members (sim/formats/collectives.h).
sim::OpGraph ReadGraph(const std::string& path, const sim::HardwareCatalogue* catalogue = nullptr);
sim::OpGraph ParseGraph(std::string_view json, const std::string& source,
                        const sim::HardwareCatalogue* catalogue = nullptr);
std::string PrintGraph(const sim::OpGraph& graph);  // one op a line
void WriteGraph(const std::string& path, const sim::OpGraph& graph);

// ---- stowplan.cluster ----------------------------------------------------------------------------------------

// Fills in what the file leaves out from the catalogue's kinds and the format's defaults, and calls
// Finish().
sim::Cluster ReadCluster(const std::string& path, const sim::HardwareCatalogue& catalogue);
sim::Cluster ParseCluster(std::string_view yaml, const std::string& source,
                          const sim::HardwareCatalogue& catalogue);
// Of a text that this program wrote, however long it is.
sim::Cluster ParseOwnCluster(std::string_view yaml, const std::string& source,
                             const sim::HardwareCatalogue& catalogue);
std::string PrintCluster(const sim::Cluster& cluster);  // every value in force written out; reads back equal

// ---- stowplan.placement --------------------------------------------------------------------------------------

// Checked against graph and cluster (CheckPlacement).
sim::Placement ReadPlacement(const std::string& path, const sim::OpGraph& graph, const sim::Cluster& cluster);
sim::Placement ParsePlacement(std::string_view json, const std::string& source, const sim::OpGraph& graph,
                              const sim::Cluster& cluster);
std::string PrintPlacement(const sim::Placement& placement, const sim::OpGraph& graph,
                           const sim::Cluster& cluster);

// ---- stowplan.scenario ---------------------------------------------------------------------------------------

struct Scenario {
  std::string name;        // file stem if absent
  std::string workload;    // spec, or path of a graph
  std::string cluster;     // spec, or path
  std::string cost_model;  // spec, or path; empty = the default chain
  std::string grouper;     // spec; empty = colocation
  std::string expert;      // path of a placement; empty = stages onto accelerators
  std::int64_t samples = 1000;
  std::vector<std::int64_t> seeds = {1, 2, 3};
  // Where the file gives each of its keys, for the messages of who uses the values: "runs/two.yaml:3: workload".
  std::map<std::string, std::string> places;
};
Scenario ReadScenario(const std::string& path);
Scenario ParseScenario(std::string_view yaml, const std::string& source);

// ---- stowplan.outcome ----------------------------------------------------------------------------------------

struct OutcomeText {
  bool ops = false;  // with start and end of every op (needs RunOptions::Record::kOps)
};
std::string PrintOutcome(const sim::Outcome& outcome, const sim::Problem& problem,
                         const sim::Placement& placement, const OutcomeText& options = {});

// ---- timelines --------------------------------------------------------------------------------------------

// Both need RunOptions::Record::kTimeline.
// Chrome/Perfetto trace JSON: a process for each device with a track per stream and host thread, a process
// for links with a track per direction, counters for memory, flows for transfers; slices of one track never
// overlap.
std::string PrintChromeTrace(const sim::Outcome& outcome, const sim::Problem& problem,
                             const sim::Placement& placement);
// One event a line in time order, for golden files: times in microseconds with six decimals.
std::string PrintTimeline(const sim::Outcome& outcome, const sim::Problem& problem,
                          const sim::Placement& placement);

}  // namespace stowplan::formats
