#include "sim/formats/formats.h"
#include "tests/formats/testing.h"
#include "tests/testing.h"

namespace stowplan::formats {
namespace {

class PlacementFile : public ::testing::Test {
 protected:
  PlacementFile()
      : graph_(ParseGraph(R"({"format": "stowplan.graph", "version": 1, "name": "g", "ops": [
            {"name": "a", "type": "T", "colocate": "s", "outputs": [{}]}, {"name": "b", "type": "T", "inputs": ["a"]},
            {"name": "c", "type": "T", "colocate": "s"}]})",
                          "g.json")),
        cluster_(ParseCluster("format: stowplan.cluster\nversion: 1\nname: box\n"
                              "devices: [{name: gpu0, kind: gpu-a}, {name: gpu1, kind: gpu-a}]\n",
                              "c.yaml", SampleCatalogue())) {}

  sim::Placement Parse(const std::string& rest) const {
    return ParsePlacement(R"({"format": "stowplan.placement", "version": 1, "graph": "g", )" + rest + "}",
                          "p.json", graph_, cluster_);
  }
  std::string ErrorOf(const std::string& rest) const {
    return MessageOf([&] { Parse(rest); });
  }

  sim::OpGraph graph_;
  sim::Cluster cluster_;
};

const std::string kWhole = R"("placement": {"c": "gpu0", "b": "gpu1", "a": "gpu0"})";

TEST_F(PlacementFile, ReadsDevicesInAnyOrder) {
  const sim::Placement placement = Parse(kWhole);
  EXPECT_EQ(placement.device, (std::vector<sim::DeviceIndex>{0, 1, 0}));
  EXPECT_TRUE(placement.priority.empty() && placement.order.empty());
}

TEST_F(PlacementFile, OpsWithoutAPriorityHaveNone) {
  EXPECT_EQ(Parse(kWhole + R"(, "priority": {"b": 2.5})").priority, (std::vector<double>{0, 2.5, 0}));
}

TEST_F(PlacementFile, ReadsTheOrder) {
  EXPECT_EQ(Parse(kWhole + R"(, "order": ["c", "a", "b"])").order, (std::vector<sim::OpIndex>{2, 0, 1}));
}

TEST_F(PlacementFile, SamplesAreRead) {
  const sim::OpGraph graph = ReadGraph(SamplePath("graph.json"));
  const sim::Cluster cluster = ReadCluster(SamplePath("cluster.yaml"), SampleCatalogue());
  EXPECT_EQ(ReadPlacement(SamplePath("placement.json"), graph, cluster).priority,
            (std::vector<double>{0, 0, 0, 2.5, -1}));
  EXPECT_EQ(ReadPlacement(SamplePath("order.json"), graph, cluster).order,
            (std::vector<sim::OpIndex>{4, 3, 0, 1, 2}));
}

TEST_F(PlacementFile, RefusesMissingAndUnknownOps) {
  EXPECT_EQ(ErrorOf(R"("order": [])"), "p.json: the file has no \"placement\", which is required");
  EXPECT_THAT(ErrorOf(R"("placement": {"a": "gpu0", "c": "gpu0"})"), StartsWith("p.json: placement places"));
  EXPECT_THAT(ErrorOf(R"("placement": {"b": "gpu0"})"), StartsWith("p.json: placement places 1 of 3 ops"));
  EXPECT_THAT(ErrorOf(R"("placement": {"d": "gpu0"})"), StartsWith("p.json: placement.d names the op"));
  EXPECT_THAT(ErrorOf(R"("placement": {"a": "gpu0", "a": "gpu1"})"), StartsWith("p.json: placement.a is"));
  EXPECT_THAT(ErrorOf(kWhole + R"(, "priority": {"d": 1})"), StartsWith("p.json: priority.d names the op"));
  EXPECT_THAT(ErrorOf(kWhole + R"(, "order": ["a", "d"])"), StartsWith("p.json: order[1] names the op"));
}

TEST_F(PlacementFile, RefusesUnknownDevices) {
  EXPECT_THAT(ErrorOf(R"("placement": {"a": "gpu7"})"), StartsWith("p.json: placement.a is \"gpu7\", but"));
  EXPECT_EQ(ErrorOf(R"("placement": {"a": 0})"), "p.json: placement.a must be text, but is 0");
}

TEST_F(PlacementFile, RefusesBrokenColocation) {
  EXPECT_EQ(ErrorOf(R"("placement": {"a": "gpu0", "b": "gpu0", "c": "gpu1"})"),
            "p.json: ops 'a' and 'c' are colocated ('s'), but placed on 'gpu0' and 'gpu1'");
}

TEST_F(PlacementFile, RefusesBadOrdersAndPriorities) {
  EXPECT_THAT(ErrorOf(kWhole + R"(, "order": ["a", "b"])"),
              StartsWith("p.json: the placement's order lists 2 ops"));
  EXPECT_THAT(ErrorOf(kWhole + R"(, "order": ["b", "a", "c"])"),
              HasSubstr("lists op 'b' before 'a', on which it depends"));
  EXPECT_THAT(ErrorOf(kWhole + R"(, "order": ["a", "a", "b"])"), HasSubstr("lists op 'a' twice"));
  EXPECT_EQ(ErrorOf(kWhole + R"(, "priority": {}, "order": ["a", "b", "c"])"),
            "p.json: order is given beside \"priority\"; give one of them");
  EXPECT_THAT(ErrorOf(kWhole + R"(, "priority": {"a": "high"})"), StartsWith("p.json: priority.a must be"));
}

TEST_F(PlacementFile, RefusesUnknownKeysAndEveryTruncation) {
  EXPECT_THAT(ErrorOf(kWhole + R"(, "devices": 2)"), StartsWith("p.json: devices is not known here; the"));
  const std::string whole = R"({"format": "stowplan.placement", "version": 1, )" + kWhole + "}";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(MessageOf([&] { ParsePlacement(whole.substr(0, size), "p.json", graph_, cluster_); }),
                HasSubstr("is not valid JSON"));
  }
}

}  // namespace
}  // namespace stowplan::formats
