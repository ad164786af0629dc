// Estimates of layouts against what the papers of their parts derive, and the search for the fastest one.
#include "cost_models/cost_models.h"
#include "problem/layouts/layout_search.h"
#include "scenarios/scenarios.h"
#include "tests/testing.h"

namespace stowplan::problem {
namespace {

using scenarios::Layout;
using sim::Bytes;
using sim::Picos;

constexpr Picos kForward = 3'000'000, kBackward = 6'000'000;

// Equal layers that keep and weigh something.
RankCosts EqualLayers(int layers) {
  RankCosts costs;
  LayerCosts layer{.forward = kForward, .backward = kBackward};
  layer.memory = {.weights = 1000, .gradients = 1000, .optimizer = 2000, .activations = 10};
  costs.layers.assign(static_cast<std::size_t>(layers), layer);
  return costs;
}

sim::Cluster Hosts() {
  return scenarios::LoadCluster("h100_hosts(hosts=2)", cost_models::BuiltinCatalogue());
}

Layout Mesh(std::int64_t tensor, std::int64_t pipeline, std::int64_t data, std::int64_t micro_batches = 1) {
  Layout layout;
  layout.tensor = tensor;
  layout.pipeline = pipeline;
  layout.data = data;
  layout.micro_batches = micro_batches;
  return layout;
}

// Narayanan et al. 2021, section 2.2: m + p - 1 turns of a stage, but for what stages pass one another.
TEST(LayoutEstimates, PipelinesTakeATurnForEachMicroBatchAndEachOtherStage) {
  const sim::Cluster cluster = Hosts();
  const RankCosts costs = EqualLayers(8);
  for (const std::int64_t stages : {1, 2, 4, 8}) {
    for (const std::int64_t micro_batches : {1, 4, 16}) {
      const LayoutEstimate made = EstimateLayout(Mesh(1, stages, 1, micro_batches), costs, cluster);
      const Picos turn = 8 / stages * (kForward + kBackward);
      EXPECT_EQ(made.time - made.communication, (micro_batches + stages - 1) * turn);
    }
  }
}

// 1F1B keeps the activations of as many micro-batches on the first stage as there are stages, GPipe those of all.
TEST(LayoutEstimates, SchedulesKeepActivations) {
  Layout layout = Mesh(1, 4, 1, 16);
  EXPECT_EQ(EstimateLayout(layout, EqualLayers(8), Hosts()).memory.activations, 4 * 2 * 10);
  layout.schedule = "gpipe";
  EXPECT_EQ(EstimateLayout(layout, EqualLayers(8), Hosts()).memory.activations, 16 * 2 * 10);
}

// Rajbhandari et al. 2020, figure 1.
TEST(LayoutEstimates, ZeroDividesState) {
  Layout layout = Mesh(1, 1, 8);
  const auto memory = [&](int zero) {
    layout.zero = zero;
    return EstimateLayout(layout, EqualLayers(8), Hosts()).memory;
  };
  EXPECT_EQ(memory(0).persistent() + memory(0).gradients, 8 * 4000);
  EXPECT_EQ(memory(1).persistent() + memory(1).gradients, 8 * (2000 + 2000 / 8));
  // And two layers' weights and one's gradients, whole.
  EXPECT_EQ(memory(3).persistent() + memory(3).gradients, 8 * 4000 / 8 + 3 * 1000);
}

TEST(LayoutEstimates, RingsTakeTwiceAsLongForASumAsForItsParts) {
  const sim::Cluster cluster = Hosts();
  const Bytes bytes = Bytes{1} << 26;
  EXPECT_EQ(RingTime(cluster, bytes, 2, 0, 1, 8), 2 * RingTime(cluster, bytes, 1, 0, 1, 8));
  EXPECT_GT(RingTime(cluster, bytes, 1, 0, 8, 2), RingTime(cluster, bytes, 1, 0, 1, 2)) << "between hosts";
  EXPECT_EQ(RingTime(cluster, bytes, 1, 0, 1, 1), 0);
}

constexpr const char* kModel =
    "llama(layers=4,batch=8,hidden=512,heads=8,kv_heads=2,feed_forward=1024,sequence=256,vocabulary=4096)";

ProblemSource On(const std::string& cluster) {
  ProblemSource source;
  source.graph = kModel;
  source.cluster = cluster;
  return source;
}

TEST(LayoutSearch, TriesEveryMesh) {
  const LayoutSearchResult found = FindLayouts(On("h100(gpus=4)"), {.simulated = 4});
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> meshes;
  int simulated = 0;
  for (const FoundLayout& one : found.layouts) {
    EXPECT_EQ(one.layout.ranks(), 4);
    EXPECT_LE(one.peak, found.capacity);
    EXPECT_GT(one.model_flops_use, 0);
    EXPECT_LT(one.model_flops_use, 1);
    meshes.emplace(one.layout.tensor, one.layout.pipeline, one.layout.data);
    simulated += one.simulated.has_value();
  }
  // Not with 4 tensor ranks, which do not divide the 2 heads of keys.
  EXPECT_EQ(meshes.size(), 5U);
  ASSERT_EQ(found.refused.size(), 1U);
  EXPECT_EQ(simulated, 4);
  EXPECT_TRUE(
      std::is_sorted(found.layouts.begin(), found.layouts.begin() + 4,
                     [](const FoundLayout& a, const FoundLayout& b) { return a.simulated < b.simulated; }));
  EXPECT_EQ(found.samples, 8);
  EXPECT_EQ(found.tokens, 8 * 256);
}

// Of small GPUs only what is divided fits, and what does not is told by how much.
TEST(LayoutSearch, LeavesOutWhatDoesNotFit) {
  ProblemSource source = On("h100(gpus=4)");
  source.memory = {"gpu=300MiB"};
  source.reserve = "1MiB";
  const LayoutSearchResult found = FindLayouts(source, {.simulated = 0});
  ASSERT_FALSE(found.too_large.empty());
  for (const FoundLayout& one : found.layouts) EXPECT_LE(one.peak, Bytes{299} << 20);
  for (const FoundLayout& one : found.too_large) {
    EXPECT_GT(one.peak, Bytes{299} << 20);
    EXPECT_GE(one.estimate.peak, one.estimate.memory.persistent());
  }
}

TEST(LayoutSearch, RefusesUnequalGpus) {
  EXPECT_THROW(FindLayouts(On("workstation(gpus=2)"), {}), InputError);
}

}  // namespace
}  // namespace stowplan::problem
