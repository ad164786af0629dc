// The simulator that was published with Placeto, in Python, from a checkout that the user has.
#pragma once

#include <string>
#include <vector>

#include "sim/placement.h"
#include "sim/simulator.h"

namespace stowplan::bench {

struct PublishedRun {
  double seconds = 0;  // with peak memory
  double runtime_us = 0;
  std::vector<sim::Bytes> peak;  // by device
};

// One for each placement. Throws InputError where the checkout is none, RunError where Python fails.
std::vector<PublishedRun> RunPublishedSimulator(const std::string& checkout, const sim::Problem& problem,
                                                const std::vector<sim::Placement>& placements);

}  // namespace stowplan::bench
