#include "scenarios/builder/graph_builder.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "scenarios/builder/layers.h"
#include "tests/scenarios/graph_checks.h"
#include "tests/scenarios/graph_view.h"
#include "tests/scenarios/serial_memory.h"
#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

// RapidCheck draws from this seed (and prints it) unless the environment says otherwise.
[[maybe_unused]] const int kSeeded = ::setenv("RC_PARAMS", "seed=20261120", 0);

std::vector<std::string> InputsOf(const sim::OpGraph& graph, const std::string& name) {
  std::vector<std::string> inputs;
  for (const Tensor input : At(graph, name).inputs) {
    inputs.push_back(graph.ops[static_cast<std::size_t>(input.op)].name + ":" + std::to_string(input.output));
  }
  return inputs;
}

std::map<std::string, int> CountTypes(const sim::OpGraph& graph, const std::string& phase) {
  std::map<std::string, int> count;
  for (const sim::Op& op : graph.ops) {
    if (op.phase == phase && !op.IsSource()) ++count[op.type];
  }
  return count;
}

bool IsInPlace(const sim::OpGraph& graph, const std::string& name) {
  return At(graph, name).outputs.at(0).storage == sim::Output::Storage::kInput;
}

BuilderOptions Train(Optimizer optimizer = Optimizer::kSgd) {
  return {.training = true, .optimizer = optimizer};
}

// images [8, 5] -> dense 3 -> relu -> dense 2 -> loss
sim::OpGraph TwoLayers(const BuilderOptions& options) {
  GraphBuilder b("two_layers", options);
  b.SetLocation({0, 0, "model"});
  const Tensor x = b.Placeholder("x", {8, 5});
  const Tensor labels = b.Placeholder("labels", {8}, "i32");
  const Tensor hidden = Relu(b, "relu", Dense(b, "a", x, 3));
  Predict(b, "loss", Dense(b, "b", hidden, 2), labels);
  return b.Finish({});
}

TEST(GraphBuilderTest, BackwardIsOneOpPerGradientAndReadsWhatItsRuleNeeds) {
  const sim::OpGraph graph = TwoLayers(Train());
  // No gradient is taken to the images, so the first product has one gradient and the second two.
  EXPECT_THAT(CountTypes(graph, "backward"),
              ElementsAre(std::pair("BiasAddGrad", 2), std::pair("MatMul", 3), std::pair("ReluGrad", 1),
                          std::pair("SoftmaxCrossEntropyGrad", 1)));
  EXPECT_THAT(InputsOf(graph, "gradients/loss/logits"), ElementsAre("loss:1"));
  EXPECT_THAT(InputsOf(graph, "gradients/b/bias_add/bias"), ElementsAre("gradients/loss/logits:0"));
  EXPECT_THAT(InputsOf(graph, "gradients/b/matmul/input"),
              ElementsAre("gradients/loss/logits:0", "b/weights:0"));
  EXPECT_THAT(InputsOf(graph, "gradients/b/matmul/weights"),
              ElementsAre("relu:0", "gradients/loss/logits:0"));
  EXPECT_THAT(InputsOf(graph, "gradients/relu/input"), ElementsAre("relu:0", "gradients/b/matmul/input:0"));
  EXPECT_THAT(InputsOf(graph, "gradients/a/matmul/weights"), ElementsAre("x:0", "gradients/relu/input:0"));
  EXPECT_EQ(FaultInShapes(graph), "");
  EXPECT_EQ(FaultInTraining(graph), "");
  // Forward 8 x (5 x 3 + 3 x 2) = 168 multiply-adds; backward 8 x (5 x 3 + 2 x 3 x 2) = 216.
  EXPECT_EQ(graph.totals().flops, 2 * (168 + 216));
}

TEST(GraphBuilderTest, BackwardOpsStandWhereTheirForwardOpStands) {
  const sim::OpGraph graph = TwoLayers(Train());
  for (const char* name : {"relu", "gradients/relu/input", "updates/a/weights"}) {
    EXPECT_EQ(sim::FindNumber(At(graph, name).attributes, "stage"), 0) << name;
    EXPECT_EQ(sim::FindNumber(At(graph, name).attributes, "branch"), 0) << name;
    EXPECT_EQ(At(graph, name).group, "model") << name;
  }
  EXPECT_EQ(At(graph, "gradients/relu/input").phase, "backward");
  EXPECT_EQ(At(graph, "updates/a/weights").phase, "update");
}

TEST(GraphBuilderTest, VariablesKeepTheOptimizersSlots) {
  const std::vector<std::pair<Optimizer, int>> words = {
      {Optimizer::kSgd, 1}, {Optimizer::kMomentum, 2}, {Optimizer::kAdam, 3}, {Optimizer::kRmsProp, 3}};
  for (const auto& [optimizer, count] : words) {
    const sim::OpGraph graph = TwoLayers(Train(optimizer));
    EXPECT_EQ(At(graph, "a/weights").persistent_bytes, 4 * 5 * 3 * count);
    EXPECT_EQ(graph.totals().persistent_bytes, 4 * (5 * 3 + 3 + 3 * 2 + 2) * count);
    EXPECT_EQ(At(graph, "updates/a/weights").type, UpdateType(optimizer));
  }
}

TEST(GraphBuilderTest, UpdateIsColocatedAndWaitsForBackwardReaders) {
  const sim::OpGraph graph = TwoLayers(Train());
  const sim::Op& update = At(graph, "updates/b/weights");
  EXPECT_EQ(update.colocate, "b/weights");
  EXPECT_EQ(At(graph, "b/weights").colocate, "b/weights");
  EXPECT_THAT(update.outputs, IsEmpty());
  EXPECT_THAT(update.control, ElementsAre(graph.Find("gradients/b/matmul/input")));
  EXPECT_THAT(At(graph, "updates/b/bias").control, IsEmpty());
}

TEST(GraphBuilderTest, ColocatedGradientsFollowTheirForwardOp) {
  BuilderOptions options = Train();
  EXPECT_EQ(At(TwoLayers(options), "gradients/relu/input").colocate, "");
  options.colocate_gradients = true;
  const sim::OpGraph graph = TwoLayers(options);
  EXPECT_EQ(At(graph, "relu").colocate, "relu");
  EXPECT_EQ(At(graph, "gradients/relu/input").colocate, "relu");
  EXPECT_EQ(At(graph, "gradients/b/matmul/weights").colocate, "b/matmul");
  EXPECT_EQ(At(graph, "updates/b/weights").colocate, "b/weights");
}

TEST(GraphBuilderTest, InferenceHasForwardOpsOnly) {
  const sim::OpGraph graph = TwoLayers({.training = false, .optimizer = Optimizer::kAdam});
  for (const sim::Op& op : graph.ops) EXPECT_EQ(op.phase, "forward") << op.name;
  EXPECT_EQ(At(graph, "a/weights").persistent_bytes, 4 * 5 * 3);
  EXPECT_EQ(At(graph, "loss").type, "Softmax");
}

// Three uses of one weight: three gradients, and one AddN that comes after all other backward ops.
TEST(GraphBuilderTest, GradientsOfASharedWeightLiveUntilOneAddN) {
  constexpr std::int64_t kUnits = 16;
  GraphBuilder b("unrolled", Train());
  const Tensor labels = b.Placeholder("labels", {2}, "i32");
  const Tensor weights = b.Variable("weights", {kUnits, kUnits});
  Tensor x = b.Placeholder("x", {2, kUnits});
  for (const char* name : {"step0", "step1", "step2"})
    x = Tanh(b, std::string(name) + "/tanh", MatMul(b, name, x, weights));
  Predict(b, "loss", x, labels);
  const sim::OpGraph graph = b.Finish({});

  EXPECT_THAT(
      InputsOf(graph, "gradients/weights/sum"),
      ElementsAre("gradients/step2/weights:0", "gradients/step1/weights:0", "gradients/step0/weights:0"));
  const sim::OpIndex sum = graph.Find("gradients/weights/sum");
  for (sim::OpIndex i = sum + 1; i < graph.size(); ++i) {
    EXPECT_NE(graph.ops[static_cast<std::size_t>(i)].phase, "backward");
  }
  // When it runs: the weights, three gradients and their sum. Nothing else is alive but the inputs of 2 x 16.
  const sim::Bytes matrix = 4 * kUnits * kUnits;
  EXPECT_GE(SerialPeak(graph).peak, 5 * matrix);
  EXPECT_LT(SerialPeak(graph, true).peak, 3 * matrix);
  // The gradient of x itself is not taken; those of the second and third step are.
  EXPECT_THAT(At(graph, "updates/weights").control,
              UnorderedElementsAre(graph.Find("gradients/step1/input"), graph.Find("gradients/step2/input")));
}

TEST(GraphBuilderTest, TensorWithSeveralConsumersSumsItsGradientsWhereTheyMeet) {
  GraphBuilder b("fork", Train());
  const Tensor labels = b.Placeholder("labels", {4}, "i32");
  const Tensor x = Dense(b, "trunk", b.Placeholder("x", {4, 6}), 6);
  const Tensor left = Tanh(b, "left", x);
  const Tensor right = Sigmoid(b, "right", x);
  Predict(b, "loss", Add(b, "join", left, right), labels);
  const sim::OpGraph graph = b.Finish({});
  EXPECT_THAT(InputsOf(graph, "gradients/trunk/bias_add/sum"),
              ElementsAre("gradients/right/input:0", "gradients/left/input:0"));
  EXPECT_LT(graph.Find("gradients/trunk/bias_add/sum"), graph.Find("gradients/trunk/matmul/weights"));
  // Both summands of an Add get the gradient of the sum itself, without an op.
  EXPECT_THAT(InputsOf(graph, "gradients/left/input"), ElementsAre("left:0", "gradients/loss/logits:0"));
}

TEST(GraphBuilderTest, BroadcastInputsGetTheirGradientSummedBack) {
  GraphBuilder b("attention", Train());
  const Tensor labels = b.Placeholder("labels", {4}, "i32");
  const Tensor keys = b.Placeholder("keys", {4, 7, 6});
  const Tensor query = Dense(b, "query", b.Placeholder("x", {4, 5}), 6);
  const Tensor score = b.Variable("score", {6});
  const Tensor scaled = Mul(b, "mul", Add(b, "add", keys, query), score);
  Predict(b, "loss", Sum(b, "sum", scaled, 2), labels);
  const sim::OpGraph graph = b.Finish({});
  EXPECT_EQ(At(graph, "gradients/mul/input1").type, "MulSum");
  EXPECT_THAT(At(graph, "gradients/mul/input1").outputs.at(0).shape, ElementsAre(6));
  EXPECT_EQ(At(graph, "gradients/add/input1").type, "ReduceSum");
  EXPECT_THAT(At(graph, "gradients/add/input1").outputs.at(0).shape, ElementsAre(4, 6));
  EXPECT_LT(graph.Find("gradients/add/input0"), 0) << "the keys are data";
  EXPECT_EQ(FaultInShapes(graph), "");
}

TEST(GraphBuilderTest, TablesGetRowsAsGradient) {
  GraphBuilder b("embedding", Train(Optimizer::kAdam));
  const Tensor ids = b.Placeholder("ids", {10}, "i32");
  const Tensor labels = b.Placeholder("labels", {10}, "i32");
  const Tensor table = b.Variable("table", {1000, 8});
  Predict(b, "loss", Gather(b, "look_up", table, ids), labels);
  const sim::OpGraph graph = b.Finish({});
  EXPECT_THAT(At(graph, "gradients/look_up/table").outputs.at(0).shape, ElementsAre(10, 8));
  EXPECT_THAT(InputsOf(graph, "updates/table"), ElementsAre("table:0", "gradients/look_up/table:0"));
}

// Look-ups are put one after another; a table that is multiplied with as well (tied weights) is summed whole.
TEST(GraphBuilderTest, RowsOfSeveralLookUpsAreConcatenated) {
  const auto build = [](bool tied) {
    GraphBuilder b("tied", Train());
    const Tensor labels = b.Placeholder("labels", {10}, "i32");
    const Tensor table = b.Variable("table", {8, 8});
    const Tensor first = Gather(b, "first", table, b.Placeholder("ids0", {10}, "i32"));
    const Tensor second = Gather(b, "second", table, b.Placeholder("ids1", {10}, "i32"));
    const Tensor sum = Add(b, "add", first, second);
    Predict(b, "loss", tied ? MatMul(b, "logits", sum, table) : sum, labels);
    return b.Finish({});
  };
  const sim::OpGraph rows = build(false);
  EXPECT_EQ(At(rows, "gradients/table/sum").type, "ConcatV2");
  EXPECT_THAT(At(rows, "gradients/table/sum").outputs.at(0).shape, ElementsAre(20, 8));
  const sim::OpGraph tied = build(true);
  EXPECT_EQ(At(tied, "gradients/table/sum").type, "AddN");
  EXPECT_THAT(At(tied, "gradients/table/sum").outputs.at(0).shape, ElementsAre(8, 8));
}

TEST(GraphBuilderTest, BiasAndReluRunInPlace) {
  const sim::OpGraph graph = TwoLayers(Train());
  EXPECT_TRUE(IsInPlace(graph, "a/bias_add"));
  EXPECT_TRUE(IsInPlace(graph, "relu"));
  EXPECT_FALSE(IsInPlace(graph, "a/matmul"));
  EXPECT_EQ(FaultInPlace(graph), "");
}

// Whoever else reads the input, in this phase or the next, or through a view, keeps it from being
// overwritten.
TEST(GraphBuilderTest, NothingIsOverwrittenThatSomebodyElseReads) {
  GraphBuilder b("in_place", Train());
  const Tensor labels = b.Placeholder("labels", {4}, "i32");
  const Tensor x = b.Placeholder("x", {4, 6});
  const Tensor of_data = Relu(b, "of_data", x);
  const Tensor dense = Dense(b, "dense", of_data, 6);
  const Tensor shared = Relu(b, "shared", dense);  // dense is read by `add`, too
  const Tensor kept = Tanh(b, "kept", Add(b, "add", shared, dense));
  const Tensor after_tanh = Relu(b, "after_tanh", kept);  // the gradient of tanh reads its output
  const Tensor sum = Add(b, "sum", after_tanh, after_tanh);
  const Tensor view = Reshape(b, "view", sum, {24});
  const Tensor through_view = Reshape(b, "back", Relu(b, "of_view", view), {4, 6});
  const Tensor other = Add(b, "other", through_view, sum);  // reads below the view
  const Tensor free_view = Reshape(b, "free_view", other, {24});
  Predict(b, "loss", Reshape(b, "logits", Relu(b, "of_free_view", free_view), {4, 6}), labels);
  const sim::OpGraph graph = b.Finish({});
  EXPECT_FALSE(IsInPlace(graph, "of_data"));
  EXPECT_FALSE(IsInPlace(graph, "shared"));
  EXPECT_FALSE(IsInPlace(graph, "after_tanh"));
  EXPECT_FALSE(IsInPlace(graph, "of_view"));
  EXPECT_TRUE(IsInPlace(graph, "of_free_view"));
  EXPECT_EQ(FaultInPlace(graph), "");
}

TEST(GraphBuilderTest, SizesThatMultiplyBeyondTheLimitAreRefused) {
  sim::OpGraph graph;
  graph.name = "huge";
  graph.ops.resize(4);
  EXPECT_NO_THROW(CheckNumberOfOps(graph, 5));
  graph.ops.emplace_back();
  EXPECT_NO_THROW(CheckNumberOfOps(graph));
  try {
    CheckNumberOfOps(graph, 5);
    FAIL() << "a sixth op is one too many";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "huge: a graph of these sizes has more than 5 ops; choose fewer layers, steps or experts");
  }
}

TEST(GraphBuilderTest, LossesOtherThanCrossEntropyStartFromOne) {
  GraphBuilder b("regression", Train());
  const Tensor y = Dense(b, "dense", b.Placeholder("x", {4, 6}), 3);
  b.Minimise(Sum(b, "loss", Mul(b, "square", y, y), 1));
  const sim::OpGraph graph = b.Finish({});
  EXPECT_EQ(At(graph, "gradients/loss/one").type, "Constant");
  EXPECT_THAT(InputsOf(graph, "gradients/loss/input"), ElementsAre("gradients/loss/one:0"));
  EXPECT_EQ(FaultInTraining(graph), "");
}

TEST(GraphBuilderTest, OpWithoutAGradientIsRefusedByName) {
  GraphBuilder b("odd", Train());
  const Tensor labels = b.Placeholder("labels", {4}, "i32");
  const Tensor x = Dense(b, "dense", b.Placeholder("x", {4, 6}), 3);
  const Tensor odd = b.Append({.type = "Einsum", .name = "odd", .inputs = {x}, .outputs = {{{4, 3}}}});
  Predict(b, "loss", odd, labels);
  EXPECT_THAT(tests::ErrorOf([&] { b.Finish({}); }), HasSubstr("'odd' is of type Einsum"));
}

TEST(GraphBuilderTest, PartsOfASplitThatNothingReadsCountAsZero) {
  GraphBuilder b("half", Train());
  const Tensor labels = b.Placeholder("labels", {4}, "i32");
  const Tensor x = Dense(b, "dense", b.Placeholder("x", {4, 5}), 6);
  Predict(b, "loss", Split(b, "split", x, 1, 2)[1], labels);
  const sim::OpGraph graph = b.Finish({});
  EXPECT_THAT(InputsOf(graph, "gradients/split/input"),
              ElementsAre("gradients/split/zero0:0", "gradients/loss/logits:0"));
  EXPECT_EQ(FaultInShapes(graph), "");
}

// Random graphs of element-wise, product and concatenation ops, with views: every invariant holds.
RC_GTEST_PROP(GraphBuilderProperty, RandomTapesMakeSoundGraphs, ()) {
  GraphBuilder b("random", {.training = true,
                            .optimizer = Optimizer::kMomentum,
                            .colocate_gradients = *rc::gen::arbitrary<bool>()});
  std::vector<Tensor> tensors = {b.Placeholder("x", {4, 6}),
                                 Dense(b, "start", b.Placeholder("y", {4, 3}), 6)};
  const int ops = *rc::gen::inRange(1, 25);
  for (int i = 0; i < ops; ++i) {
    const auto pick = [&] { return tensors[*rc::gen::inRange<std::size_t>(0, tensors.size())]; };
    const std::string name = "op" + std::to_string(i);
    switch (*rc::gen::inRange(0, 7)) {
      case 0:
        tensors.push_back(Relu(b, name, pick()));
        break;
      case 1:
        tensors.push_back(Tanh(b, name, pick()));
        break;
      case 2:
        tensors.push_back(Add(b, name, pick(), pick()));
        break;
      case 3:
        tensors.push_back(Mul(b, name, pick(), pick()));
        break;
      case 4:
        tensors.push_back(Dense(b, name, pick(), 6));
        break;
      case 5:
        tensors.push_back(Reshape(b, name, Reshape(b, name + "_flat", pick(), {24}), {4, 6}));
        break;
      default:
        tensors.push_back(Split(b, name + "_split", Concat(b, name, {pick(), pick()}, 1), 1, 2)[1]);
        break;
    }
  }
  // Everything is read in the end, so that every variable is trained.
  Tensor all = tensors[0];
  for (std::size_t i = 1; i < tensors.size(); ++i) all = Add(b, "all" + std::to_string(i), all, tensors[i]);
  Predict(b, "loss", all, b.Placeholder("labels", {4}, "i32"));
  const sim::OpGraph graph = b.Finish({});
  RC_ASSERT(FaultInShapes(graph) == "");
  RC_ASSERT(FaultInPlace(graph) == "");
  RC_ASSERT(FaultInTraining(graph) == "");
  RC_ASSERT(SerialPeak(graph, true).peak <= SerialPeak(graph).peak);
}

}  // namespace
}  // namespace stowplan::scenarios
