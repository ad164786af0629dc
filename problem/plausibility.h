// What cannot be true of a graph or of its measured times. Each finding is one sentence without a full stop, for whoever gave the
// graph; a sound graph has none.
#pragma once

#include <string>
#include <vector>

#include "cost_models/cost_models.h"
#include "sim/op_graph.h"
#include "sim/simulator.h"

namespace stowplan::problem {

// Products that have operands but no FLOPs; FLOPs that shapes contradict by more than a factor of two; products of
// the backward pass with less than half or more than four times the FLOPs of their forward ops.
std::vector<std::string> ImplausibleWork(const sim::OpGraph& graph);

// Measured products that took less time than the data sheet's peak allows, or more than twenty times as much, and matter: on
// kinds of the catalogue, of at least 20 us there. Other ops may be slow for reasons of their own.
std::vector<std::string> ImplausibleTimes(const sim::Problem& problem,
                                          const cost_models::Catalogue& catalogue);

// Kinds of the cluster on which the graph's bf16 products run at the rate of f32, having no units for bf16.
std::vector<std::string> SlowFormats(const sim::Problem& problem, const cost_models::Catalogue& catalogue);

}  // namespace stowplan::problem
