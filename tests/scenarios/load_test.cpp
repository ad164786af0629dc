// Looking up names and guessing formats.
#include "scenarios/scenarios.h"
#include "sim/formats/formats.h"
#include "tests/scenarios/graph_view.h"
#include "tests/scenarios/test_catalogue.h"
#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

class LoadTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_ / name; }

 private:
  tests::TempFolder folder_;
};

TEST_F(LoadTest, WrittenWorkloadsReadBackEqual) {
  const sim::OpGraph graph = LoadGraph("nmt(steps=2,gradients=colocated)");
  formats::WriteGraph(Path("graph.json"), graph);
  const sim::OpGraph read = LoadGraph(Path("graph.json"));
  EXPECT_EQ(formats::PrintGraph(read), formats::PrintGraph(graph));
  EXPECT_EQ(read.totals().parameters, graph.totals().parameters);
  EXPECT_EQ(read.totals().persistent_bytes, graph.totals().persistent_bytes);
  EXPECT_EQ(read.totals().output_bytes, graph.totals().output_bytes);
}

TEST_F(LoadTest, ClustersAndPlacementsComeFromFilesToo) {
  const sim::Cluster cluster = LoadCluster("k80(gpus=4)", TestCatalogue());
  formats::WriteFile(Path("cluster.yaml"), formats::PrintCluster(cluster));
  EXPECT_EQ(formats::PrintCluster(LoadCluster(Path("cluster.yaml"), TestCatalogue())),
            formats::PrintCluster(cluster));

  const sim::OpGraph graph = LoadGraph("chain(ops=3)");
  const sim::Placement placement{.device = {1, 2, 0}, .priority = {}, .order = {}};
  formats::WriteFile(Path("placement.json"), formats::PrintPlacement(placement, graph, cluster));
  EXPECT_EQ(LoadPlacement(Path("placement.json"), graph, cluster).device, placement.device);
}

TEST(ImportersTest, RecogniseTheirOwnAndNothingElse) {
  const std::string graph = formats::PrintGraph(LoadGraph("chain"));
  for (const ImporterRow& importer : Importers()) {
    EXPECT_FALSE(importer.recognises(graph)) << importer.name;
    EXPECT_FALSE(importer.recognises("")) << importer.name;
    EXPECT_FALSE(importer.recognises("fpgaLatency maxFPGAs")) << importer.name;
  }
}

}  // namespace
}  // namespace stowplan::scenarios
