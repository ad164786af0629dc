// The graph of a Kineto trace alone: an op for each piece of work that a device did, or on a CPU for each op that no other one
// called, in the order in which they ran (docs/importing.md, Traces). No tensors: ops wait for the one before on their stream, and
// for what the trace shows them to wait for.
#pragma once

#include <string>
#include <vector>

#include "profiler/traces/records.h"
#include "scenarios/scenarios.h"

namespace stowplan::scenarios::trace {

// One process of a job.
struct TracedRank {
  struct Collective {
    sim::OpIndex op = -1;
    std::string type, group;
    profiler::Nanos takes = 0;  // here, waiting for the others included
    profiler::Nanos gap = 0;    // of its op's time, what is before it
  };
  sim::OpGraph graph;                   // not finished
  std::vector<profiler::Nanos> starts;  // by op, Unix time where the trace says it; empty without a device
  profiler::Nanos end = 0;              // of its device's last record, likewise
  std::vector<Collective> collectives;  // in their order
  std::vector<std::string> notes = {};
};

// Throws InputError for what is no Kineto trace, is not to be trusted, or holds nothing that ran.
TracedRank ReadTracedRank(const std::string& content, const std::string& source,
                          const ImportOptions& options);

// The same as a graph by itself. Throws InputError for what is no Kineto trace, is not to be trusted, or holds nothing that ran.
ImportedGraph ReadKinetoGraph(const std::string& content, const std::string& source,
                              const ImportOptions& options);

}  // namespace stowplan::scenarios::trace
