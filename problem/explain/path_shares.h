// What the critical path of a run is made of.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/analysis/explain.h"

namespace stowplan::problem {

struct PathShares {
  struct Route {
    sim::DeviceIndex from = 0;
    sim::DeviceIndex to = 0;
    sim::Picos time = 0;
    std::int64_t transfers = 0;
  };
  std::vector<sim::Picos> devices;                        // ops on each device
  std::vector<std::pair<std::string, sim::Picos>> types;  // the same ops by type, longest first
  std::vector<Route> routes;                              // transfers, longest first
  std::vector<sim::Picos> links;  // by link: transfers over it; one that crosses two links counts at both
  sim::Picos transfers = 0;       // all of them
  sim::Picos collectives = 0;
  sim::Picos dispatch = 0;
  sim::Picos waiting = 0;
};

// Ops, transfers, collectives, dispatch and waiting add up to the runtime.
PathShares ShareOut(const sim::Problem& problem, const sim::Placement& placement, const sim::Outcome& outcome,
                    const sim::Explanation& why);

// What most of the path is.
struct Bottleneck {
  sim::CriticalStep::Kind kind = sim::CriticalStep::Kind::kOp;
  sim::DeviceIndex device = -1;  // kOp: whose ops
  sim::Picos time = 0;
};
Bottleneck FindBottleneck(const PathShares& path);

}  // namespace stowplan::problem
