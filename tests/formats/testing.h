// What the tests of formats share: messages of refusals, equality of what was read, random
// values.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <rapidcheck.h>

#include "sim/cluster.h"
#include "sim/cost_model.h"
#include "sim/op_graph.h"
#include "sim/placement.h"
#include "tests/formats/sample_catalogue.h"

namespace stowplan::formats {

// What the InputError says; fails the test where there is none.
std::string MessageOf(const std::function<void()>& refused);

std::string SamplePath(const std::string& name);  // tests/formats/samples/NAME
std::string ReadText(const std::string& path);

// Empty, or the first field that differs.
std::string Difference(const sim::OpGraph& a, const sim::OpGraph& b);
std::string Difference(const sim::Cluster& a, const sim::Cluster& b);

// Finish()ed. Names hold whatever JSON can hold and stowplan allows.
rc::Gen<sim::OpGraph> RandomGraph();
rc::Gen<sim::Cluster> RandomCluster();
// Satisfies CheckPlacement(); with priority, order or neither.
rc::Gen<sim::Placement> RandomPlacement(const sim::OpGraph& graph, const sim::Cluster& cluster);

}  // namespace stowplan::formats
