// Micro-batches (scenarios/workloads/micro_batches.h) in the order of a schedule (sim/native/pipeline_order.h): against what the schedules'
// papers derive, and properties of any graph.
#include "scenarios/workloads/micro_batches.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "scenarios/scenarios.h"
#include "sim/formats/formats.h"
#include "sim/native/pipeline_order.h"
#include "sim/simulator.h"
#include "tests/scenarios/test_catalogue.h"
#include "tests/sim/no_cost_model.h"
#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

// RapidCheck draws from this seed (and prints it) unless the environment says otherwise.
[[maybe_unused]] const int kSeeded = ::setenv("RC_PARAMS", "seed=20261123", 0);

using sim::Bytes;
using sim::DeviceIndex;
using sim::OpIndex;
using sim::Picos;

constexpr Bytes kStash = 1024;
constexpr Picos kMicro = sim::kPicosPerMicro;

std::size_t AsIndex(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

// GPUs without links, between which transfers are free.
sim::Cluster FreeCluster(int gpus, sim::Dispatch::Order order) {
  sim::Cluster cluster;
  cluster.name = "free";
  cluster.dispatch.order = order;
  for (int g = 0; g < gpus; ++g) {
    sim::Device device;
    device.name = "gpu" + std::to_string(g);
    device.kind = "k80";
    device.memory = Bytes{1} << 30;
    cluster.devices.push_back(device);
  }
  cluster.Finish();
  return cluster;
}

struct Simulated {
  Picos runtime;
  std::vector<Bytes> peak;
};
Simulated Simulate(const sim::OpGraph& graph, const sim::Cluster& cluster, const sim::Placement& placement) {
  const sim::Problem problem(graph, cluster, sim::PriceOps(graph, cluster, sim::NoCostModel()));
  sim::CheckPlacement(graph, cluster, placement);
  const auto simulator = sim::MakeSimulator(problem);
  const sim::Outcome& outcome = simulator->Run(placement);
  Simulated run{outcome.runtime, {}};
  for (const sim::DeviceUse& use : outcome.devices) run.peak.push_back(use.peak);
  return run;
}

// One micro-batch of p stages: two forward ops that take f together and stash an activation, two backward ops that take b.
sim::OpGraph Stages(int p, double f, double b) {
  sim::OpGraph graph;
  graph.name = "stages";
  const auto add = [&](const std::string& name, const char* phase, double us,
                       std::vector<sim::TensorRef> inputs, Bytes stash) {
    sim::Op op;
    op.name = name;
    op.type = "MatMul";
    op.phase = phase;
    op.cost_us = us;
    op.inputs = std::move(inputs);
    op.outputs.resize(2);
    op.outputs[1].bytes = stash;
    graph.ops.push_back(std::move(op));
    return static_cast<OpIndex>(graph.ops.size()) - 1;
  };
  std::vector<OpIndex> stash;
  OpIndex last = -1;
  for (int s = 0; s < p; ++s) {
    const std::string name = "f" + std::to_string(s);
    stash.push_back(add(name + "a", "forward", 0.25 * f,
                        last < 0 ? std::vector<sim::TensorRef>() : std::vector<sim::TensorRef>{{last, 0}},
                        kStash));
    last = add(name + "b", "forward", 0.75 * f, {{stash.back(), 0}}, 0);
  }
  for (int s = p - 1; s >= 0; --s) {
    const std::string name = "b" + std::to_string(s);
    last = add(name + "b", "backward", 0.5 * b, {{last, 0}}, 0);
    last = add(name + "a", "backward", 0.5 * b, {{last, 0}, {stash[AsIndex(s)], 1}}, 0);
  }
  graph.Finish();
  return graph;
}

// "f2a", "b2a@5": stage 2.
sim::Placement ByStage(const sim::OpGraph& graph) {
  sim::Placement placement;
  for (const sim::Op& op : graph.ops) placement.device.push_back(op.name[1] - '0');
  return placement;
}

sim::OpGraph Repeated(const sim::OpGraph& one, std::int64_t k, const std::string& schedule) {
  sim::OpGraph graph = RepeatMicroBatch(one, k, schedule);
  graph.Finish();
  return graph;
}

// p balanced stages pass k micro-batches in k + p - 1 turns of f and as many of b (Huang et al., section 2.3): GPipe keeps the
// activations of all k on every stage, 1F1B those of p - i on stage i. Whatever order the cluster issues ops in by itself.
TEST(MicroBatches, BalancedPipelinesTakeWhatThePapersDerive) {
  for (const auto order : {sim::Dispatch::Order::kReady, sim::Dispatch::Order::kProgram}) {
    for (const int p : {1, 2, 3, 5, 8}) {
      for (const int k : {2, 3, 4, 8, 13}) {
        for (const auto& [f, b] : {std::pair{4.0, 4.0}, {4.0, 8.0}, {10.0, 2.0}}) {
          SCOPED_TRACE(testing::Message()
                       << p << " stages, " << k << " micro-batches, " << f << " and " << b << " us");
          const sim::OpGraph one = Stages(p, f, b);
          const sim::Cluster cluster = FreeCluster(p, order);
          for (const char* schedule : {"gpipe", "1f1b"}) {
            const sim::OpGraph graph = Repeated(one, k, schedule);
            const Simulated run = Simulate(graph, cluster, ByStage(graph));
            EXPECT_EQ(run.runtime, (k + p - 1) * sim::FromMicros(f + b)) << schedule;
            for (int i = 0; i < p; ++i) {
              const int kept = schedule == std::string("gpipe") ? k : std::min(p - i, k);
              EXPECT_EQ(run.peak[AsIndex(i)], kept * kStash) << schedule << ", stage " << i;
            }
          }
        }
      }
    }
  }
}

// Stage 1 takes twice as long: it never waits once it has begun, so f0 + k (f1 + b1) + b0.
TEST(MicroBatches, TheSlowestStageSetsThePace) {
  sim::OpGraph one = Stages(2, 4, 4);
  for (sim::Op& op : one.ops)
    if (op.name[1] == '1') *op.cost_us *= 2;
  one.Finish();
  const sim::Cluster cluster = FreeCluster(2, sim::Dispatch::Order::kReady);
  for (const char* schedule : {"gpipe", "1f1b"}) {
    const sim::OpGraph graph = Repeated(one, 6, schedule);
    EXPECT_EQ(Simulate(graph, cluster, ByStage(graph)).runtime, (4 + 6 * 16 + 4) * kMicro) << schedule;
  }
}

// w (8 B) -> product -> its gradient -> update: gradients are summed in place, one buffer however many micro-batches.
sim::OpGraph Trained() {
  sim::OpGraph graph;
  graph.name = "trained";
  const auto add = [&](const std::string& name, const std::string& type, const char* phase,
                       std::vector<sim::TensorRef> inputs) {
    sim::Op op;
    op.name = name;
    op.type = type;
    op.phase = phase;
    op.inputs = std::move(inputs);
    op.cost_us = type == "Variable" || type == "Placeholder" ? 0 : 8;
    op.flops = type == "MatMul" ? 16 : 0;
    op.outputs.resize(phase == std::string("update") ? 0 : 1);
    for (sim::Output& output : op.outputs) output.bytes = 8192;
    graph.ops.push_back(std::move(op));
  };
  add("w", "Variable", "forward", {});
  add("x", "Placeholder", "forward", {});
  add("y", "MatMul", "forward", {{0, 0}, {1, 0}});
  add("dw", "MatMul", "backward", {{1, 0}, {2, 0}});
  add("update", "ApplyAdam", "update", {{0, 0}, {3, 0}});
  graph.ops[0].outputs[0].storage = sim::Output::Storage::kPersistent;
  graph.ops[0].persistent_bytes = 3 * 8192;
  graph.ops[0].colocate = graph.ops[4].colocate = "w";
  for (sim::Op& op : graph.ops)
    if (op.name != "w" && op.name != "dw" && !op.outputs.empty()) {
      op.outputs[0].bytes = 16384;
      op.outputs[0].dtype = "f32";
      op.outputs[0].shape = {4, 1024};
    }
  graph.Finish();
  return graph;
}

TEST(MicroBatches, UpdatesReadOneSumOfAllGradients) {
  const sim::OpGraph graph = Repeated(Trained(), 3, "gpipe");
  std::vector<std::string> names;
  for (const sim::Op& op : graph.ops) names.push_back(op.name);
  EXPECT_THAT(names, testing::ElementsAre("w", "x", "y", "x@1", "y@1", "x@2", "y@2", "dw", "dw@1", "dw@2",
                                          "dw/accumulate@1", "dw/accumulate@2", "update"));
  const auto op = [&](const std::string& name) { return graph.ops[AsIndex(graph.Find(name))]; };
  const auto ref = [&](const std::string& name) { return sim::TensorRef{graph.Find(name), 0}; };
  EXPECT_THAT(op("y@2").inputs, testing::ElementsAre(ref("w"), ref("x@2")));
  EXPECT_THAT(op("dw@1").inputs, testing::ElementsAre(ref("x@1"), ref("y@1")));
  EXPECT_THAT(op("dw/accumulate@1").inputs, testing::ElementsAre(ref("dw"), ref("dw@1")));
  EXPECT_THAT(op("dw/accumulate@2").inputs, testing::ElementsAre(ref("dw/accumulate@1"), ref("dw@2")));
  EXPECT_THAT(op("update").inputs, testing::ElementsAre(ref("w"), ref("dw/accumulate@2")));
  EXPECT_EQ(op("dw/accumulate@2").outputs[0].storage, sim::Output::Storage::kInput);
  EXPECT_EQ(graph.colocation_sets(), 4) << "w and its update, x, y, dw";
  EXPECT_EQ(graph.totals().persistent_bytes, 3 * 8192);
}

// Rows of a table cannot be summed in place: the update reads all of them.
TEST(MicroBatches, UpdatesReadAllGradientsOfAnotherSize) {
  sim::OpGraph one = Trained();
  one.ops[3].outputs[0].bytes = 64;
  one.Finish();
  const sim::OpGraph graph = Repeated(one, 3, "1f1b");
  EXPECT_EQ(graph.ops[AsIndex(graph.Find("update"))].inputs.size(), 4u);
  EXPECT_EQ(graph.Find("dw/accumulate@1"), -1);
}

TEST(MicroBatches, AFileIsSharedByTheRule) {
  sim::OpGraph share = ShareBatch(Trained(), 2);
  share.Finish();
  const auto& ops = share.ops;
  EXPECT_EQ(ops[0].outputs[0].bytes, 8192) << "a weight";
  EXPECT_EQ(ops[1].outputs[0].bytes, 8192) << "data";
  EXPECT_THAT(ops[1].outputs[0].shape, testing::ElementsAre(2, 1024));
  EXPECT_EQ(ops[2].outputs[0].bytes, 8192) << "what follows from data";
  EXPECT_EQ(ops[2].cost_us, 4.0);
  EXPECT_EQ(ops[2].flops, 8);
  EXPECT_EQ(ops[3].outputs[0].bytes, 8192) << "the gradient of a weight";
  EXPECT_EQ(ops[3].cost_us, 4.0);
  EXPECT_EQ(ops[4].cost_us, 8.0) << "the update";
}

// The rule gives what the builder does for a quarter of the batch, op by op.
TEST(MicroBatches, TheRuleGivesWhatSmallerShapesAre) {
  for (const auto& [whole, quarter] : {std::pair{"inception_v3(batch=64)", "inception_v3(batch=16)"},
                                       {"llama(batch=8,layers=2)", "llama(batch=2,layers=2)"},
                                       {"moe(batch=8,layers=1)", "moe(batch=2,layers=1)"}}) {
    const sim::OpGraph share = ShareBatch(LoadGraph(whole), 4), built = LoadGraph(quarter);
    ASSERT_EQ(share.ops.size(), built.ops.size());
    for (std::size_t i = 0; i < share.ops.size(); ++i) {
      EXPECT_EQ(share.ops[i].flops, built.ops[i].flops) << share.ops[i].name;
      ASSERT_EQ(share.ops[i].outputs.size(), built.ops[i].outputs.size());
      for (std::size_t o = 0; o < share.ops[i].outputs.size(); ++o) {
        EXPECT_EQ(share.ops[i].outputs[o].bytes, built.ops[i].outputs[o].bytes) << share.ops[i].name;
        EXPECT_EQ(share.ops[i].outputs[o].shape, built.ops[i].outputs[o].shape) << share.ops[i].name;
      }
    }
  }
}

double FlopsOf(const sim::OpGraph& graph, bool updates) {
  double flops = 0;
  for (const sim::Op& op : graph.ops)
    if ((op.phase == "update") == updates) flops += op.flops;
  return flops;
}

// The parts of any workload do together what the whole does, updates once; or the batch cannot be split, and it says so.
TEST(MicroBatches, ThePartsDoTheWorkOfTheWhole) {
  std::vector<std::string> split;
  for (const WorkloadRow& row : Workloads()) {
    const sim::OpGraph whole = LoadGraph(row.name);
    if (sim::FindAttribute(whole.attributes, "schedule") != nullptr) continue;
    for (const std::int64_t k : {2, 4}) {
      try {
        sim::OpGraph share = ShareBatch(whole, k);
        share.Finish();
        const sim::OpGraph parts = Repeated(share, k, "gpipe");
        const double all = whole.totals().flops;
        EXPECT_NEAR(FlopsOf(parts, false) + FlopsOf(parts, true), all, 0.1 * all) << row.name;
        EXPECT_DOUBLE_EQ(FlopsOf(parts, true), FlopsOf(whole, true)) << row.name;
        EXPECT_EQ(parts.totals().parameters, whole.totals().parameters) << row.name;
        if (k == 2) split.emplace_back(row.name);
      } catch (const InputError& error) {
        EXPECT_THAT(error.what(), HasSubstr("micro_batches=")) << row.name;
      }
    }
  }
  EXPECT_THAT(split, testing::IsSupersetOf({"inception_v3", "llama", "bert", "rnnlm", "gnmt", "chain"}));
}

// Nothing tells the data of a graph whose inputs are variables: it is refused, not done k times.
TEST(MicroBatches, WhatTellsNoInputsIsRefused) {
  sim::OpGraph whole = Trained();
  whole.ops[1].type = "Variable";
  whole.ops[1].outputs[0].storage = sim::Output::Storage::kPersistent;
  whole.ops[1].persistent_bytes = 16384;
  whole.Finish();
  EXPECT_THROW(ShareBatch(whole, 2), InputError);
  for (sim::Op& op : whole.ops) {  // likewise by the time measured alone
    op.flops = 0;
    op.outputs.resize(std::min<std::size_t>(op.outputs.size(), 1));
  }
  EXPECT_THROW(ShareBatch(whole, 2), InputError);
}

// A product of weights is done anew for each micro-batch: a little of it is borne, much is not.
TEST(MicroBatches, WorkThatDoesNotGrowWithTheBatchIsCounted) {
  for (const auto& [us, refused] : {std::pair{1.0, false}, {8.0, true}}) {
    sim::OpGraph whole = Trained();
    sim::Op product = whole.ops[2];
    product.name = "w2";
    product.inputs = {{0, 0}, {0, 0}};
    product.outputs[0] = whole.ops[0].outputs[0];
    product.outputs[0].storage = sim::Output::Storage::kOwn;
    product.cost_us = us;
    product.flops = us;
    whole.ops.push_back(product);
    whole.Finish();
    if (refused) {
      EXPECT_THROW(ShareBatch(whole, 2), InputError);
    } else {
      EXPECT_EQ(ShareBatch(whole, 2).ops.back().cost_us, us);
    }
  }
}

// Clipping stands between a gradient and its update, views and casts before: all of the weight's size.
TEST(MicroBatches, GradientsKeepTheirSizeThroughViewsAndClipping) {
  sim::OpGraph whole = Trained();
  const auto add = [&](const std::string& name, const std::string& type, const char* phase,
                       std::vector<sim::TensorRef> inputs, sim::Bytes bytes) {
    sim::Op op;
    op.name = name;
    op.type = type;
    op.phase = phase;
    op.inputs = std::move(inputs);
    op.outputs.resize(1);
    op.outputs[0].bytes = bytes;
    whole.ops.push_back(op);
    return sim::TensorRef{static_cast<OpIndex>(whole.ops.size()) - 1, 0};
  };
  const sim::TensorRef view = add("view", "Reshape", "backward", {{3, 0}}, 8192);
  const sim::TensorRef clipped = add("clipped", "Mul", "update", {view}, 8192);
  whole.ops[4].inputs = {{0, 0}, clipped};
  whole.Finish();
  sim::OpGraph share = ShareBatch(whole, 2);
  share.Finish();
  EXPECT_EQ(share.ops[3].outputs[0].bytes, 8192);
  EXPECT_EQ(share.ops[AsIndex(view.op)].outputs[0].bytes, 8192);
  const sim::OpGraph parts = Repeated(share, 2, "gpipe");
  const sim::Op& mul = parts.ops[AsIndex(parts.Find("clipped"))];
  EXPECT_THAT(mul.inputs, testing::ElementsAre(sim::TensorRef{parts.Find("view/accumulate@1"), 0}));
}

// What stands in a variable that was written in place is read behind its writer: of the batch, if that is.
TEST(MicroBatches, WhatWasWrittenInPlaceCarriesTheBatch) {
  sim::OpGraph whole = Trained();
  sim::Op write, read;
  write.name = "write";
  write.type = "Assign";
  write.inputs = {{0, 0}, {3, 0}};
  write.outputs.resize(1);
  write.outputs[0] = whole.ops[0].outputs[0];
  write.outputs[0].storage = sim::Output::Storage::kInput;
  write.outputs[0].alias = {0, 0};
  write.phase = read.phase = "backward";
  read.name = "read";
  read.type = "AllReduce of others";
  read.inputs = {{0, 0}};
  read.control = {5};
  read.cost_us = 100;
  whole.ops.push_back(write);
  whole.ops.push_back(read);
  whole.Finish();
  EXPECT_EQ(ShareBatch(whole, 2).ops[6].cost_us, 50);
  whole.ops[6].control.clear();
  whole.Finish();
  EXPECT_THROW(ShareBatch(whole, 2), InputError) << "the weight as it was, done twice";
}

// The whole and its parts: work and weights are the same.
TEST(MicroBatches, WorkloadsKeepWorkAndWeights) {
  const sim::OpGraph whole = LoadGraph("rnnlm(batch=64,steps=3)");
  for (const char* k : {"2", "8"}) {
    const sim::OpGraph parts =
        LoadGraph(std::string("pipeline(of=rnnlm(batch=64,steps=3),micro_batches=") + k + ",schedule=1f1b)");
    EXPECT_DOUBLE_EQ(parts.totals().flops, whole.totals().flops);
    EXPECT_EQ(parts.totals().parameters, whole.totals().parameters);
    EXPECT_EQ(parts.totals().persistent_bytes, whole.totals().persistent_bytes);
    // Every op of the whole is placed once; what is new is with one of them.
    EXPECT_EQ(parts.colocation_sets(), whole.colocation_sets());
  }
}

TEST(MicroBatches, OneIsTheGraphItself) {
  for (const char* of : {"rnnlm(batch=64,steps=3)", "random_dag(ops=60)"}) {
    const sim::OpGraph whole = LoadGraph(of);
    const sim::OpGraph one = LoadGraph("pipeline(of=" + std::string(of) + ",micro_batches=1)");
    ASSERT_EQ(one.size(), whole.size());
    EXPECT_TRUE(sim::PipelineOrder(one).empty());
    for (OpIndex op = 0; op < one.size(); ++op)
      EXPECT_EQ(one.ops[AsIndex(op)].inputs, whole.ops[AsIndex(op)].inputs);
  }
  for (const auto order : {sim::Dispatch::Order::kReady, sim::Dispatch::Order::kProgram}) {
    const sim::Cluster cluster = FreeCluster(4, order);
    const sim::OpGraph stages = Stages(4, 4, 8), one = Repeated(stages, 1, "1f1b");
    EXPECT_EQ(Simulate(one, cluster, ByStage(one)).runtime,
              Simulate(stages, cluster, ByStage(stages)).runtime);
  }
}

// A placement of the graph that is repeated is one of all its micro-batches.
TEST(MicroBatches, TakeThePlacementOfOne) {
  const sim::OpGraph one = Stages(3, 4, 4), graph = Repeated(one, 4, "gpipe");
  const sim::Cluster cluster = FreeCluster(3, sim::Dispatch::Order::kReady);
  const std::string text = formats::PrintPlacement(ByStage(one), one, cluster);
  EXPECT_EQ(formats::ParsePlacement(text, "p.json", graph, cluster).device, ByStage(graph).device);
}

TEST(MicroBatches, RefusesWhatMakesNoSense) {
  const auto refusal = [](const std::string& of) -> std::string {
    return tests::ErrorOf([&] { LoadGraph(of); });
  };
  EXPECT_THAT(refusal("pipeline(of=rnnlm(batch=6),micro_batches=4)"), HasSubstr("micro_batches=4 does not"));
  EXPECT_THAT(refusal("pipeline(of=pipeline(of=chain))"), HasSubstr("over micro-batches already"));
  EXPECT_THAT(refusal("pipeline(of=chain,schedule=zb)"), HasSubstr("one of gpipe and 1f1b"));
  EXPECT_THAT(refusal("pipeline(of=nothing)"), HasSubstr("neither a file nor a workload"));
  EXPECT_THAT(refusal("pipeline(of=random_dag(ops=100000),micro_batches=30)"),
              HasSubstr("more than 2000000 ops"));
  EXPECT_THROW(ShareBatch(Trained(), 8), InputError) << "a batch of 4";
  sim::OpGraph other = LoadGraph("chain");
  other.attributes.emplace_back("schedule", sim::Attribute{std::string("cosine")});
  EXPECT_TRUE(sim::PipelineOrder{other}.empty()) << "attributes are free";
  sim::OpGraph graph = Repeated(Stages(2, 1, 1), 2, "gpipe");
  graph.attributes.back().second.value = std::string("zb");
  EXPECT_THROW(sim::PipelineOrder{graph}, InputError);
  graph.attributes.back().second.value = std::string("gpipe");
  graph.ops[0].attributes.back().second.value = std::int64_t{-1};
  EXPECT_THROW(sim::PipelineOrder{graph}, InputError);
}

// Any graph, any placement, any mixture of phases: an order of the graph, which the run keeps.
RC_GTEST_PROP(MicroBatchProperties, OrdersAreOrdersOfTheGraph, ()) {
  const auto seed = *rc::gen::inRange(1, 1'000'000);
  const auto k = *rc::gen::inRange<std::int64_t>(2, 7);
  const auto* schedule = *rc::gen::element("gpipe", "1f1b");
  sim::OpGraph one = LoadGraph("random_dag(ops=40,seed=" + std::to_string(seed) + ")");
  for (sim::Op& op : one.ops) op.phase = *rc::gen::element("forward", "forward", "backward", "update", "");
  one.Finish();
  const sim::OpGraph graph = Repeated(one, k, schedule);
  const sim::Cluster cluster = FreeCluster(3, sim::Dispatch::Order::kReady);
  sim::Placement placement;
  const auto of_set =
      *rc::gen::container<std::vector<DeviceIndex>>(AsIndex(graph.colocation_sets()), rc::gen::inRange(0, 3));
  for (const std::int32_t set : graph.colocation_set()) placement.device.push_back(of_set[AsIndex(set)]);

  const Simulated run = Simulate(graph, cluster, placement);
  sim::PipelineOrder order(graph);
  const auto ordered = order.Of(placement.device);
  sim::Placement given = placement;
  given.order.assign(ordered.begin(), ordered.end());
  const Simulated again = Simulate(graph, cluster, given);  // which checks the order
  RC_ASSERT(again.runtime == run.runtime);
  RC_ASSERT(again.peak == run.peak);
}

}  // namespace
}  // namespace stowplan::scenarios
