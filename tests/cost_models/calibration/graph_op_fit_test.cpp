// Ops of graphs that were measured alone: entries of the table, and nothing else.
#include "cost_models/ops/op_work.h"
#include "profiler/probe_rows.h"
#include "tests/cost_models/calibration/calibrating.h"
#include "tests/testing.h"

namespace stowplan::cost_models {
namespace {

using testing::CalibrateAll;
using testing::ErrorOf;
using testing::FabricatedProbes;

// Row by row what `stowplan-profile run --graph` writes.
class Rows {
 public:
  // A product of two placeholders.
  Rows& Product(std::int64_t n, double us, std::int64_t count = 1, const std::string& type = "MatMul",
                const std::string& phase = "") {
    sim::OpGraph graph;
    for (const char* name : {"a", "b", "op"}) {
      sim::Op op;
      op.name = name;
      op.type = "Placeholder";
      op.outputs.emplace_back();
      op.outputs[0].dtype = "f32";
      op.outputs[0].shape = {n, n};
      op.outputs[0].bytes = 4 * n * n;
      graph.ops.push_back(op);
    }
    graph.ops[2].type = type;
    graph.ops[2].phase = phase;
    graph.ops[2].inputs = {{0, 0}, {1, 0}};
    graph.ops[2].flops = 2.0 * static_cast<double>(n * n * n);
    graph.Finish();
    signatures.push_back(Signature(graph, 2));
    rows.push_back({sim::Attributes{{"op", {type}},
                                    {"count", {count}},
                                    {"workload", {std::string("products")}},
                                    {"graph", profiler::GraphValue(graph)},
                                    {"hot", Summary(us)},
                                    {"cold", Summary(2 * us)}}});
    return *this;
  }
  NamedRecording Recording(const std::string& device = "cuda") const {
    NamedRecording made = FabricatedProbes({}).front();
    made.source = "ops.trace";
    made.recording.device = device;
    made.recording.parts.clear();
    profiler::Part part;
    part.date = "2026-11-21";
    part.result = {sim::Attributes{{"rows", {rows}}}};
    made.recording.Put("ops of products", part);
    return made;
  }

  sim::Attribute::List rows;
  std::vector<std::string> signatures;

 private:
  static sim::Attribute Summary(double us) {
    return {sim::Attributes{{"count", {std::int64_t{10}}},
                            {"median_us", {us}},
                            {"mad_us", {0.0}},
                            {"p05_us", {us}},
                            {"p95_us", {us}},
                            {"min_us", {us}}}};
  }
};

const TableEntry* Find(const CalibrationResult& result, const std::string& signature) {
  const auto found = std::ranges::find(result.parameters.table, signature, &TableEntry::signature);
  return found == result.parameters.table.end() ? nullptr : &*found;
}

TEST(CalibrateGraphOps, StandInTheTableAsTheirExecutorMeasuredThem) {
  Rows rows;
  rows.Product(48, 7).Product(80, 9);
  const CalibrationResult result = CalibrateAll({rows.Recording()});
  ASSERT_EQ(result.parameters.table.size(), 2u);
  ASSERT_NE(Find(result, rows.signatures[0]), nullptr);
  EXPECT_EQ(Find(result, rows.signatures[0])->us, 7);
  EXPECT_EQ(Find(result, rows.signatures[1])->samples, 10);
  EXPECT_EQ(result.ops.at(0).graph_entries, 2u);
  EXPECT_TRUE(result.parameters.Find("h200")->curves.empty());
  EXPECT_EQ(Find(CalibrateAll({rows.Recording()}, {.ops = {.cold = true}}), rows.signatures[0])->us, 14);
}

TEST(CalibrateGraphOps, OfOneSignatureTheMeanOverOpsCounts) {
  Rows rows;
  rows.Product(48, 10, 3, "MatMul", "forward").Product(48, 20, 1, "MatMul", "backward");
  ASSERT_EQ(rows.signatures[0], rows.signatures[1]);
  EXPECT_EQ(Find(CalibrateAll({rows.Recording()}), rows.signatures[0])->us, 12.5);
}

TEST(CalibrateGraphOps, ChangeNothingThatProbesSay) {
  Rows rows;
  rows.Product(48, 7).Product(256, 9);  // the latter is a size of the probes'
  const std::vector<NamedRecording> probes = FabricatedProbes({});
  const CalibrationResult without = CalibrateAll(probes),
                          with = CalibrateAll({probes.front(), rows.Recording()});
  EXPECT_EQ(with.parameters.table.size(), without.parameters.table.size() + 1);
  EXPECT_EQ(Find(with, rows.signatures[1])->us, Find(without, rows.signatures[1])->us);
  EXPECT_EQ(
      PrintParameters(with.parameters).substr(0, PrintParameters(with.parameters).find("\"table\"")),
      PrintParameters(without.parameters).substr(0, PrintParameters(without.parameters).find("\"table\"")));
  EXPECT_THAT(with.notes, Contains(HasSubstr("1 ops of graphs were measured by a probe too")));
}

TEST(CalibrateGraphOps, AStandInIsSaidAndADamagedRowRefused) {
  Rows rows;
  rows.Product(48, 7, 1, "Whatever");
  std::get<sim::Attributes>(rows.rows[0].value).emplace_back("stand_in", sim::Attribute{true});
  EXPECT_THAT(CalibrateAll({rows.Recording()}).notes,
              Contains(HasSubstr("ops of Whatever stand in the table")));
  for (auto& [key, value] : std::get<sim::Attributes>(rows.rows[0].value))
    if (key == "graph") value = sim::Attribute{std::string("no graph")};
  EXPECT_THAT(ErrorOf({rows.Recording()}), HasSubstr("ops.trace: ops of products.rows[0].graph"));
}

}  // namespace
}  // namespace stowplan::cost_models
