// Decoders of language models: weights, work, the cache of keys and values, experts.
#include <fmt/format.h>

#include "scenarios/scenarios.h"
#include "scenarios/sizes.h"
#include "tests/scenarios/graph_checks.h"
#include "tests/scenarios/serial_memory.h"
#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

constexpr const char* kSmall =
    "layers=2,hidden=64,heads=8,kv_heads=2,feed_forward=96,sequence=16,vocabulary=100";

std::vector<const sim::Op*> OfType(const sim::OpGraph& graph, const std::string& type) {
  std::vector<const sim::Op*> found;
  for (const sim::Op& op : graph.ops) {
    if (op.type == type) found.push_back(&op);
  }
  return found;
}

std::vector<const sim::Op*> Caches(const sim::OpGraph& graph) {
  std::vector<const sim::Op*> found;
  for (const sim::Op* op : OfType(graph, "Variable")) {
    if (sim::FindAttribute(op->attributes, "trainable") != nullptr) found.push_back(op);
  }
  return found;
}

// Grouped queries: fewer keys and values, the same scores.
TEST(LlamaTest, GroupsShareKeysAndValues) {
  const sim::OpGraph grouped = LoadGraph(std::string("llama(") + kSmall + ")");
  const auto shape = [&](const std::string& name) {
    return grouped.ops.at(static_cast<std::size_t>(grouped.Find(name))).outputs.at(0).shape;
  };
  EXPECT_THAT(shape("layer0/attention/query/rotate"), ::testing::ElementsAre(1, 2, 4, 16, 8));
  EXPECT_THAT(shape("layer0/attention/key/rotate"), ::testing::ElementsAre(1, 2, 16, 8));
  EXPECT_THAT(shape("gradients/layer0/attention/scores/weights"), ::testing::ElementsAre(1, 2, 16, 8));
}

class CacheTest : public ::testing::TestWithParam<const char*> {};

TEST_P(CacheTest, IsStateOfAllPositionsWrittenInPlace) {
  const std::string pass = GetParam();
  const sim::OpGraph graph =
      LoadGraph(std::string("llama(batch=3,mode=inference,") + kSmall + ",pass=" + pass + ")");
  EXPECT_EQ(FaultInShapes(graph), "");
  EXPECT_EQ(FaultInPlace(graph), "");
  // Keys and values of 2 layers: 3 items x 2 heads x 16 positions x 8 numbers.
  const auto caches = Caches(graph);
  ASSERT_EQ(caches.size(), 4u);
  for (const sim::Op* cache : caches) EXPECT_EQ(cache->persistent_bytes, 4 * 3 * 2 * 16 * 8);
  EXPECT_EQ(graph.totals().persistent_bytes, 4 * graph.totals().parameters + 4 * 4 * 3 * 2 * 16 * 8);

  const auto writes = OfType(graph, "CacheWrite");
  ASSERT_EQ(writes.size(), 4u);
  const std::int64_t written = pass == "decode" ? 1 : 16;
  for (const sim::Op* write : writes) {
    const sim::Op& cache = graph.ops[static_cast<std::size_t>(write->inputs.at(0).op)];
    const sim::Op& fresh = graph.ops[static_cast<std::size_t>(write->inputs.at(1).op)];
    EXPECT_EQ(write->outputs.at(0).storage, sim::Output::Storage::kInput);
    EXPECT_EQ(write->outputs.at(0).alias, write->inputs.at(0));
    EXPECT_EQ(write->colocate, cache.colocate) << "a write elsewhere would go into a copy";
    EXPECT_EQ(fresh.outputs.at(0).shape.at(2), written);
    // Attention reads what was written, never the cache as it was.
    const auto number = static_cast<sim::OpIndex>(write - graph.ops.data());
    EXPECT_THAT(graph.consumers(write->inputs.at(0).op), ::testing::ElementsAre(number));
    EXPECT_EQ(graph.consumers(number).size(), 1u);
  }
}

INSTANTIATE_TEST_SUITE_P(Inference, CacheTest, ::testing::Values("whole", "decode"));

TEST(LlamaTest, TrainingKeepsNoCache) {
  EXPECT_TRUE(Caches(LoadGraph(std::string("llama(") + kSmall + ")")).empty());
}

// A decode step holds little beside weights and cache.
TEST(LlamaTest, DecodeStepIsSmall) {
  const SerialMemory whole = SerialPeak(LoadGraph("llama(mode=inference)"));
  const SerialMemory decode = SerialPeak(LoadGraph("llama(mode=inference,pass=decode)"));
  EXPECT_EQ(whole.persistent, decode.persistent);
  EXPECT_LT(decode.peak - decode.persistent, (whole.peak - whole.persistent) / 1000);
}

// Places follow tokens x top_k / experts, rounded up; a capacity of 1.5 is half as many more.
TEST(MoeTest, ExpertsWorkOnTheirPlaces) {
  const auto places = [](const std::string& more) {
    const sim::OpGraph graph = LoadGraph(std::string("moe(batch=1,experts=4,") + kSmall + more + ")");
    EXPECT_EQ(FaultInShapes(graph), "");
    const auto dispatches = OfType(graph, "ExpertDispatch");
    EXPECT_EQ(dispatches.size(), 2u);
    EXPECT_EQ(dispatches.at(0)->outputs.size(), 4u);
    return dispatches.at(0)->outputs.at(0).shape.at(0);
  };
  EXPECT_EQ(places(""), 16 * 2 / 4);
  EXPECT_EQ(places(",capacity=1.5"), 12);
  EXPECT_EQ(places(",top_k=3,capacity=0.7"), 9);  // 8.4
}

// With as many places as tokens ask for, experts do the work of top_k dense blocks, plus the router.
TEST(MoeTest, MultiplyAddsAreThoseOfTheChosenExperts) {
  const double dense = ForwardMultiplyAdds(LoadGraph(std::string("llama(batch=8,") + kSmall + ")"));
  const double mixture = ForwardMultiplyAdds(LoadGraph(std::string("moe(") + kSmall + ")"));
  const double tokens = 8 * 16, block = 3 * 64 * 96, router = 64 * 8;
  EXPECT_EQ(mixture - dense, 2 * tokens * (block + router));
}

// Expert parallelism: expert e is branch e in every layer, forward and backward; nothing else has a branch.
TEST(MoeTest, ExpertsAreBranches) {
  const sim::OpGraph graph = LoadGraph(std::string("moe(experts=4,") + kSmall + ")");
  EXPECT_EQ(sim::FindString(graph.attributes, "expert"), "branch");
  for (const sim::Op& op : graph.ops) {
    const std::size_t at = op.name.find("/expert");
    const auto branch = sim::FindNumber(op.attributes, "branch");
    if (at == std::string::npos) {
      EXPECT_FALSE(branch.has_value()) << op.name;
    } else {
      EXPECT_EQ(branch, std::stoi(op.name.substr(at + 7))) << op.name;
    }
  }
}

// One token that goes to 8 of 128 experts reaches each with probability 1/16, n tokens with 1 - (15/16)^n; the host issues the
// ops of so many. A pass over whole sequences reaches all.
TEST(MoeTest, ADecodeStepReachesTheExpertsOfItsTokens) {
  for (const auto& [batch, pass, reached] :
       {std::tuple{1, "decode", 1.0 / 16}, {4, "decode", 1 - std::pow(15.0 / 16, 4)}, {64, "whole", 1.0}}) {
    const sim::OpGraph graph = LoadGraph(
        fmt::format("moe(mode=inference,batch={},experts=128,top_k=8,pass={},{})", batch, pass, kSmall));
    int issued = 0, products = 0;
    for (const sim::Op& op : graph.ops) {
      const bool is_expert = op.name.find("/expert") != std::string::npos;
      EXPECT_DOUBLE_EQ(sim::FindNumber(op.attributes, "reached").value_or(1), is_expert ? reached : 1)
          << op.name;
      if (!is_expert) {
        EXPECT_EQ(op.framework_ops, 1) << op.name;
      }
      if (!is_expert || op.type != "MatMul" || op.phase != "forward") continue;
      ++products;
      issued += op.framework_ops;
    }
    EXPECT_EQ(products, 2 * 3 * 128);  // layers, products of an expert
    EXPECT_EQ(issued, 2 * 3 * static_cast<int>(128 * reached)) << batch;
  }
}

TEST(DecoderTest, RefusesWhatDoesNotFitTogether) {
  for (const auto& [name, says] : {std::pair("llama(pass=decode)", "mode=inference,pass=decode"),
                                   {"llama(heads=31)", "hidden=2048 is no multiple of heads=31"},
                                   {"llama(kv_heads=5)", "heads=32 is no multiple of kv_heads=5"},
                                   {"llama(hidden=96,heads=32)", "for example hidden=128"},
                                   {"moe(top_k=9)", "top_k=9 of experts=8"}}) {
    EXPECT_THAT(tests::ErrorOf([&] { LoadGraph(name); }), HasSubstr(says));
  }
}

}  // namespace
}  // namespace stowplan::scenarios
