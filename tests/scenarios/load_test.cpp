// Looking up names and guessing formats.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/scenarios.h"
#include "sim/base/error.h"
#include "sim/formats/formats.h"
#include "tests/scenarios/graph_view.h"
#include "tests/scenarios/test_catalogue.h"
#include "tests/temp_folder.h"

namespace stowplan::scenarios {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

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

TEST_F(LoadTest, UnknownNamesListTheKnownOnes) {
  EXPECT_THAT(ErrorOf([] { LoadGraph("inception_v4"); }),
              AllOf(HasSubstr("'inception_v4'"), HasSubstr("inception_v3"), HasSubstr("chain")));
  EXPECT_THAT(ErrorOf([] { LoadGraph("missing.json"); }), HasSubstr("neither a file nor a workload"));
  EXPECT_THAT(ErrorOf([] { LoadCluster("cloud(gpus=2)", TestCatalogue()); }),
              AllOf(HasSubstr("'cloud(gpus=2)'"), HasSubstr("k40")));
  EXPECT_THAT(ErrorOf([] { LoadGraph("chain(ops=3"); }), HasSubstr("unbalanced"));
}

TEST_F(LoadTest, OtherFilesAreRefusedByTheGraphReader) {
  formats::WriteFile(Path("other.json"), "{\"nodes\": []}");
  EXPECT_THAT(ErrorOf([&] { LoadGraph(Path("other.json")); }), HasSubstr("other.json"));
}

// Weights without a graph are told by what they are, not by the first byte that is no text.
TEST_F(LoadTest, FilesOfWeightsAreRefusedAsWhatTheyAre) {
  const std::pair<std::string, const char*> files[] = {
      {std::string("GGUF\x03\0\0\0\1\0\0\0", 12), "GGUF"},
      {std::string("\x40\0\0\0\0\0\0\0{\"__metadata__\":{}}", 27), "safetensors"},
      {std::string("PK\x03\x04\0\0", 6), "zip"},
      {std::string("\x80\x02}q\0", 5), "pickle"},
      {std::string("\x89HDF\r\n\x1a\n", 8), "HDF5"},
      {std::string("\x1c\0\0\0TFL3\0", 9), "TensorFlow Lite"}};
  for (const auto& [content, what] : files) {
    formats::WriteFile(Path("model"), content);
    try {
      LoadGraph(Path("model"));
      ADD_FAILURE() << what << " was read";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(),
                  AllOf(HasSubstr(Path("model")), HasSubstr(what), HasSubstr("stowplan.capture")));
    }
  }
}

TEST_F(LoadTest, AProgramIsToBeCaptured) {
  formats::WriteFile(Path("model.py"), "def small():\n  return None\n");
  EXPECT_THAT(ErrorOf([&] { LoadGraph(Path("model.py")); }),
              HasSubstr("stowplan.capture " + Path("model.py") + ":FUNCTION"));
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
