// A search as agents make it, each step of which must equal a run from scratch: for the property tests and the
// fuzz target of sim/incremental.h.
#pragma once

#include <string>
#include <vector>

#include "sim/incremental.h"
#include "tests/sim/random_case.h"

namespace berth::sim {

// A colocation set goes somewhere.
void AddMove(std::vector<Move>& moves, const OpGraph& graph, const Cluster& cluster, Dice& dice);

// Trials from a base, some of them with a cutoff; one now and then is committed, or taken back. Empty, or what
// differs first.
std::string DifferenceOfSearch(const RandomCase& c, int trials, Dice& dice);

}  // namespace berth::sim
