// What mars is built of: graph_convolution.h, graph_infomax.h, mars_policy.h (its placer is in sequence_test.cpp); and
// that it learns. What every learner keeps is in learners_test.cpp.
#include <ATen/ATen.h>

#include "agents/rl/checkpoint.h"
#include "agents/rl/features/node_features.h"
#include "agents/rl/mars_policy.h"
#include "agents/rl/nn/graph_convolution.h"
#include "agents/rl/nn/graph_infomax.h"
#include "agents/rl/one_shot_learner.h"
#include "tests/agents/rl/gradient_check.h"
#include "tests/agents/rl/test_task.h"
#include "tests/agents/rl/watch.h"
#include "tests/testing.h"

namespace stowplan::agents::rl {
namespace {

// 0 -> 1 -> 2: with themselves the nodes have 2, 3 and 2 neighbours.
TEST(NormalisedAdjacency, DividesByTheRootsOfBothDegrees) {
  const auto made = MakeTestTask({{1, 1, {}}, {1, 1, {0}}, {1, 1, {1}}});
  const double a = 1. / 2, b = 1 / std::sqrt(6), c = 1. / 3;
  const at::Tensor expected = at::tensor({a, b, 0., b, c, b, 0., b, a}, at::kDouble).view({3, 3});
  const UnitGraph graph = GraphOf(made->task);
  EXPECT_LT(Difference(NormalisedAdjacency(graph, true, at::kDouble).to_dense(), expected), 1e-15);
  EXPECT_EQ(Difference(NormalisedAdjacency(graph, false, at::kDouble).to_dense(), at::eye(3, at::kDouble)),
            0);
}

TEST(GraphConvolution, Gradient) {
  const auto made = MakeTestTask(RandomDag(9, 5));
  const at::Tensor adjacency = NormalisedAdjacency(GraphOf(made->task), true, at::kDouble);
  Rng init(1, "init");
  const GraphConvolution encoder(3, 4, 3, at::kDouble, init);
  Shake(encoder.parameters());
  Tensors all = encoder.parameters();
  all.push_back(RandomTensor({9, 3}, 2).set_requires_grad(true));
  const at::Tensor weights = RandomTensor({9, 4}, 3);
  ExpectGradient([&] { return (encoder.Forward(all.back(), adjacency) * weights).sum(); }, all, 20);
}

// A node sees as far as there are layers, along the edges and against them.
TEST(GraphConvolution, ReachesOneEdgeFurtherWithEachLayer) {
  const auto made = MakeTestTask({{1, 1, {}}, {1, 1, {0}}, {1, 1, {1}}, {1, 1, {2}}, {1, 1, {3}}});
  for (const bool edges : {false, true}) {
    const at::Tensor adjacency = NormalisedAdjacency(GraphOf(made->task), edges, at::kDouble);
    for (int layers = 1; layers <= 2; ++layers) {
      Rng init(1, "init");
      const GraphConvolution encoder(3, 8, layers, at::kDouble, init);
      const at::Tensor rows = RandomTensor({5, 3}, 2);
      at::Tensor moved = rows.clone();
      moved[2] += 1;
      const at::Tensor change =
          (encoder.Forward(rows, adjacency) - encoder.Forward(moved, adjacency)).abs().amax({1});
      for (std::int64_t row = 0; row < 5; ++row)
        EXPECT_EQ(change[row].item<double>() > 0, std::abs(row - 2) <= (edges ? layers : 0)) << row;
    }
  }
}

// An encoder and what it is trained on.
struct Pretraining {
  explicit Pretraining(const GraphInfomax::Options& options, const std::vector<int>& sizes = {40})
      : infomax(options, encoder, graphs, Rng(3, "shuffles")) {
    for (const int size : sizes) {
      const auto made = MakeTestTask(RandomDag(size, 3));
      const UnitGraph graph = GraphOf(made->task);
      graphs.push_back({Reordered(NodeFeatures(made->task, graph), graph.order()),
                        NormalisedAdjacency(graph, true, at::kFloat)});
    }
  }
  Tensors Weights() const {
    Tensors copies;
    for (const at::Tensor& weight : encoder.parameters()) copies.push_back(weight.detach().clone());
    return copies;
  }
  double Accuracy() const {
    Rng shuffles(17, "other shuffles");
    double sum = 0;
    for (int i = 0; i < 10; ++i) sum += infomax.Accuracy(graphs[0], shuffles) / 10;
    return sum;
  }

  Rng init{2, "init"};
  GraphConvolution encoder{kNodeFeatures, 16, 3, at::kFloat, init};
  std::vector<GraphInfomax::Graph> graphs;
  GraphInfomax infomax;
};

TEST(GraphInfomax, TellsNodesFromShuffledOnes) {
  Pretraining pretraining({.iterations = 300, .patience = 300});
  EXPECT_LT(pretraining.Accuracy(), 0.65);
  const double first = *pretraining.infomax.Step();
  EXPECT_NEAR(first, std::log(2), 0.2);
  double last = first;
  while (const auto loss = pretraining.infomax.Step()) last = *loss;
  EXPECT_LT(last, 0.3);
  EXPECT_GT(pretraining.Accuracy(), 0.9);
}

// Two graphs of different sizes: the loss of an iteration is the mean over both.
TEST(GraphInfomax, LearnsFromSeveralGraphs) {
  Pretraining pretraining({.iterations = 300, .patience = 300}, {40, 25});
  double last = 1;
  while (const auto loss = pretraining.infomax.Step()) last = *loss;
  EXPECT_LT(last, 0.4);
}

TEST(GraphInfomax, EndsWithoutProgressAndKeepsTheBestWeights) {
  Pretraining pretraining({.iterations = 1000, .patience = 5, .learning_rate = 0.02});
  std::vector<Tensors> weights;
  std::vector<double> losses;
  while (true) {
    Tensors before = pretraining.Weights();
    const auto loss = pretraining.infomax.Step();
    if (!loss) break;
    weights.push_back(std::move(before));
    losses.push_back(*loss);
  }
  const auto best = std::min_element(losses.begin(), losses.end()) - losses.begin();
  EXPECT_EQ(best + 6, static_cast<std::ptrdiff_t>(losses.size()));
  EXPECT_GT(best, 0);
  EXPECT_TRUE(pretraining.infomax.done());
  const Tensors kept = pretraining.Weights();
  for (std::size_t i = 0; i < kept.size(); ++i)
    EXPECT_EQ(Difference(kept[i], weights[static_cast<std::size_t>(best)][i]), 0) << i;
}

MarsOptions SmallMars() {
  MarsOptions options;
  options.encoder_width = 8;
  options.pretraining = {.iterations = 12};
  options.sequence.placer.width = 8;
  options.sequence.placer.both_directions = true;
  options.sequence.placer.segment = 4;
  return options;
}

std::unique_ptr<MarsPolicy> MakePolicy(const Task& task, const MarsOptions& options) {
  Rng init(1, "weights");
  return std::make_unique<MarsPolicy>(options, std::vector<const Task*>{&task}, init);
}

// Stopped after some steps of pre-training, with a checkpoint, and once more: the same log and weights.
TEST(Mars, ResumesInTheMiddleOfPretraining) {
  const auto made = MakeTestTask(RandomDag(10, 5), 2);
  OneShotOptions options;
  options.batch = 5;
  const auto run = [&](const std::string& path, int stop_after, bool resume) {
    std::atomic<bool> stop = false;
    Evaluator evaluator(made->task, {.budget = 30, .stop = &stop});
    OneShotLearner learner("mars", options, MakePolicy(made->task, SmallMars()), {&made->task}, {&evaluator},
                           {.checkpoint = path, .resume = resume});
    int steps = 0;
    learner.on_update = [&](const UpdateRecord& record) {
      EXPECT_EQ(record.samples == 0, record.update == 0) << "pre-training costs no samples";
      if (++steps == stop_after) stop = true;
    };
    learner.Run();
    return steps;
  };
  const std::string whole = InTemp("whole.ckpt"), parts = InTemp("parts.ckpt");
  EXPECT_EQ(run(whole, -1, false), 12 + 6);
  EXPECT_EQ(run(parts, 5, false), 5);
  EXPECT_EQ(run(parts, 4, true), 4);
  EXPECT_EQ(run(parts, -1, true), 18 - 9);
  for (const char* section : {"weights", "state"})
    EXPECT_TRUE(ReadCheckpoint(parts).section(section, parts) ==
                ReadCheckpoint(whole).section(section, whole));
  EXPECT_EQ(Slurp(parts + ".log.csv"), Slurp(whole + ".log.csv"));
}

TEST(Mars, WithoutPretrainingStartsFromTheSameWeights) {
  const auto made = MakeTestTask(RandomDag(10, 5), 2);
  MarsOptions options = SmallMars();
  const auto with = MakePolicy(made->task, options);
  options.pretrain = false;
  const auto without = MakePolicy(made->task, options);
  StateWriter first, second;
  with->Save(first);
  without->Save(second);
  EXPECT_TRUE(first.Take() == second.Take());
  EXPECT_TRUE(with->Pretrain().has_value());
  EXPECT_FALSE(without->Pretrain().has_value());
}

TEST(Mars, DoesNotPretrainWeightsThatWereLoaded) {
  const auto made = MakeTestTask(RandomDag(10, 5), 2);
  const auto from = MakePolicy(made->task, SmallMars()), to = MakePolicy(made->task, SmallMars());
  while (from->Pretrain()) {
  }
  StateWriter out;
  from->Save(out);
  const std::string bytes = out.Take();
  StateReader in(bytes, "test");
  to->Load(in);
  EXPECT_FALSE(to->Pretrain().has_value());
}

// The encoder's weights after a search.
Tensors EncoderAfter(const std::string& name, const Task& task, std::int64_t samples) {
  const auto agent = MakeAgent(name);
  SearchOnce(*agent, task, samples);
  const std::string path = InTemp("encoder.ckpt");
  dynamic_cast<const Transferable&>(*agent).Save(path);
  const std::string weights = ReadCheckpoint(path).section("weights", path);
  StateReader in(weights, path);
  TypeVocabulary vocabulary({&task});
  vocabulary.Load(in);
  Rng init(1, "init");
  const GraphConvolution encoder(TypeVocabulary::kSize + kNodeFeatures, 8, 3, at::kFloat, init);
  LoadTensors(in, encoder.parameters());
  return encoder.parameters();
}

TEST(Mars, FrozenEncodersKeepWhatPretrainingLeft) {
  const auto made = MakeTestTask(RandomDag(10, 5), 2);
  for (const std::string freeze : {"yes", "no"}) {
    const std::string name = "mars(width=8,encoder_width=8,iterations=10,freeze=" + freeze + ")";
    const Tensors pretrained = EncoderAfter(name, made->task, 1),
                  learned = EncoderAfter(name, made->task, 30);
    double change = 0;
    for (std::size_t i = 0; i < learned.size(); ++i) change += Difference(pretrained[i], learned[i]);
    EXPECT_EQ(change > 0, freeze == "no");
  }
}

}  // namespace
}  // namespace stowplan::agents::rl
