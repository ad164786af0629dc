// The ranks of one job, each with a Kineto trace of its own: one graph.
#pragma once

#include <string>
#include <vector>

#include "scenarios/importers/trace/kineto_graph.h"
#include "scenarios/scenarios.h"

namespace stowplan::scenarios::trace {

// Clocks are told by collectives, which end together. A collective begins when the last of its ranks has come to it and takes
// what it took the rank that waited least; so waiting is told from transfer. Ops of rank r are `rank<r>/…`, on one device.
// `sources`: what messages call the ranks. Throws InputError where they do not go together.
ImportedGraph JoinRanks(std::vector<TracedRank> ranks, const std::vector<std::string>& sources);

// The Kineto traces in a folder, by name; numbers in names count as numbers. Throws InputError where there are fewer than two.
ImportedGraph ImportJob(const std::string& folder);

}  // namespace stowplan::scenarios::trace
