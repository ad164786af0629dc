// SimGrid beside stowplan: the same graph, machine and placement as S4U activities without actors. A host for each device, which
// runs its ops one after another in a given order; two links for each link of full duplex, one for a half; a communication
// for each (producer, output, destination), and one of no bytes for a dependency without data. Network model CM02 without
// cross traffic and without TCP's window.
//
// What it does not have: host threads, streams, copy engines, memory, curves, `both`. What it does otherwise: flows that share
// a link get parts in inverse proportion to the latencies of their routes (docs/model.md section 9).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/outcome.h"
#include "sim/placement.h"
#include "sim/simulator.h"

namespace stowplan::bench {

struct SimGridRun {
  double run_seconds = 0;  // of the wall clock
  double runtime_us = 0;
  std::vector<double> end_us;  // by op
};

// How SimGrid keeps its flows up to date. Lazy is its default and the faster; 3.32 then lets some flows that begin together
// behind a latency run faster than their links (found by tests/bench/simgrid/simgrid_test.cpp; with full updates all is well).
enum class SimGridUpdates : std::uint8_t { kLazy, kFull };

// `order`: all ops, those of a device in the order in which it runs them. Each run is in a process of its own, since SimGrid
// can be started once in a process. Throws RunError where SimGrid gives up.
SimGridRun RunOnSimGrid(const sim::Problem& problem, const sim::Placement& placement,
                        const std::vector<sim::OpIndex>& order, SimGridUpdates updates);

std::string SimGridVersion();  // "3.32.0"

// The order in which a native run started its ops (RunOptions::Record::kOps); at one instant those without cost first, and
// producers before consumers.
std::vector<sim::OpIndex> StartOrder(const sim::OpGraph& graph, const sim::Outcome& recorded);

// The part of a cluster that both have: no dispatch, fair sharing, and devices that are CPUs, since those need no copy engines.
sim::Cluster WithoutHostLimits(sim::Cluster cluster);

}  // namespace stowplan::bench
