// What the speed benchmarks simulate: a problem with placements drawn before any clock starts, made once
// and kept for the life of the program.
#pragma once

#include <string>
#include <vector>

#include "problem/loaded_problem.h"
#include "sim/placement.h"
#include "sim/screen/screen.h"

namespace stowplan::bench {

struct SpeedCase {
  std::string graph;    // as `--graph` takes it
  std::string cluster;  // as `--cluster` takes it, or StarName(): devices around one switch
  std::string rules;
  std::string interconnect;
  bool contiguous = false;  // placements of neighbours, which is what a search looks at; else random ones
};

// The cluster of the scaling benchmarks, for any number of accelerators: each has a link of 10 GB/s and 5 us to one
// switch, a host thread of its own that takes 5 us an op, and memory that is never short.
std::string StarName(int devices);

struct LoadedCase {
  explicit LoadedCase(const SpeedCase& from);

  problem::LoadedProblem loaded;
  // Enough of them that a branch predictor cannot learn a run by heart, as long as they fit into some megabytes.
  std::vector<sim::Placement> placements;
};

// A screen of its placements, as rows of devices, each op a unit.
sim::Screen ScreenByOp(const LoadedCase& one, int threads);
std::vector<std::vector<sim::DeviceIndex>> DevicesOf(const LoadedCase& one);

// Not to be called by two threads at a time.
const LoadedCase& Load(const SpeedCase& from);

}  // namespace stowplan::bench
