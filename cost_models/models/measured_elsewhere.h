// Ops that were measured on another kind of device (Op::cost_us_by_kind): their times move by the ratio of the modelled times.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cost_models/cost_models.h"

namespace stowplan::cost_models {

// Prices an op that was measured on another kind of the catalogue, of the device's class, by that time x model(device) /
// model(that kind): both of one tier of `model`, else both of the structural model. Of several kinds the first counts. What was
// measured nowhere, or has no ratio, is priced by `model`. Keeps references.
std::unique_ptr<sim::CostModel> MovingMeasuredTimes(const sim::CostModel& model, const Catalogue& catalogue);

// Whose times move where in this problem, kinds in the order of the graph and of the cluster.
struct MovedTimes {
  std::string from, to;
  std::int64_t ops = 0;
};
std::vector<MovedTimes> MovedTimesOf(const sim::OpGraph& graph, const sim::Cluster& cluster,
                                     const Catalogue& catalogue);

}  // namespace stowplan::cost_models
