// Execution traces of torch with and without the Kineto trace of the same run. The pair step_*.json is made by hand: a
// linear layer, its ReLU, a gradient, an update in place, one call that scales two weights, and a read of a weight. Its
// kernels take 10, 4, 6, 2, 9 and 3 us; a memset of 1 us belongs to no op.
#include "scenarios/importers/trace.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "sim/cost_model.h"
#include "sim/formats/formats.h"
#include "sim/simulator.h"
#include "tests/scenarios/graph_view.h"
#include "tests/scenarios/test_catalogue.h"
#include "tests/temp_folder.h"

namespace stowplan::scenarios {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kFolder = STOWPLAN_SOURCE_DIR "/tests/scenarios/data/";
const std::string kExecution = kFolder + "step_execution.json";
const std::string kKineto = kFolder + "step_kineto.json";

ImportedGraph Imported(const ImportOptions& options = {.kineto = kKineto}) {
  return ImportTrace(formats::ReadFile(kExecution), "step_execution.json", options);
}

std::vector<std::string> Names(const sim::OpGraph& graph, const std::vector<sim::OpIndex>& ops) {
  std::vector<std::string> names;
  for (const sim::OpIndex op : ops) names.push_back(graph.ops.at(static_cast<std::size_t>(op)).name);
  return names;
}

std::vector<std::string> InputsOf(const sim::OpGraph& graph, const std::string& name) {
  std::vector<sim::OpIndex> ops;
  for (const sim::TensorRef& input : At(graph, name).inputs) ops.push_back(input.op);
  return Names(graph, ops);
}

// What only calls ops is no op (linear, the ranges of autograd and the optimizer), what an op calls is its own (clamp_min),
// and what gives back what it was given is nothing (to).
TEST(TraceTest, OpsAreWhatKernelsImplement) {
  const sim::OpGraph graph = Imported().graph;
  std::vector<std::string> names;
  for (const sim::Op& op : graph.ops) names.push_back(op.name + " " + op.type + " " + op.phase);
  EXPECT_THAT(names, ElementsAre("tensor#2 Variable forward", "t#4 Reshape forward",
                                 "tensor#3 Variable forward", "tensor#1 Variable forward",
                                 "addmm#5 MatMul forward", "relu#7 Relu forward", "mm#11 MatMul backward",
                                 "add_#13 Add update", "_foreach_mul_#14.0 aten._foreach_mul_ update",
                                 "_foreach_mul_#14.1 aten._foreach_mul_ update", "mul#15 Mul forward"));
}

TEST(TraceTest, TensorsAreDependencies) {
  const sim::OpGraph graph = Imported().graph;
  EXPECT_THAT(InputsOf(graph, "addmm#5"), ElementsAre("tensor#1", "t#4", "tensor#3"))
      << "the product's first";
  EXPECT_THAT(InputsOf(graph, "mm#11"), ElementsAre("relu#7", "tensor#1"));
  EXPECT_EQ(At(graph, "addmm#5").outputs[0].bytes, 4 * 2 * 4);
  EXPECT_THAT(At(graph, "addmm#5").outputs[0].shape, ElementsAre(4, 2));
  EXPECT_EQ(At(graph, "addmm#5").flops, 2 * 4 * 2 * 8);
  EXPECT_EQ(At(graph, "t#4").outputs[0].storage, sim::Output::Storage::kInput);
  EXPECT_EQ(At(graph, "tensor#2").persistent_bytes, 2 * 8 * 4);
}

// add_ writes the weight that the view of it was read through: it waits for the view's reader, and is where the weight is.
TEST(TraceTest, WritesInPlaceWaitForReadersAndAreReadAfterwards) {
  const sim::OpGraph graph = Imported().graph;
  EXPECT_THAT(Names(graph, At(graph, "add_#13").control), ElementsAre("t#4", "addmm#5"));
  EXPECT_EQ(At(graph, "add_#13").colocate, At(graph, "tensor#2").colocate);
  EXPECT_THAT(InputsOf(graph, "mul#15"), ElementsAre("add_#13")) << "gives out the weight's storage";
  EXPECT_THAT(Names(graph, At(graph, "mul#15").control), ElementsAre("_foreach_mul_#14.0"))
      << "has written since";
}

// mul#15 gets the storage number 4, that of addmm#5's output, which was freed.
TEST(TraceTest, StorageNumbersAreUsedAgain) {
  const sim::OpGraph graph = Imported().graph;
  const sim::Op& mul = At(graph, "mul#15");
  EXPECT_EQ(mul.outputs[0].storage, sim::Output::Storage::kOwn);
  EXPECT_THAT(Names(graph, mul.control), ::testing::Not(Contains("addmm#5")));
}

TEST(TraceTest, KernelsAreTheTimesOfTheirOps) {
  const ImportedGraph imported = Imported();
  std::map<std::string, double> gpu;
  double sum = 0;
  for (const sim::Op& op : imported.graph.ops) {
    for (const auto& [kind, us] : op.cost_us_by_kind) {
      EXPECT_EQ(kind, "gpu");
      gpu[op.name] = us;
      sum += us;
    }
  }
  // 64 and 8 bytes of the 9 us that one kernel took for both.
  const std::map<std::string, double> expected = {
      {"addmm#5", 10},           {"relu#7", 4}, {"mm#11", 6}, {"add_#13", 2}, {"_foreach_mul_#14.0", 8},
      {"_foreach_mul_#14.1", 1}, {"mul#15", 3}};
  EXPECT_EQ(gpu, expected);
  EXPECT_EQ(sum, 34);
  EXPECT_EQ(sim::FindNumber(imported.graph.attributes, "traced_device_us"), 35)
      << "with the memset, in no op";
  EXPECT_EQ(sim::FindNumber(imported.graph.attributes, "traced_step_us"), 161);
  EXPECT_THAT(imported.notes,
              Contains(AllOf(HasSubstr("34 us of the 35 us"), HasSubstr("97.1 %"), HasSubstr("A100"))));
}

TEST(TraceTest, TimesMayBeOfOneKindOfGpu) {
  const ImportedGraph imported = Imported({.kineto = kKineto, .gpu = "a100"});
  EXPECT_EQ(At(imported.graph, "relu#7").cost_us_by_kind.front().first, "a100");
  EXPECT_THAT(imported.notes, ::testing::Not(Contains(HasSubstr("--gpu"))));
}

class NoCostModel : public sim::CostModel {
 public:
  std::string name() const override { return "none"; }
  std::optional<sim::Price> Predict(const sim::OpGraph&, sim::OpIndex, const sim::Device&) const override {
    return sim::Price{};
  }
};

// One device, nothing to wait for: a step takes what its ops took.
TEST(TraceTest, OneDeviceTakesTheSumOfTheTimes) {
  const sim::OpGraph graph = Imported().graph;
  const sim::Cluster cluster = LoadCluster("doppler(gpus=1)", TestCatalogue());
  const sim::Problem problem(graph, cluster, sim::PriceOps(graph, cluster, NoCostModel{}));
  const std::vector<sim::DeviceIndex> all(graph.ops.size(), 0);
  EXPECT_EQ(sim::ToMicros(sim::MakeSimulator(problem)->Run({all}).runtime), 34);
}

TEST(TraceTest, AnExecutionTraceAloneIsAGraphWithoutTimes) {
  std::vector<std::string> notes;
  const sim::OpGraph graph = LoadGraph(kExecution, nullptr, &notes);
  for (const sim::Op& op : graph.ops) EXPECT_THAT(op.cost_us_by_kind, IsEmpty());
  EXPECT_THAT(notes, Contains(HasSubstr("has no times")));
}

// As PyTorch 2.0 wrote it; ops of the CPU take their time on the host.
TEST(TraceTest, OldSchemaAndOpsOfTheCpu) {
  const std::string execution = R"json({"schema": "1.0.1", "nodes": [
    {"name": "aten::fill_", "id": 3, "rf_id": 2, "parent": 2, "op_schema": "aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)",
     "inputs": [[6,7,0,10,4,"cpu"],0], "input_shapes": [[10],[]], "input_types": ["Tensor(float)","Int"],
     "outputs": [[6,7,0,10,4,"cpu"]], "output_shapes": [[10]], "output_types": ["Tensor(float)"]},
    {"name": "aten::zero_", "id": 2, "rf_id": 1, "parent": 1, "op_schema": "aten::zero_(Tensor(a!) self) -> Tensor(a!)",
     "inputs": [[6,7,0,10,4,"cpu"]], "input_shapes": [[10]], "input_types": ["Tensor(float)"],
     "outputs": [[6,7,0,10,4,"cpu"]], "output_shapes": [[10]], "output_types": ["Tensor(float)"]},
    {"name": "process", "id": 1, "rf_id": 0, "parent": 1, "op_schema": "", "inputs": [], "outputs": []}]})json";
  const tests::TempFolder folder;
  formats::WriteFile(
      folder / "kineto.json",
      R"json([{"ph": "X", "cat": "cpu_op", "name": "aten::zero_", "pid": 1, "tid": 1, "ts": 10, "dur": 30, "args": {"External id": 1}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::fill_", "pid": 1, "tid": 1, "ts": 15, "dur": 20, "args": {"External id": 2}}])json");
  const ImportedGraph imported = ImportTrace(execution, "old.json", {.kineto = folder / "kineto.json"});
  ASSERT_EQ(imported.graph.size(), 2);
  const sim::Op& zero = imported.graph.ops[1];
  EXPECT_EQ(zero.type, "Fill");
  EXPECT_THAT(zero.cost_us_by_kind, ElementsAre(std::pair<std::string, double>("cpu", 30)));
}

TEST(TraceTest, RefusesWhatDoesNotBelongTogether) {
  const auto import = [](const std::string& text, const std::string& kineto = "") {
    return ErrorOf([&] { ImportTrace(text, "x.json", {.kineto = kineto}); });
  };
  EXPECT_THAT(import(R"json({"traceEvents": []})json"),
              HasSubstr("is a Kineto trace, which tells times and no tensors"));
  EXPECT_THAT(ErrorOf([] { LoadGraph(kKineto); }), HasSubstr("is a Kineto trace"));
  EXPECT_THAT(import(R"json({"nodes": 3, "rf_id": 0})json"), HasSubstr("has no list \"nodes\""));
  EXPECT_THAT(import(R"json({"nodes": []})json"), HasSubstr("holds no op"));
  EXPECT_THAT(import(R"json({"nodes": [{"id": 1}]})json"), HasSubstr("nodes[0] must be a node"));
  EXPECT_THAT(import(R"json({"nodes": [{"id": 1, "name": "a", "parent": 5}]})json"),
              HasSubstr("a parent began earlier"));
  EXPECT_THAT(import(R"json({"nodes": [{"id": 1, "name": "a"}, {"id": 1, "name": "b"}]})json"),
              HasSubstr("repeats id 1"));
  const auto with = [](const std::string& tensor) {
    return R"json({"nodes": [{"id": 1, "name": "aten::relu", "rf_id": 1, "op_schema": "aten::relu(Tensor self) -> Tensor",
      "inputs": [)json" +
           tensor + R"json(], "input_types": ["Tensor(float)"], "outputs": []}]})json";
  };
  EXPECT_THAT(import(with("7")),
              HasSubstr("must be a tensor: [id, storage, offset, elements, bytes of an element, device]"));
  EXPECT_THAT(import(with(R"json([1,1,0,-4,4,"cpu"])json")), HasSubstr("nodes[0].inputs[0][3]"));
  EXPECT_THAT(import(with(R"json([1,1,0,4,4,"cpu"])json"), kKineto),
              HasSubstr("has 0 of the 1 ops of x.json"));
}

// One call of 20,000 updates that each read 1,600 tensors: 32 million reads out of a megabyte.
TEST(TraceTest, RefusesListsThatEachOfVeryManyUpdatesReads) {
  const auto repeated = [](const std::string& text, int times, const char* between) {
    std::string all;
    for (int i = 0; i < times; ++i) all += (i > 0 ? between : "") + text;
    return all;
  };
  const auto list = [&](int tensors) { return "[" + repeated(R"([1,1,0,4,4,"cpu"])", tensors, ",") + "]"; };
  const auto type = [&](int tensors) {
    return "\"GenericList[" + repeated("Tensor(float)", tensors, ",") + "]\"";
  };
  const auto import = [&](int updates, int lists) {
    return ErrorOf([&] {
      ImportTrace(R"json({"nodes": [{"id": 1, "name": "aten::_foreach_add_", "rf_id": 1,
                      "op_schema": "aten::_foreach_add_(Tensor(a!)[] self) -> ()", "outputs": [], "inputs": [)json" +
                      list(updates) + "," + repeated(list(16), lists, ",") + R"(], "input_types": [)" +
                      type(updates) + "," + repeated(type(16), lists, ",") + "]}]}",
                  "x.json", {});
    });
  };
  EXPECT_THAT(import(20'000, 100),
              HasSubstr("node 1 (aten::_foreach_add_) has 1600 tensors for each of its 20000 updates"));
  EXPECT_EQ(import(20, 2), "no error");
}

// 5,000 updates that would each have a name, a device or a shape of 100 kB: half a gigabyte out of 300 kB.
TEST(TraceTest, RefusesToCopyLongTextsForVeryManyUpdates) {
  const auto repeated = [](std::string_view text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
  };
  const auto import = [&](const std::string& name, const std::string& device, const std::string& shape) {
    std::string tensors, types = "Tensor(float)";
    for (int i = 2; i < 5'000; ++i) {
      tensors += fmt::format(R"([{0},{0},0,1,4,"cpu"],)", i);
      types += ",Tensor(float)";
    }
    return ErrorOf([&] {
      ImportTrace(R"json({"nodes": [{"id": 1, "name": "aten::_foreach_)json" + name +
                      R"json(", "rf_id": 1, "op_schema": "aten::_foreach(Tensor[] self) -> ()", "outputs": [],
                      "inputs": [[)json" +
                      tensors + R"json([1,1,0,1,4,"cpu"]],[9999,9999,0,1,4,")json" + device +
                      R"json("]], "input_shapes": [[],)json" + shape +
                      R"json(], "input_types": ["GenericList[)json" + types +
                      R"json(]","Tensor(float)"]}]})json",
                  "x.json", {});
    });
  };
  const auto refused = AllOf(HasSubstr("execution trace: node 1 (\"aten::_foreach_"),
                             HasSubstr("in each of its 4999 updates"));
  EXPECT_THAT(import(repeated("a", 100'000), "cpu", "[]"), refused);
  EXPECT_THAT(import("a", repeated("a", 100'000), "[]"), refused);
  EXPECT_THAT(import("a", "cpu", "[1" + repeated(",1", 20'000) + "]"), refused);
  EXPECT_EQ(import("a", "cpu", "[]"), "no error");
}

// Each update has one of the outputs, and looks neither at the others nor at all inputs for each.
TEST(TraceTest, ManyUpdatesThatGiveViewsAreReadInTime) {
  std::string tensors, outputs, types = "Tensor(float)", output_types = "\"Tensor(float)\"";
  for (int i = 2; i < 20'000; ++i) {
    tensors += fmt::format(R"([{0},{0},0,1,4,"cpu"],)", i);
    outputs += fmt::format(R"([{},1,0,1,4,"cpu"],)", 20'000 + i);
    types += ",Tensor(float)";
    output_types += ",\"Tensor(float)\"";
  }
  const sim::OpGraph graph =
      ImportTrace(R"json({"nodes": [{"id": 1, "name": "aten::_foreach_a", "rf_id": 1,
                      "op_schema": "aten::_foreach(Tensor[] self) -> Tensor[]", "inputs": [[)json" +
                      tensors +
                      R"json([1,1,0,1,4,"cpu"]],[1,1,0,1,4,"cpu"]], "input_types": ["GenericList[)json" +
                      types + R"json(]","Tensor(float)"], "outputs": [)json" + outputs +
                      R"json([20001,1,0,1,4,"cpu"]], "output_types": [)json" + output_types + "]}]}",
                  "x.json", {})
          .graph;
  EXPECT_EQ(std::ranges::count(graph.ops, "Reshape", &sim::Op::type), 19'999);
}

TEST(TraceTest, ANameOfVeryManyColonsIsReadInTime) {
  const std::string text = R"json({"nodes": [{"id": 1, "name": ")json" + std::string(4'000'000, ':') +
                           R"json(", "rf_id": 1, "op_schema": "a(Tensor self) -> ()", "outputs": [],
      "inputs": [[1,1,0,1,4,"cpu"]], "input_types": ["Tensor(float)"]}]})json";
  EXPECT_EQ(ImportTrace(text, "x.json", {}).graph.ops.back().type, std::string(2'000'000, '.'));
}

}  // namespace
}  // namespace stowplan::scenarios
