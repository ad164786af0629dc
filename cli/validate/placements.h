// The placements that `stowplan validate` measures: what people and agents come up with, from coherent to wild.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/step_recording.h"
#include "sim/simulator.h"

namespace stowplan::cli {

// `count` different ones of as many families as there is room for, the same for a seed on every machine:
// the first device alone ("one device"); blocks of equal work along the program, which take turns; one to four cuts anywhere;
// every colocation set for itself; what local search and annealing find within a few dozen samples, by the
// simulator. Sources without a colocation set go with their first reader, but in random placements. Fewer where
// the graph has no more.
std::vector<profiler::FamilyPlacement> ChoosePlacements(const sim::Problem& problem, int count,
                                                        std::uint64_t seed);

// What `stowplan-profile graph` is given, into a folder: graph.json.zst, cluster.yaml and placements/<family>-NN.json.
void WriteChosen(const sim::Problem& problem, const std::vector<profiler::FamilyPlacement>& chosen,
                 const std::string& folder);

}  // namespace stowplan::cli
