// Execution traces of torch with and without the Kineto trace of the same run. The pair step_*.json is made by hand: a
// linear layer, its ReLU, a gradient, an update in place, one call that scales two weights, and a read of a weight. Its
// kernels take 10, 4, 6, 2, 9 and 3 us; a memset of 1 us belongs to no op.
#include "scenarios/importers/trace.h"

#include <fmt/format.h>

#include "scenarios/workloads/micro_batches.h"
#include "sim/cost_model.h"
#include "sim/formats/formats.h"
#include "sim/simulator.h"
#include "tests/scenarios/graph_view.h"
#include "tests/scenarios/test_catalogue.h"
#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

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
                                 "tensor#3 Variable forward", "tensor#1 Placeholder forward",
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
  EXPECT_THAT(InputsOf(graph, "mul#15"), ElementsAre("_foreach_mul_#14.0")) << "has written it since";
  EXPECT_THAT(Names(graph, At(graph, "mul#15").control), IsEmpty());
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

TEST(TraceTest, AKinetoTraceMakesThePairsHostOrder) {
  const sim::OpGraph graph = Imported().graph;
  EXPECT_EQ(sim::FindNumber(graph.attributes, "streams"), 1);
  double host_us = 0;
  for (const sim::Op& op : graph.ops) host_us += sim::FindNumber(op.attributes, "host_us").value_or(0);
  EXPECT_DOUBLE_EQ(host_us, 140)
      << "from the start of the first kernel, at 1020 us, to that of the last, at 1160";
}

// Old versions number the records of the two files differently: the order of names tells them, if it does in one place alone.
TEST(TraceTest, NumbersMayDifferWhereTheOrderOfNamesTells) {
  const std::string kineto = formats::ReadFile(kKineto);
  const auto renumbered = [&](const std::string& text) {
    std::string other = text;
    for (const char* key : {"\"Record function id\":", "\"External id\":"}) {
      for (std::size_t at = 0; (at = other.find(key, at)) != std::string::npos;) {
        at += std::string_view(key).size();
        other.insert(at, "9");  // 13 becomes 913
      }
    }
    return other;
  };
  const auto priced = [](const sim::OpGraph& graph) {
    std::map<std::string, double> us;
    for (const sim::Op& op : graph.ops)
      for (const auto& cost : op.cost_us_by_kind) us[op.name] = cost.second;
    return us;
  };
  const std::string execution = formats::ReadFile(kExecution);
  const ImportedGraph by_number = ImportTracePair(execution, "step.json", kineto, {.kineto = "k.json"});
  const ImportedGraph by_order =
      ImportTracePair(execution, "step.json", renumbered(kineto), {.kineto = "k.json"});
  EXPECT_EQ(priced(by_order.graph), priced(by_number.graph));
  EXPECT_THAT(by_order.notes, Contains(HasSubstr("by the order of their names")));
  EXPECT_THAT(by_number.notes, ::testing::Not(Contains(HasSubstr("by the order of their names"))));
}

// Names that are in one of the files alone are passed over, and how many matched is told.
TEST(TraceTest, NamesMayBeMissing) {
  std::string kineto = formats::ReadFile(kKineto);
  for (const char* key : {"\"Record function id\":", "\"External id\":"}) {
    for (std::size_t at = 0; (at = kineto.find(key, at)) != std::string::npos;) {
      at += std::string_view(key).size();
      kineto.insert(at, "9");
    }
  }
  const auto relu = kineto.find("\"aten::relu\"");
  ASSERT_NE(relu, std::string::npos);
  kineto.replace(relu, std::string_view("\"aten::relu\"").size(), "\"another\"");
  const ImportedGraph imported =
      ImportTracePair(formats::ReadFile(kExecution), "step.json", kineto, {.kineto = "k.json"});
  EXPECT_EQ(At(imported.graph, "relu#7").cost_us_by_kind.front().second, 4) << "by what it calls";
  EXPECT_EQ(At(imported.graph, "mm#11").cost_us_by_kind.front().second, 6);
  EXPECT_THAT(imported.notes, Contains(HasSubstr("by the order of their names")));
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

// One op of a trace: its arguments by name, with their shapes; numbers as they are.
struct Traced {
  std::string name;
  int id;
  int parent;
  std::vector<std::string> parameters;  // of the schema: "Tensor input", "int[] stride"
  std::vector<std::string> values;      // "T3:512x64" = tensor 3, or JSON
  std::vector<std::string> outputs;     // likewise
};

std::string TensorText(const std::string& told, std::string& shape) {
  const auto colon = told.find(':');
  std::vector<std::string> dims;
  std::int64_t elements = 1;
  std::string rest = told.substr(colon + 1);
  while (!rest.empty()) {
    const auto x = std::min(rest.find('x'), rest.size());
    dims.push_back(rest.substr(0, x));
    elements *= std::stoll(dims.back());
    rest.erase(0, x + 1);
  }
  shape = fmt::format("[{}]", fmt::join(dims, ","));
  const std::string id = told.substr(1, colon - 1);
  return fmt::format(R"([{0},{0},0,{1},4,"cuda:0"])", id, elements);
}

std::string NodeText(const Traced& op) {
  const auto list = [](const std::vector<std::string>& values, const std::string& which) {
    std::vector<std::string> texts, shapes, types;
    for (const std::string& value : values) {
      std::string shape = "[]";
      texts.push_back(value.starts_with('T') ? TensorText(value, shape) : value);
      shapes.push_back(shape);
      types.push_back(value.starts_with('T')                ? "\"Tensor(float)\""
                      : value.starts_with("[t")             ? "\"GenericList[Bool,Bool,Bool]\""
                      : value.starts_with('[')              ? "\"GenericList[Int,Int]\""
                      : value == "true" || value == "false" ? "\"Bool\""
                                                            : "\"Int\"");
    }
    return fmt::format(R"("{0}s": [{1}], "{0}_shapes": [{2}], "{0}_types": [{3}])", which,
                       fmt::join(texts, ","), fmt::join(shapes, ","), fmt::join(types, ","));
  };
  const std::string schema =
      op.parameters.empty() ? "" : fmt::format("{}({}) -> Tensor", op.name, fmt::join(op.parameters, ", "));
  return fmt::format(R"({{"name": "{}", "id": {}, "rf_id": {}, "parent": {}, "op_schema": "{}", {}, {}}})",
                     op.name, op.id, op.id, op.parent, schema, list(op.values, "input"),
                     list(op.outputs, "output"));
}

sim::OpGraph GraphOf(const std::vector<Traced>& ops) {
  std::vector<std::string> nodes;
  for (const Traced& op : ops) nodes.push_back(NodeText(op));
  return ImportTrace(fmt::format(R"({{"schema": "1.0.1", "nodes": [{}]}})", fmt::join(nodes, ",\n")),
                     "made.json", {})
      .graph;
}

std::vector<std::string> Inputs(const sim::OpGraph& graph) {
  std::vector<std::string> names;
  for (const sim::Op& op : graph.ops)
    if (op.type == "Placeholder") names.push_back(op.name);
  return names;
}

// The gradients of a convolution of 6 images, 8 channels in 2 groups: what its mask says, and no more.
TEST(TraceTest, BackwardConvolutionsAreTheProductsThatTheyMake) {
  const std::vector<std::string> parameters = {
      "Tensor grad_output",   "Tensor input",  "Tensor weight",      "int[]? bias_sizes",
      "int[] stride",         "int[] padding", "int[] dilation",     "bool transposed",
      "int[] output_padding", "int groups",    "bool[3] output_mask"};
  const double one = 2.0 * 6 * 12 * 5 * 5 * 4 * 3 * 3;
  for (const auto& [mask, outputs, products] :
       {std::tuple{"[true,true,true]", std::vector<std::string>{"T9:6x8x11x11", "T10:12x4x3x3", "T11:12"}, 2},
        {"[true,false,false]", {"T9:6x8x11x11"}, 1},
        {"[true,true,false]", {"T9:6x8x11x11", "T10:12x4x3x3"}, 2}}) {
    const sim::OpGraph graph = GraphOf({{"aten::convolution_backward",
                                         2,
                                         1,
                                         parameters,
                                         {"T1:6x12x5x5", "T2:6x8x11x11", "T3:12x4x3x3", "[12,0]", "[2,2]",
                                          "[0,0]", "[1,1]", "false", "[0,0]", "2", mask},
                                         outputs}});
    const sim::Op& op = graph.ops.back();
    EXPECT_EQ(op.type, "ConvBackward");
    EXPECT_EQ(op.flops, products * one) << mask;
    EXPECT_EQ(op.outputs.size(), outputs.size());
    EXPECT_EQ(sim::FindNumber(op.attributes, "groups"), 2);
    EXPECT_NE(sim::FindAttribute(op.attributes, "strides"), nullptr);
  }
}

TEST(TraceTest, ConvolutionsHaveTheTypesOfTheirKernels) {
  const std::vector<std::string> parameters = {"Tensor input",    "Tensor weight",        "Tensor? bias",
                                               "int[] stride",    "int[] padding",        "int[] dilation",
                                               "bool transposed", "int[] output_padding", "int groups"};
  const auto op_of = [&](const std::string& image, const std::string& filter, const std::string& made,
                         const std::string& transposed, const std::string& groups) {
    const sim::OpGraph graph = GraphOf(
        {{"aten::convolution",
          2,
          1,
          parameters,
          {"T1:" + image, "T2:" + filter, "T3:4", "[1,1]", "[1,1]", "[2,2]", transposed, "[0,0]", groups},
          {"T4:" + made}}});
    EXPECT_THAT(Inputs(graph), ElementsAre("tensor#1"));
    return graph.ops.back();
  };
  EXPECT_EQ(op_of("2x3x8x8", "4x3x3x3", "2x4x6x6", "false", "1").type, "Conv2D");
  EXPECT_EQ(op_of("2x3x8x8", "4x3x3x3", "2x4x6x6", "false", "1").flops, 2.0 * 2 * 4 * 36 * 27);
  EXPECT_EQ(op_of("2x4x8x8", "4x1x3x3", "2x4x6x6", "false", "4").type, "DepthwiseConv2dNative");
  EXPECT_EQ(op_of("2x4x8x8", "4x1x3x3", "2x4x6x6", "false", "4").flops, 2.0 * 2 * 4 * 36 * 9);
  EXPECT_EQ(op_of("2x3x8", "4x3x3", "2x4x6", "false", "1").type, "Conv1D");
  EXPECT_EQ(op_of("2x3x8x8x8", "4x3x3x3x3", "2x4x6x6x6", "false", "1").type, "Conv3D");
  EXPECT_EQ(op_of("2x3x8x8", "3x4x3x3", "2x4x10x10", "true", "1").type, "ConvTranspose");
  EXPECT_EQ(op_of("2x3x8x8", "3x4x3x3", "2x4x10x10", "true", "1").flops, 2.0 * 2 * 3 * 64 * 36);
}

// x, by itself and through a copy, meets w, whose gradient an optimizer applies; a table of positions is neither, a mask has the
// batch in front.
TEST(TraceTest, InputsAreToldFromWeights) {
  const std::vector<std::string> mm = {"Tensor self", "Tensor mat2"}, add = {"Tensor self", "Tensor other"},
                                 add_to = {"Tensor(a!) self", "Tensor other"},
                                 loss = {"Tensor self", "Tensor target"}, copy = {"Tensor self"};
  const std::string backward = "autograd::engine::evaluate_function: MmBackward0";
  const std::vector<Traced> step = {{"process", 1, 1, {}, {}, {}},
                                    {"aten::mm", 2, 1, mm, {"T1:32x8", "T2:8x8"}, {"T3:32x8"}},
                                    {"aten::add", 3, 1, add, {"T3:32x8", "T4:8"}, {"T5:32x8"}},
                                    {"aten::mul", 4, 1, add, {"T5:32x8", "T6:32x8"}, {"T7:32x8"}},
                                    {"aten::_to_copy", 5, 1, copy, {"T20:32x8"}, {"T21:32x8"}},
                                    {"aten::mse_loss", 6, 1, loss, {"T7:32x8", "T21:32x8"}, {"T8:1"}},
                                    {backward, 7, 1, {}, {}, {}},
                                    {"aten::mm", 8, 7, mm, {"T9:8x32", "T3:32x8"}, {"T10:8x8"}},
                                    {"Optimizer.step#SGD.step", 9, 1, {}, {}, {}},
                                    {"aten::add_", 10, 9, add_to, {"T2:8x8", "T10:8x8"}, {"T2:8x8"}}};
  EXPECT_THAT(Inputs(GraphOf(step)), ElementsAre("tensor#1", "tensor#6", "tensor#20"));

  // Without the optimizer: autograd adds up a gradient of 8 x 8.
  std::vector<Traced> recorded(step.begin(), step.end() - 2);
  recorded.push_back({"torch::autograd::AccumulateGrad", 11, 7, {}, {"T10:8x8"}, {}});
  EXPECT_THAT(Inputs(GraphOf(recorded)), ElementsAre("tensor#1", "tensor#6", "tensor#20"));

  // Without anything: x might as well be a weight.
  const sim::OpGraph bare = GraphOf({step.begin(), step.begin() + 4});
  EXPECT_THAT(Inputs(bare), IsEmpty());
  EXPECT_THROW(ShareBatch(bare, 2), InputError);

  for (const sim::Op& op : GraphOf(step).ops) {
    EXPECT_EQ(op.persistent_bytes > 0, op.type == "Variable") << op.name;
    if (op.type == "Variable") {
      EXPECT_EQ(op.outputs[0].storage, sim::Output::Storage::kPersistent);
    }
  }
}

// An all-reduce gives back what it was given, and is no view: those behind it wait. So is what it calls, and its time.
TEST(TraceTest, CollectivesAreOps) {
  const sim::OpGraph graph = GraphOf({{"process", 1, 1, {}, {}, {}},
                                      {"aten::relu", 2, 1, {"Tensor self"}, {"T1:64"}, {"T2:64"}},
                                      {"c10d::allreduce_", 3, 1, {"Tensor tensors"}, {"T2:64"}, {"T2:64"}},
                                      {"record_param_comms", 4, 3, {}, {"T2:64"}, {"T2:64"}},
                                      {"nccl:all_reduce", 5, 4, {}, {"T2:64"}, {}},
                                      {"record_param_comms", 6, 1, {}, {"T2:64"}, {"T3:64"}},
                                      {"nccl:all_to_all", 7, 6, {}, {"T2:64"}, {}},
                                      {"aten::relu", 8, 1, {"Tensor self"}, {"T2:64"}, {"T4:64"}}});
  std::vector<std::string> names;
  for (const sim::Op& op : graph.ops) names.push_back(op.name + " " + op.type);
  EXPECT_EQ(sim::FindString(At(graph, "allreduce_#3").attributes, "collective"), "AllReduce");
  EXPECT_EQ(sim::FindNumber(At(graph, "allreduce_#3").attributes, "bytes"), 64 * 4);
  EXPECT_EQ(sim::FindString(At(graph, "record_param_comms#6").attributes, "collective"), "AllToAll");
  EXPECT_THAT(names, ElementsAre("tensor#1 Variable", "relu#2 Relu", "allreduce_#3 c10d.allreduce_",
                                 "record_param_comms#6 record_param_comms", "relu#8 Relu"));
  EXPECT_THAT(InputsOf(graph, "relu#8"), ElementsAre("allreduce_#3"));
}

// cuDNN's, CUTLASS's and cuBLAS's names of kernels on TF32 and on plain units; others tell nothing.
TEST(TraceTest, KernelsTellTf32) {
  const auto told = [](const std::string& kernel) -> std::string {
    const tests::TempFolder folder;
    formats::WriteFile(folder / "kineto.json", fmt::format(R"json({{"traceEvents": [
      {{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10, "dur": 30, "args": {{"External id": 2}}}},
      {{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 15, "dur": 5,
        "args": {{"External id": 2, "correlation": 7}}}},
      {{"ph": "X", "cat": "kernel", "name": "{}", "pid": 0, "tid": 7, "ts": 50, "dur": 20,
        "args": {{"External id": 2, "correlation": 7, "stream": 7, "device": 0, "context": 1, "grid": [8,1,1], "block": [128,1,1]}}}}
      ]}})json",
                                                           kernel));
    const std::string node =
        NodeText({"aten::mm", 2, 1, {"Tensor self", "Tensor mat2"}, {"T1:32x8", "T2:8x8"}, {"T3:32x8"}});
    const sim::OpGraph graph = ImportTrace(fmt::format(R"({{"schema": "1.0.1", "nodes": [{}]}})", node),
                                           "made.json", {.kineto = folder / "kineto.json"})
                                   .graph;
    const sim::Attribute* found = sim::FindAttribute(graph.ops.back().attributes, "tf32");
    return found == nullptr ? "not told" : std::get<bool>(found->value) ? "tf32" : "f32";
  };
  EXPECT_EQ(told("sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x256x32"),
            "tf32");
  EXPECT_EQ(told("cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4"), "tf32");
  EXPECT_EQ(told("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_ffma_aligna4"), "f32");
  EXPECT_EQ(told("void cutlass::Kernel<cutlass_80_simt_sgemm_256x128_8x4_nt_align1>(Params)"), "f32");
  EXPECT_EQ(told("volta_sgemm_128x64_nn"), "f32");
  EXPECT_EQ(told("splitKreduce_kernel"), "not told");
}

// Where TF32 is switched off, an argument of the kernel's own op says so, with or without times.
TEST(TraceTest, ConvolutionsTellThatTf32IsOff) {
  const std::vector<std::string> parameters = {"Tensor input", "Tensor weight", "int groups",
                                               "bool allow_tf32"};
  for (const auto& [allowed, told] : {std::pair{"false", true}, {"true", false}}) {
    const std::vector<std::string> values = {"T1:2x3x8x8", "T2:4x3x3x3", "1", allowed};
    const sim::OpGraph graph =
        GraphOf({{"process", 1, 1, {}, {}, {}},
                 {"aten::convolution", 2, 1, parameters, values, {"T3:2x4x6x6"}},
                 {"aten::cudnn_convolution", 3, 2, parameters, values, {"T3:2x4x6x6"}}});
    const sim::Attribute* found = sim::FindAttribute(graph.ops.back().attributes, "tf32");
    ASSERT_EQ(found != nullptr, told) << allowed;
    if (told) {
      EXPECT_FALSE(std::get<bool>(found->value));
    }
  }
}

// Between backward pass and optimizer: once a step, however many micro-batches.
TEST(TraceTest, ClippingIsOfTheUpdate) {
  const std::vector<std::string> mm = {"Tensor self", "Tensor mat2"},
                                 scale = {"Tensor(a!) self", "Tensor other"};
  const sim::OpGraph graph = GraphOf({{"process", 1, 1, {}, {}, {}},
                                      {"autograd::engine::evaluate_function: MmBackward0", 2, 1, {}, {}, {}},
                                      {"aten::mm", 3, 2, mm, {"T1:8x32", "T2:32x8"}, {"T3:8x8"}},
                                      {"aten::norm", 4, 1, {"Tensor self"}, {"T3:8x8"}, {"T4:1"}},
                                      {"aten::reciprocal", 5, 1, {"Tensor self"}, {"T4:1"}, {"T5:1"}},
                                      {"aten::mul_", 6, 1, scale, {"T3:8x8", "T5:1"}, {"T3:8x8"}}});
  for (const char* name : {"norm#4", "reciprocal#5", "mul_#6"}) EXPECT_EQ(At(graph, name).phase, "update");
  EXPECT_EQ(At(graph, "mm#3").phase, "backward");
}

// A step of PyTorch 2.15 on a CPU: nine linear layers on 256 rows of 512, cross-entropy, AdamW, recorded on one thread.
TEST(TraceTest, ARecordedStepIsCutIntoMicroBatches) {
  const auto import = [](const std::string& kineto) {
    return ImportTrace(formats::ReadFile(kFolder + "mlp_execution.json.gz"), "mlp.json", {.kineto = kineto})
        .graph;
  };
  const sim::OpGraph whole = import(kFolder + "mlp_kineto.json.gz");
  std::vector<std::vector<std::int64_t>> shapes;
  sim::Bytes weights = 0;
  for (const sim::Op& op : whole.ops) {
    if (op.type == "Placeholder") shapes.push_back(op.outputs[0].shape);
    if (op.type == "Variable") weights += op.persistent_bytes;
  }
  EXPECT_THAT(shapes, ElementsAre(ElementsAre(256, 512), ElementsAre(256)));
  const double parameters = 8.0 * (512 * 512 + 512) + 512 * 10 + 10;
  EXPECT_NEAR(static_cast<double>(weights), 4 * 3 * parameters, 1000)
      << "weights and two moments, step counts";
  // Forward, and two products for each but the first layer's input, which needs no gradient.
  EXPECT_EQ(whole.totals().flops, 2.0 * 256 * (3 * (8.0 * 512 * 512 + 512 * 10) - 512 * 512));
  const auto us_of = [](const sim::OpGraph& graph, bool updates) {
    double us = 0;
    for (const sim::Op& op : graph.ops)
      for (const auto& cost : op.cost_us_by_kind) us += (op.phase == "update") == updates ? cost.second : 0;
    return us;
  };
  for (const std::int64_t k : {2, 4, 8}) {
    sim::OpGraph share = ShareBatch(whole, k);
    share.Finish();
    sim::OpGraph parts = RepeatMicroBatch(share, k, "1f1b");
    parts.Finish();
    EXPECT_NEAR(us_of(parts, false), us_of(whole, false), 1e-6 * us_of(whole, false)) << k;
    EXPECT_DOUBLE_EQ(us_of(parts, true), us_of(whole, true)) << k;
    EXPECT_DOUBLE_EQ(parts.totals().flops, whole.totals().flops) << k;
    EXPECT_EQ(parts.totals().persistent_bytes, whole.totals().persistent_bytes) << k;
  }
}

// The step of the sample, in two halves: what was measured stays what it is, the update once.
TEST(TraceTest, MicroBatchesShareTheTimeMeasured) {
  const auto us_of = [](const sim::OpGraph& graph) {
    double us = 0;
    for (const sim::Op& op : graph.ops)
      for (const auto& [kind, micros] : op.cost_us_by_kind) us += micros;
    return us;
  };
  const sim::OpGraph whole = Imported().graph;
  sim::OpGraph share = ShareBatch(whole, 2);
  share.Finish();
  sim::OpGraph parts = RepeatMicroBatch(share, 2, "gpipe");
  // A weight is read behind its update (mul#15, 3 us) in both.
  EXPECT_EQ(us_of(parts), us_of(whole) + 3);
}

TEST(TraceTest, RefusesWhatDoesNotBelongTogether) {
  const auto import = [](const std::string& text, const std::string& kineto = "") {
    return ErrorOf([&] { ImportTrace(text, "x.json", {.kineto = kineto}); });
  };
  EXPECT_THAT(import(R"json({"traceEvents": []})json"), HasSubstr("x.json: holds no op of PyTorch"));
  EXPECT_THAT(import(R"json({"traceEvents": []})json", kKineto), HasSubstr("is a Kineto trace itself"));
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
  EXPECT_THAT(import(with("7")), HasSubstr("must be a tensor: [id, storage, offset, elements, bytes of an"));
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
  EXPECT_THAT(import(20'000, 100), HasSubstr("node 1 (aten::_foreach_add_) has 1600 tensors for each of"));
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
