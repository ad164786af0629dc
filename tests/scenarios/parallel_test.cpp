// Parallel layouts (scenarios/parallel) against what their papers derive, and properties of any model.
#include <fmt/format.h>

#include "scenarios/parallel/all_ranks.h"
#include "scenarios/parallel/collective.h"
#include "scenarios/parallel/dimensions.h"
#include "scenarios/parallel/graph_edit.h"
#include "scenarios/parallel/lay_out.h"
#include "scenarios/parallel/stages.h"
#include "scenarios/scenarios.h"
#include "sim/formats/collective_types.h"
#include "sim/formats/formats.h"
#include "tests/scenarios/graph_view.h"
#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

using sim::Bytes;

// Sizes of llama, in its own words.
constexpr std::int64_t kLayers = 4, kBatch = 8, kHidden_ = 256, kQueryHeads = 8, kKeyHeads = 4, kWidth = 512,
                       kSequence = 64, kWords = 1024;
constexpr std::int64_t kKeyWidth = kHidden_ / kQueryHeads * kKeyHeads;
constexpr const char* kLlama =
    "llama(layers=4,batch=8,hidden=256,heads=8,kv_heads=4,feed_forward=512,sequence=64,vocabulary=1024)";
const std::string kCaptures = STOWPLAN_SOURCE_DIR "/tests/python/foreign/graphs/";

Layout Of(const std::string& text) {
  return ReadLayout({Spec::Parse("layout(" + text + ")"), LayoutSettings()});
}
sim::OpGraph Made(const std::string& of, const std::string& text) {
  return LayOut(of, Of(text)).graph;
}

struct Exchanged {
  std::int64_t count = 0;
  Bytes bytes = 0;  // of the larger of what a rank gives and gets
};

Exchanged Exchanges(const sim::OpGraph& graph, const std::string& group, const std::string& type,
                    const std::string& phase = "") {
  Exchanged all;
  for (const sim::Op& op : graph.ops) {
    if (op.type != type || sim::FindString(op.attributes, "group") != group) continue;
    if (!phase.empty() && op.phase != phase) continue;
    ++all.count;
    all.bytes += std::max(op.outputs.front().bytes, OutputOf(graph, op.inputs.front()).bytes);
  }
  return all;
}

double Flops(const sim::OpGraph& graph) {
  return graph.totals().flops;
}
double ForwardFlops(const sim::OpGraph& graph, bool of_layers) {
  double flops = 0;
  for (const sim::Op& op : graph.ops)
    if (op.phase == "forward" && (!of_layers || op.name.starts_with("layer"))) flops += op.flops;
  return flops;
}

// Of the forward pass, what the backward pass reads: of those ops whose names begin so.
Bytes KeptActivations(const sim::OpGraph& graph, const std::string& prefix) {
  Bytes kept = 0;
  std::set<sim::TensorRef> counted;
  for (const sim::Op& reader : graph.ops) {
    if (reader.phase != "backward") continue;
    for (sim::TensorRef tensor : reader.inputs) {
      while (OutputOf(graph, tensor).storage == sim::Output::Storage::kInput)
        tensor = OutputOf(graph, tensor).alias;
      const sim::Op& producer = At(graph, tensor.op);
      if (producer.phase == "forward" && !producer.IsSource() && producer.name.starts_with(prefix) &&
          counted.insert(tensor).second)
        kept += OutputOf(graph, tensor).bytes;
    }
  }
  return kept;
}

// By rank.
std::map<std::int64_t, Bytes> Persistent(const sim::OpGraph& graph) {
  std::map<std::int64_t, Bytes> bytes;
  for (const sim::Op& op : graph.ops)
    if (const auto rank = sim::FindNumber(op.attributes, kRank))
      bytes[static_cast<std::int64_t>(*rank)] += op.persistent_bytes;
  return bytes;
}

std::int64_t LlamaWeights(std::int64_t tensor) {
  const std::int64_t layer =
      (2 * kHidden_ * kHidden_ + 2 * kHidden_ * kKeyWidth + 3 * kHidden_ * kWidth) / tensor + 2 * kHidden_;
  return kLayers * layer + 2 * kWords * kHidden_ / tensor + kHidden_;
}

// Shoeybi et al. 2019, section 3: an AllReduce of the activations behind attention and one behind the feed-forward part, as many
// backwards; the table of tokens adds one forwards, the head one backwards, the loss three of a number a token.
TEST(TensorParallel, LlamaExchangesWhatMegatronDoes) {
  for (const int ranks : {2, 4}) {
    const sim::OpGraph graph = Made(kLlama, fmt::format("tensor={}", ranks));
    const Bytes activations = kBatch * kSequence * kHidden_ * 4, numbers = kBatch * kSequence * 4;
    const Exchanged forward = Exchanges(graph, "tensor", "AllReduce", "forward");
    EXPECT_EQ(forward.count, 2 * kLayers + 1 + 3);
    EXPECT_EQ(forward.bytes, (2 * kLayers + 1) * activations + 3 * numbers);
    const Exchanged backward = Exchanges(graph, "tensor", "AllReduce", "backward");
    EXPECT_EQ(backward.count, 2 * kLayers + 1);
    EXPECT_EQ(backward.bytes, (2 * kLayers + 1) * activations);
    for (const sim::Op& op : graph.ops) {
      if (!formats::IsWholeCollective(op)) continue;
      EXPECT_EQ(sim::FindNumber(op.attributes, "ranks"), ranks);
      EXPECT_EQ(sim::FindNumber(op.attributes, "stride"), 1);
    }
  }
}

// Korthikanti et al. 2022, section 4.2.2: each AllReduce is a ReduceScatter and an AllGather, and the backward pass gathers the inputs
// of the products anew; norms' gradients are summed once a step.
TEST(TensorParallel, SequenceParallelismScattersAndGathers) {
  const sim::OpGraph graph = Made(kLlama, "tensor=4,sequence=yes");
  const Bytes activations = kBatch * kSequence * kHidden_ * 4;
  const std::int64_t regions = 2 * kLayers + 1;
  for (const char* phase : {"forward", "backward"}) {
    EXPECT_EQ(Exchanges(graph, "tensor", "ReduceScatter", phase).count, regions) << phase;
    EXPECT_EQ(Exchanges(graph, "tensor", "ReduceScatter", phase).bytes, regions * activations) << phase;
  }
  EXPECT_EQ(Exchanges(graph, "tensor", "AllGather", "forward").bytes, regions * activations);
  EXPECT_EQ(Exchanges(graph, "tensor", "AllGather", "backward").bytes, 2 * regions * activations);
  const Exchanged sums = Exchanges(graph, "tensor", "AllReduce", "backward");
  EXPECT_EQ(sums.count, 1);
  EXPECT_EQ(sums.bytes, (2 * kLayers + 1) * kHidden_ * 4);
}

TEST(TensorParallel, EachRankHasItsPartOfTheWeightsAndOfTheWork) {
  const double whole = Flops(LoadGraph(kLlama));
  for (const int ranks : {1, 2, 4}) {
    for (const char* sequence : {"no", "yes"}) {
      const LaidOut made = LayOut(kLlama, Of(fmt::format("tensor={},sequence={}", ranks, sequence)));
      EXPECT_EQ(made.graph.totals().parameters, LlamaWeights(ranks));
      EXPECT_EQ(made.graph.totals().persistent_bytes,
                3 * 4 * LlamaWeights(ranks));  // with Adam's two moments
      EXPECT_DOUBLE_EQ(ranks * Flops(made.graph), whole);
      EXPECT_EQ(made.cut_share, 1);
    }
  }
}

// Korthikanti et al. 2022, equation 4: with sequence parallelism all of a layer's activations are divided.
TEST(TensorParallel, SequenceParallelismDividesAllActivations) {
  const Bytes whole = KeptActivations(Made(kLlama, "tensor=1"), "layer");
  EXPECT_GT(4 * KeptActivations(Made(kLlama, "tensor=4"), "layer"), whole);
  EXPECT_EQ(4 * KeptActivations(Made(kLlama, "tensor=4,sequence=yes"), "layer"), whole);
}

// Models of which nothing but their structure is known: two blocks a layer, and tables and heads in both of the ways that there are.
TEST(TensorParallel, CapturedModelsAreCutAsTheBuiltOnes) {
  struct Case {
    const char* file;
    std::int64_t forward, backward;  // AllReduces of activations
    Bytes activations;
    double cut;  // of the FLOPs
  };
  // BERT's head works on rows that its norm needs whole: its first product, 2 x 128 x 768 x 768 three times, is not cut.
  const Case cases[] = {
      {"gpt2.step.json.zst", 25, 25, 128 * 768 * 4, 1},
      {"bert_base.step.json.zst", 25, 25, 128 * 768 * 4, 1 - 3 * 2. * 128 * 768 * 768 / 85.797e9},
      {"tinyllama.forward.json.zst", 45, 0, 128 * 2048 * 4, 1}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.file);
    const LaidOut made = LayOut(kCaptures + one.file, Of("tensor=4"));
    std::int64_t forward = 0, backward = 0;
    for (const sim::Op& op : made.graph.ops) {
      if (op.type != "AllReduce" || op.outputs.front().bytes != one.activations) continue;
      ++(op.phase == "forward" ? forward : backward);
    }
    EXPECT_EQ(forward, one.forward);
    EXPECT_EQ(backward, one.backward);
    EXPECT_NEAR(made.cut_share, one.cut, 1e-4);
  }
}

// A share of a captured batch has the batch where it was, in transposed activations too.
TEST(TensorParallel, SharesOfACapturedBatchAreCutAsTheWhole) {
  for (const char* layout : {"tensor=2", "tensor=2,data=2", "tensor=2,micro_batches=2"})
    EXPECT_NEAR(LayOut(kCaptures + "vit_base.step.json.zst", Of(layout)).cut_share, 1, 0.02) << layout;
}

TEST(TensorParallel, QueriesKeysAndValuesTogetherAreNoHeads) {
  EXPECT_LT(LayOut(kCaptures + "vit_b_16.step.json.zst", Of("tensor=2")).cut_share, 0.95);
}

// As eager attention merges [batch, heads, …] for one product of matrices.
TEST(TensorParallel, HeadsBehindABatchStayHeads) {
  const auto merged = ReshapedCut({16, 32, 2048, 128}, {512, 2048, 128}, 1, 1, false, 4);
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->dimension, 0);
  EXPECT_EQ(merged->outer, 16);
  const auto back = ReshapedCut({512, 2048, 128}, {16, 32, 2048, 128}, 0, 16, false, 4);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->dimension, 1);
  EXPECT_EQ(back->outer, 1);
  const auto batch = ReshapedCut({512, 2048, 128}, {16, 32, 2048, 128}, 0, 1, false, 4);
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->dimension, 0) << "what is cut whole is cut along its first dimension";
}

// What is cut is done once by all ranks together, what is not by each.
TEST(TensorParallel, WorkIsConserved) {
  const std::pair<std::string, int> cases[] = {{kLlama, 2},
                                               {"bert(layers=2,batch=2)", 2},
                                               {"bert(layers=2,batch=2)", 4},
                                               {"moe(layers=2,sequence=128)", 2},
                                               {"transformer_xl(batch=3)", 2},
                                               {"rnnlm(steps=4,batch=4)", 2},
                                               {"cifar10(batch=8)", 2}};
  for (const auto& [of, ranks] : cases) {
    for (const char* sequence : {"no", "yes"}) {
      SCOPED_TRACE(testing::Message() << of << " " << ranks << " " << sequence);
      const double whole = Flops(LoadGraph(of));
      const LaidOut made = LayOut(of, Of(fmt::format("tensor={},sequence={}", ranks, sequence)));
      const double expected = whole * (made.cut_share / ranks + (1 - made.cut_share));
      EXPECT_NEAR(Flops(made.graph) / expected, 1, 2e-5);  // vocabularies that are padded
    }
  }
}

TEST(Pipeline, WeightsAndWorkAreDividedAmongStages) {
  const sim::OpGraph whole = LoadGraph(kLlama);
  for (const int stages : {1, 2, 3, 4}) {
    const sim::OpGraph graph = Made(kLlama, fmt::format("pipeline={},tensor=2", stages));
    EXPECT_DOUBLE_EQ(2 * Flops(graph), Flops(whole));
    const auto held = Persistent(graph);
    EXPECT_EQ(std::ssize(held), stages);
    Bytes all = 0;
    for (const auto& [rank, bytes] : held) {
      EXPECT_EQ(rank % 2, 0);
      all += bytes;
    }
    EXPECT_EQ(all, 3 * 4 * LlamaWeights(2));
  }
}

// One tensor of activations a boundary and micro-batch forwards and one backwards.
TEST(Pipeline, BoundariesPassOneTensorEachWay) {
  for (const std::string& of :
       {std::string(kLlama), kCaptures + "gpt2.step.json.zst", kCaptures + "bert_base.step.json.zst"}) {
    SCOPED_TRACE(of);
    const sim::OpGraph graph = Made(of, "pipeline=4");
    std::map<std::pair<std::int64_t, std::int64_t>, std::set<sim::TensorRef>> passed;
    for (const sim::Op& op : graph.ops) {
      const auto to = sim::FindNumber(op.attributes, kRank);
      for (const sim::TensorRef input : op.inputs) {
        const auto from = sim::FindNumber(At(graph, input.op).attributes, kRank);
        if (from && to && *from != *to)
          passed[{static_cast<int>(*from), static_cast<int>(*to)}].insert(input);
      }
    }
    EXPECT_EQ(passed.size(), 6U);
    for (const auto& [boundary, tensors] : passed) {
      EXPECT_EQ(std::abs(boundary.first - boundary.second), 1);
      EXPECT_EQ(tensors.size(), 1U);
    }
  }
}

// GPT-2's table of tokens is its head as well: the first and the last stage have it, and add up their gradients.
TEST(Pipeline, ATiedWeightIsOnBothItsStages) {
  const sim::OpGraph whole = LoadGraph(kCaptures + "gpt2.step.json.zst");
  const sim::OpGraph graph = Made(kCaptures + "gpt2.step.json.zst", "pipeline=3");
  const Bytes table = Bytes{50257} * 768 * 4;
  EXPECT_EQ(graph.totals().persistent_bytes, whole.totals().persistent_bytes + 3 * table);
  const Exchanged tied = Exchanges(graph, "pipeline", "AllReduce");
  EXPECT_EQ(tied.count, 1);
  EXPECT_EQ(tied.bytes, table);
  EXPECT_DOUBLE_EQ(Flops(graph), Flops(whole));
}

TEST(Pipeline, MicroBatchesShareTheWork) {
  const sim::OpGraph whole = LoadGraph(kLlama);
  for (const int micro_batches : {2, 8}) {
    const sim::OpGraph graph = Made(kLlama, fmt::format("pipeline=2,micro_batches={}", micro_batches));
    EXPECT_DOUBLE_EQ(Flops(graph), Flops(whole));
    EXPECT_EQ(graph.totals().persistent_bytes, whole.totals().persistent_bytes);
  }
}

// Chen et al. 2016: the forward pass of the layers once more; of what a layer made nothing but its result is kept.
TEST(Pipeline, TheGraphOfOneMicroBatchIsRepeated) {
  const char* one =
      "llama(layers=4,batch=1,hidden=256,heads=8,kv_heads=4,feed_forward=512,sequence=64,vocabulary=1024)";
  const sim::OpGraph shared = Made(kLlama, "pipeline=2,data=2,micro_batches=4"),
                     each = Made(one, "pipeline=2,data=2,micro_batches=4,batch=each");
  ASSERT_EQ(shared.ops.size(), each.ops.size());
  for (std::size_t i = 0; i < each.ops.size(); ++i) {
    ASSERT_EQ(shared.ops[i].name, each.ops[i].name);
    EXPECT_EQ(shared.ops[i].flops, each.ops[i].flops) << each.ops[i].name;
    EXPECT_EQ(shared.ops[i].inputs.size(), each.ops[i].inputs.size()) << each.ops[i].name;
  }
  EXPECT_EQ(Of("bucket=5,prefetch=2,batch=each").Text(),
            "tensor=1,pipeline=1,data=1,bucket=5,prefetch=2,batch=each");
}

TEST(Recomputing, FullDoesTheForwardPassOfLayersAgain) {
  const sim::OpGraph whole = LoadGraph(kLlama);
  const sim::OpGraph graph = Made(kLlama, "recompute=full");
  EXPECT_DOUBLE_EQ(Flops(graph), Flops(whole) + ForwardFlops(whole, true));
  EXPECT_EQ(KeptActivations(graph, "layer"), kLayers * kBatch * kSequence * kHidden_ * 4);
}

// Korthikanti et al. 2022, section 5: what follows from scores, which takes two products of the sequence's length squared.
TEST(Recomputing, SelectiveDoesAttentionAgain) {
  const sim::OpGraph whole = LoadGraph(kLlama);
  const sim::OpGraph graph = Made(kLlama, "recompute=selective");
  const double attention = 2 * 2. * kBatch * kSequence * kSequence * kHidden_;
  EXPECT_DOUBLE_EQ(Flops(graph), Flops(whole) + kLayers * attention);
  const Bytes scores = kBatch * kQueryHeads * kSequence * kSequence * 4;
  EXPECT_EQ(KeptActivations(whole, "layer0") - KeptActivations(graph, "layer0"), scores);
}

TEST(Recomputing, CapturedModelsToo) {
  const sim::OpGraph whole = LoadGraph(kCaptures + "gpt2.step.json.zst");
  const sim::OpGraph graph = Made(kCaptures + "gpt2.step.json.zst", "recompute=full");
  EXPECT_DOUBLE_EQ(Flops(graph), Flops(whole) + ForwardFlops(whole, false) - 2. * 128 * 768 * 50257);
}

// A ring's AllReduce is twice its ReduceScatter; ZeRO 1 has one and an AllGather, ZeRO 3 one and two AllGathers (Rajbhandari et al.
// 2020, section 7). Optimizer state, then weights and gradients are divided.
TEST(DataParallel, ExchangesAndStateAreThoseOfZero) {
  const Bytes weights = 4 * LlamaWeights(1);
  for (const int ranks : {2, 4}) {
    const std::string data = fmt::format("data={},bucket=1", ranks);
    const sim::OpGraph ddp = Made(kLlama, data);
    EXPECT_EQ(Exchanges(ddp, "data", "AllReduce").bytes, weights);
    EXPECT_EQ(ddp.totals().persistent_bytes, 3 * weights);
    const sim::OpGraph zero1 = Made(kLlama, data + ",zero=1");
    EXPECT_EQ(Exchanges(zero1, "data", "ReduceScatter").bytes, weights);
    EXPECT_EQ(Exchanges(zero1, "data", "AllGather").bytes, weights);
    EXPECT_EQ(zero1.totals().persistent_bytes, weights + 2 * weights / ranks);
    const sim::OpGraph zero3 = Made(kLlama, data + ",zero=3");
    // Table, head and last norm are in no layer: gathered once.
    const Bytes rest = 4 * (2 * kWords * kHidden_ + kHidden_);
    EXPECT_EQ(Exchanges(zero3, "data", "AllGather").bytes, 2 * weights - rest);
    EXPECT_EQ(Exchanges(zero3, "data", "ReduceScatter").bytes, weights);
    EXPECT_EQ(zero3.totals().persistent_bytes, 3 * weights / ranks);
  }
}

// As torch's DistributedDataParallel: of 25 MiB or, the last, less; the first of 1 MiB.
TEST(DataParallel, BucketsAreFilledInTheOrderOfGradients) {
  const sim::OpGraph graph =
      Made("llama(layers=4,batch=2,hidden=1024,heads=16,feed_forward=2816,sequence=64)", "data=2");
  std::vector<Bytes> buckets;
  Bytes weights = 0;
  for (const sim::Op& op : graph.ops) {
    if (op.type == "AllReduce") buckets.push_back(op.outputs.front().bytes);
    if (op.type == "Variable") weights += op.outputs.front().bytes;
  }
  ASSERT_GT(buckets.size(), 3U);
  EXPECT_EQ(std::accumulate(buckets.begin(), buckets.end(), Bytes{0}), weights);
  for (std::size_t i = 1; i + 1 < buckets.size(); ++i) EXPECT_GE(buckets[i], Bytes{25} << 20);
}

// Over micro-batches gradients are summed before they are exchanged, but for ZeRO 3, which holds a part of them.
TEST(DataParallel, MicroBatchesExchangeOnce) {
  const Bytes weights = 4 * LlamaWeights(1);
  EXPECT_EQ(Exchanges(Made(kLlama, "data=2,micro_batches=4"), "data", "AllReduce").bytes, weights);
  EXPECT_EQ(Exchanges(Made(kLlama, "data=2,micro_batches=4,zero=3"), "data", "ReduceScatter").bytes,
            4 * weights);
}

TEST(DataParallel, GroupsStandBehindTensorRanksAndStages) {
  const sim::OpGraph graph = Made(kLlama, "tensor=2,pipeline=2,data=2");
  for (const sim::Op& op : graph.ops) {
    const auto group = sim::FindString(op.attributes, "group");
    if (group == "data") EXPECT_EQ(sim::FindNumber(op.attributes, "stride"), 4);
    if (group == "tensor") EXPECT_EQ(sim::FindNumber(op.attributes, "stride"), 1);
  }
}

// The graph of one rank is what each rank has of the graph of all.
TEST(AllRanks, OneRankStandsForAllThatDoTheSame) {
  for (const char* text :
       {"tensor=2", "data=2", "data=2,zero=1", "data=2,zero=3", "tensor=2,data=2,pipeline=2,micro_batches=2",
        "tensor=2,data=2,sequence=yes,zero=1", "tensor=2,pipeline=4,recompute=full,micro_batches=4"}) {
    SCOPED_TRACE(text);
    const Layout layout = Of(text);
    const sim::OpGraph one = LayOut(kLlama, layout).graph;
    const sim::OpGraph all = WriteAllRanks(one, layout);
    const auto copies = layout.tensor * layout.data;
    EXPECT_DOUBLE_EQ(Flops(all), static_cast<double>(copies) * Flops(one));
    EXPECT_EQ(all.totals().persistent_bytes, copies * one.totals().persistent_bytes);
    const auto of_one = Persistent(one), of_all = Persistent(all);
    ASSERT_EQ(std::ssize(of_all), layout.ranks());
    for (const auto& [rank, bytes] : of_all)
      EXPECT_EQ(bytes, of_one.at(rank % (layout.tensor * layout.pipeline) / layout.tensor * layout.tensor))
          << rank;
  }
}

TEST(Layouts, RefuseWhatCannotBe) {
  for (const char* text :
       {"tensor=8",    // of 4 heads of keys
        "pipeline=5",  // of 4 layers
        "data=3",      // of a batch of 8
        "data=4,micro_batches=4", "tensor=0", "zero=2", "recompute=some", "tensor=200,pipeline=200"}) {
    EXPECT_THROW(Made(kLlama, text), InputError) << text;
  }
}

}  // namespace
}  // namespace stowplan::scenarios
