// A device map of accelerate or transformers as a placement (docs/exporting.md#device-map).
#pragma once

#include <string>

#include "sim/cluster.h"
#include "sim/op_graph.h"
#include "sim/placement.h"

namespace stowplan::scenarios {

// A JSON object from names to numbers and texts, of no format of ours.
bool RecognisesDeviceMap(const std::string& content);

// Of several entries that hold an op the longest counts. What stands in none runs where its data is (sim::FollowData).
// Throws InputError for entries that are no module and no weight of the graph, for devices that the cluster has not, and
// where an op is connected to no entry.
sim::Placement ImportDeviceMap(const std::string& content, const std::string& source,
                               const sim::OpGraph& graph, const sim::Cluster& cluster);

}  // namespace stowplan::scenarios
