// Printing and reading gives back what was printed, for random graphs, clusters and placements.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/formats/document/units_text.h"
#include "sim/formats/formats.h"
#include "tests/formats/testing.h"
#include "tests/testing.h"

namespace stowplan::formats {
namespace {

RC_GTEST_PROP(RoundTrip, Graph, ()) {
  const sim::OpGraph graph = *RandomGraph();
  const std::string text = PrintGraph(graph);
  const sim::OpGraph again = ParseGraph(text, "graph.json");
  RC_ASSERT(Difference(graph, again) == "");
  RC_ASSERT(PrintGraph(again) == text);
}

RC_GTEST_PROP(RoundTrip, Cluster, ()) {
  const sim::Cluster cluster = *RandomCluster();
  const std::string text = PrintCluster(cluster);
  const sim::Cluster again = ParseCluster(text, "cluster.yaml", SampleCatalogue());
  RC_ASSERT(Difference(cluster, again) == "");
  RC_ASSERT(PrintCluster(again) == text);
}

RC_GTEST_PROP(RoundTrip, Placement, ()) {
  const sim::OpGraph graph = *RandomGraph();
  const sim::Cluster cluster = *RandomCluster();
  const sim::Placement placement = *RandomPlacement(graph, cluster);
  const std::string text = PrintPlacement(placement, graph, cluster);
  const sim::Placement again = ParsePlacement(text, "placement.json", graph, cluster);
  RC_ASSERT(placement.device == again.device);
  RC_ASSERT(placement.priority == again.priority);
  RC_ASSERT(placement.order == again.order);
}

RC_GTEST_PROP(RoundTrip, Units, ()) {
  const auto bytes = *rc::gen::inRange<sim::Bytes>(0, sim::kMaxBytes + 1);
  const auto time = *rc::gen::inRange<sim::Picos>(0, 1'000'000'000'000'000'001);
  RC_ASSERT(ParseBytes(PrintBytes(bytes), "") == bytes);
  RC_ASSERT(ParseTime(PrintTime(time), "") == time);
  RC_ASSERT(ParseBandwidth(PrintBandwidth(bytes), "") == bytes);
}

}  // namespace
}  // namespace stowplan::formats
