// The worked case of docs/model.md, run by the engine: a (10 us) on gpu0 sends 1 MB to b (10 us) on gpu1 over
// 10 GB/s and 5 us: a 0-10, transfer 10-115, b 115-125.
#pragma once

#include <memory>
#include <string>

#include "sim/simulator.h"

namespace stowplan::formats {

struct WorkedCase {
  // `extra` is added to the cluster's file: "dispatch: {cost: 5us}\n".
  explicit WorkedCase(const std::string& extra = "", const std::string& memory = "1GiB");
  sim::Outcome Run(sim::RunOptions::Record record = sim::RunOptions::Record::kTimeline) const;

  sim::OpGraph graph;
  sim::Cluster cluster;
  sim::Placement placement;
  std::unique_ptr<sim::Problem> problem;
};

}  // namespace stowplan::formats
