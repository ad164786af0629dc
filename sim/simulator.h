// The engine's door. A Problem is a graph on a cluster with its costs, compiled once; a Simulator runs
// placements on it; a BatchSimulator runs many in parallel.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/cluster.h"
#include "sim/collective_prices.h"
#include "sim/cost_model.h"
#include "sim/op_graph.h"
#include "sim/outcome.h"
#include "sim/placement.h"

namespace stowplan::sim {

struct Compiled;  // CSR arrays of the engine; sim/ only

// Immutable after construction, shared by any number of threads. Keeps references: graph and cluster must
// outlive it.
class Problem {
 public:
  // `collectives`: how long they take; nullptr = rings over the cluster's routes (docs/model.md section 11). What `costs`
  // says of their members counts for nothing. `used`: for placements on these devices alone, ascending; nullptr = all.
  Problem(const OpGraph& graph, const Cluster& cluster, CostTable costs,
          std::shared_ptr<const CollectivePrices> collectives = nullptr,
          const std::vector<DeviceIndex>* used = nullptr);
  ~Problem();
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  const OpGraph& graph() const { return graph_; }
  const Cluster& cluster() const { return cluster_; }
  const CostTable& costs() const { return costs_; }
  const std::shared_ptr<const CollectivePrices>& collective_prices() const { return collective_prices_; }

  const Compiled& compiled() const { return *compiled_; }

 private:
  const OpGraph& graph_;
  const Cluster& cluster_;
  CostTable costs_;
  std::shared_ptr<const CollectivePrices> collective_prices_;
  std::unique_ptr<const Compiled> compiled_;
};

struct RunOptions {
  enum class Record : std::uint8_t {
    kNothing,   // runtime, verdict, busy time and peaks
    kOps,       // + issue, start and end of every op
    kTimeline,  // + transfers and every change of memory
  };
  Record record = Record::kNothing;
  // Stop as soon as the runtime is known to exceed this. For search, never for rewards.
  std::optional<Picos> cutoff;
};

// Runs placements one after another and reuses its scratch memory: one per thread. Same input, same bits.
// The cluster's rules choose the semantics: native or published (docs/model.md).
class Simulator {
 public:
  virtual ~Simulator() = default;

  // The placement must satisfy CheckPlacement(). The result is valid until the next call. Throws InputError where collectives
  // wait for one another for ever, naming them, or take longer than a run may.
  virtual const Outcome& Run(const Placement& placement, const RunOptions& options = {}) = 0;
};

std::unique_ptr<Simulator> MakeSimulator(const Problem& problem);  // registry.cpp

// A problem on a cluster of more than kMaxPaired devices knows no transfers, and its simulators make one anew for each
// placement: this one, for its devices alone. Null where the problem knows all. Throws InputError where the placement uses
// more than kMaxPaired devices.
std::unique_ptr<const Problem> ProblemOfPlacement(const Problem& problem, const Placement& placement);

// Many placements in one call; outcome i belongs to placement i whatever thread ran it, bit-equal for any
// number of threads. Calls must not overlap.
class BatchSimulator {
 public:
  // threads = 0: one per core.
  explicit BatchSimulator(const Problem& problem, int threads = 0);
  ~BatchSimulator();

  std::vector<Outcome> Run(std::span<const Placement> placements, const RunOptions& options = {});
  int threads() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stowplan::sim
