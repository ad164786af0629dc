#include "agents/rl/placeto/placeto_network.h"

#include <ATen/ATen.h>

#include "tests/agents/rl/gradient_check.h"
#include "tests/testing.h"

namespace stowplan::agents::rl {
namespace {

// 0 -> 1 -> 3, 0 -> 2 -> 3, 4 alone: each relation occurs.
UnitGraph Diamond() {
  return UnitGraph(5, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
}

TEST(Mlp, GradientOfOneAndOfTwoCopies) {
  Rng init(3, "init");
  const Mlp one({3, 4, 2}, 1, at::kDouble, init);
  const Mlp two({3, 4, 2}, 2, at::kDouble, init);
  Shake(one.parameters());
  Shake(two.parameters());
  const at::Tensor weights = RandomTensor({5, 2}, 1);
  at::Tensor flat = RandomTensor({5, 3}, 2).set_requires_grad(true);
  at::Tensor pair = RandomTensor({2, 5, 3}, 3).set_requires_grad(true);
  Tensors all = one.parameters();
  all.push_back(flat);
  ExpectGradient([&] { return (one.Forward(flat) * weights).sum(); }, all, 100);
  all = two.parameters();
  all.push_back(pair);
  ExpectGradient([&] { return (two.Forward(pair) * weights).sum(); }, all, 100);
}

TEST(Mlp, CopiesAreApart) {
  Rng init(3, "init");
  const Mlp two({3, 4, 2}, 2, at::kDouble, init);
  const at::Tensor x = RandomTensor({5, 3}, 2);
  const at::Tensor both = two.Forward(at::stack({x, x}));
  const Tensors& p = two.parameters();
  for (int copy = 0; copy < 2; ++copy) {
    const at::Tensor hidden = (at::mm(x, p[0][copy]) + p[1][copy]).relu();
    EXPECT_TRUE(at::allclose(both[copy], at::mm(hidden, p[2][copy]) + p[3][copy]));
  }
  EXPECT_FALSE(at::allclose(both[0], both[1]));
}

TEST(Mlp, GlorotRangeAndZeroBias) {
  Rng init(3, "init");
  const Mlp mlp({40, 60}, 1, at::kFloat, init);
  const double range = std::sqrt(6.0 / 100);
  EXPECT_LE(mlp.parameters()[0].abs().max().item<double>(), range);
  EXPECT_GT(mlp.parameters()[0].abs().max().item<double>(), 0.95 * range);
  EXPECT_EQ(mlp.parameters()[1].abs().max().item<double>(), 0);
}

// The published program has 15,962 for two devices, 26,338 for four, without the memory feature (5 + D
// features).
TEST(PlacetoNetwork, CountsOfParameters) {
  Rng init(1, "init");
  EXPECT_EQ(CountElements(PlacetoNetwork({.features = 7, .devices = 2}, at::kFloat, init).parameters()),
            15'962);
  EXPECT_EQ(CountElements(PlacetoNetwork({.features = 9, .devices = 4}, at::kFloat, init).parameters()),
            26'338);
}

TEST(PlacetoNetwork, GradientOfAllParametersAndInputs) {
  const UnitGraph units = Diamond();
  const PlacetoGraph graph(units, true, at::kDouble);
  Rng init(2, "init");
  const PlacetoNetwork network({.features = 7, .devices = 2, .rounds = 3, .reach = 2, .offers = 2},
                               at::kDouble, init);
  Shake(network.parameters());
  const at::Tensor offered = RandomTensor({3, 2, 2}, 6);
  at::Tensor features = RandomTensor({5, 3, 7}, 4).set_requires_grad(true);
  const std::vector<UnitIndex> current = {0, 1, 4};
  const at::Tensor weights = RandomTensor({3, 2}, 5);
  Tensors all = network.parameters();
  all.push_back(features);
  ExpectGradient([&] { return (network.Read(graph, features, current).With(offered) * weights).sum(); }, all,
                 6);
}

// The same network written unit by unit, from the description in the header and not from the code.
at::Tensor SlowLogits(const PlacetoNetwork& network, const UnitGraph& units, const at::Tensor& x,
                      UnitIndex v) {
  const Tensors& p = network.parameters();
  const auto gathered = [&network](const at::Tensor& sum, int terms) {
    return network.sizes().mean ? sum / std::max(terms, 1) : sum;
  };
  const auto layers = [&p](const at::Tensor& in, std::size_t first, std::size_t count, int copy) {
    at::Tensor out = in;
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) out = out.relu();
      out = at::mm(out, p[first + 2 * i][copy]) + p[first + 2 * i + 1][copy];
    }
    return out;
  };
  const UnitIndex n = units.size();
  std::vector<at::Tensor> e;
  for (UnitIndex u = 0; u < n; ++u) e.push_back(layers(x[u].view({1, -1}), 0, 3, 0));
  std::vector<std::vector<at::Tensor>> result(2);
  for (int direction = 0; direction < 2; ++direction) {
    std::vector<at::Tensor> now = e;
    for (int round = 0; round < network.sizes().rounds; ++round) {
      std::vector<at::Tensor> next = e;
      for (UnitIndex u = 0; u < n; ++u) {
        at::Tensor sum;
        int terms = 0;
        for (const auto& [from, to] : units.edges()) {
          if ((direction == 0 ? to : from) != u) continue;
          const auto other = static_cast<std::size_t>(direction == 0 ? from : to);
          const at::Tensor sent = layers(now[other], 6, 2, direction).relu();
          sum = sum.defined() ? sum + sent : sent;
          ++terms;
        }
        if (sum.defined())
          next[static_cast<std::size_t>(u)] =
              next[static_cast<std::size_t>(u)] + layers(gathered(sum, terms), 10, 2, direction).relu();
      }
      now = next;
    }
    result[static_cast<std::size_t>(direction)] = now;
  }
  std::vector<at::Tensor> embedding;
  for (std::size_t u = 0; u < e.size(); ++u) embedding.push_back(at::cat({result[0][u], result[1][u]}, 1));
  std::vector<at::Tensor> parts;
  for (int pool = 0; pool < 3; ++pool) {
    at::Tensor sum = at::zeros_like(embedding[0]);
    int terms = 0;
    for (UnitIndex u = 0; u < n; ++u) {
      const bool before = units.Reaches(u, v), after = units.Reaches(v, u);
      const bool in = u != v && (pool == 0 ? before : pool == 1 ? after : !before && !after);
      if (!in) continue;
      ++terms;
      sum = sum + layers(embedding[static_cast<std::size_t>(u)], 14, 2, pool).relu();
    }
    parts.push_back(layers(gathered(sum, terms), 18, 2, pool).relu());
  }
  parts.push_back(embedding[static_cast<std::size_t>(v)]);
  return layers(at::cat(parts, 1), 22, 3, 0);
}

TEST(PlacetoNetwork, BatchEqualsTheNetworkWrittenUnitByUnit) {
  const UnitGraph units = Diamond();
  const PlacetoGraph graph(units, true, at::kDouble);
  for (const bool mean : {false, true}) {
    Rng init(2, "init");
    const PlacetoNetwork network({.features = 7, .devices = 2, .rounds = 4, .mean = mean}, at::kDouble, init);
    Shake(network.parameters());
    const at::Tensor features = RandomTensor({5, 5, 7}, 4);
    // One unit in turn in each of five states, then two.
    for (const std::vector<UnitIndex>& current :
         {std::vector<UnitIndex>{3, 0, 4, 2, 1}, std::vector<UnitIndex>{3, 0, 1, 4, 2, 2, 0, 1, 4, 3}}) {
      const at::Tensor logits = network.Read(graph, features, current).With();
      ASSERT_EQ(logits.size(0), static_cast<std::int64_t>(current.size()));
      for (std::size_t i = 0; i < current.size(); ++i) {
        const auto state = static_cast<std::int64_t>(i / (current.size() / 5));
        const at::Tensor slow = SlowLogits(network, units, features.select(1, state), current[i]);
        const at::Tensor fast = logits[static_cast<std::int64_t>(i)];
        EXPECT_TRUE(at::allclose(fast, slow[0], 1e-10, 1e-12)) << fast << slow;
      }
    }
  }
}

// Features end with the one-hot device: 2 in state 0, 1 in state 1.
TEST(PlacetoNetwork, ReachBoundsTheLogitsAndStayFavoursThePresentDevice) {
  const UnitGraph units = Diamond();
  const PlacetoGraph graph(units, true, at::kDouble);
  Rng init(2, "init"), same(2, "init");
  const PlacetoNetwork free({.features = 8, .devices = 3}, at::kDouble, init);
  const PlacetoNetwork bounded({.features = 8, .devices = 3, .reach = 0.1}, at::kDouble, same);
  const at::Tensor features = 9 * RandomTensor({5, 2, 8}, 4);
  features.slice(2, 5) = 0;
  features.select(1, 0).select(1, 7) = 1;
  features.select(1, 1).select(1, 6) = 1;
  const std::vector<UnitIndex> current = {3, 1};
  const at::Tensor logits = free.Read(graph, features, current).With();
  EXPECT_GT(logits.abs().max().item<double>(), 0.1);
  EXPECT_TRUE(at::allclose(bounded.Read(graph, features, current).With(), 0.1 * (logits / 0.1).tanh()));
  const at::Tensor present = at::tensor({0.0, 0.0, 1.0, 0.0, 1.0, 0.0}, at::kDouble).view({2, 3});
  EXPECT_TRUE(at::allclose(free.Read(graph, features, current, 4).With(), logits + 4 * present));
}

TEST(PlacetoNetwork, AFreshOneReadsNothingFromOffers) {
  const UnitGraph units = Diamond();
  const PlacetoGraph graph(units, true, at::kDouble);
  Rng init(2, "init"), same(2, "init");
  const PlacetoNetwork told({.features = 8, .devices = 3, .offers = 2}, at::kDouble, init);
  const PlacetoNetwork untold({.features = 8, .devices = 3}, at::kDouble, same);
  const at::Tensor features = RandomTensor({5, 2, 8}, 4), offered = RandomTensor({2, 3, 2}, 5);
  const std::vector<UnitIndex> current = {3, 1};
  const PlacetoNetwork::Preferences read = told.Read(graph, features, current);
  EXPECT_TRUE(at::equal(read.With(offered), untold.Read(graph, features, current).With()));
  // A bias of 4 on the second number alone.
  at::NoGradGuard no_grad;
  told.parameters().back()[1] = 4;
  const PlacetoNetwork::Preferences biased = told.Read(graph, features, current);
  EXPECT_TRUE(at::allclose(biased.With(offered), read.With(offered) + 4 * offered.select(2, 1)));
}

TEST(PlacetoNetwork, OneThatFollowsOffersAddsThemToTheSameLogits) {
  const UnitGraph units = Diamond();
  const PlacetoGraph graph(units, true, at::kDouble);
  Rng init(2, "init"), same(2, "init");
  const PlacetoNetwork greedy({.features = 8, .devices = 3, .offers = 2, .follows = {10, 6}}, at::kDouble,
                              init);
  const PlacetoNetwork untold({.features = 8, .devices = 3}, at::kDouble, same);
  const at::Tensor features = RandomTensor({5, 2, 8}, 4), offered = RandomTensor({2, 3, 2}, 5);
  const std::vector<UnitIndex> current = {3, 1};
  EXPECT_TRUE(at::allclose(
      greedy.Read(graph, features, current).With(offered),
      untold.Read(graph, features, current).With() + 10 * offered.select(2, 0) + 6 * offered.select(2, 1)));
}

TEST(PlacetoNetwork, OfOneUnitInTurnItHasARowForEachState) {
  const UnitGraph units = Diamond();
  Rng init(2, "init");
  const PlacetoNetwork network({.features = 8, .devices = 3, .offers = 2}, at::kDouble, init);
  Shake(network.parameters());
  const std::vector<UnitIndex> current = {3, 1, 2, 0};  // two of each state
  const at::Tensor features = RandomTensor({5, 2, 8}, 4), offered = RandomTensor({4, 3, 2}, 5);
  const PlacetoNetwork::Preferences all =
      network.Read(PlacetoGraph(units, true, at::kDouble), features, current, 4);
  for (const std::int64_t i : {0, 1}) {
    const at::Tensor rows = at::tensor({i, i + 2});
    EXPECT_TRUE(at::equal(all.OfUnit(i, 2).With(offered.index_select(0, rows)),
                          all.With(offered).index_select(0, rows)));
  }
}

TEST(PlacetoNetwork, WithoutTheGraphEdgesDoNotMatter) {
  const UnitGraph units = Diamond(), none(5, {});
  Rng init(2, "init");
  const PlacetoNetwork network({.features = 7, .devices = 2}, at::kDouble, init);
  Shake(network.parameters());
  const at::Tensor features = RandomTensor({5, 2, 7}, 4);
  const std::vector<UnitIndex> current = {3, 1};
  const at::Tensor hidden = network.Read(PlacetoGraph(units, false, at::kDouble), features, current).With();
  EXPECT_TRUE(
      at::equal(hidden, network.Read(PlacetoGraph(none, true, at::kDouble), features, current).With()));
  EXPECT_FALSE(
      at::allclose(hidden, network.Read(PlacetoGraph(units, true, at::kDouble), features, current).With()));
}

TEST(PlacetoNetwork, OneUnitAlone) {
  const UnitGraph units(1, {});
  Rng init(2, "init");
  const PlacetoNetwork network({.features = 7, .devices = 2}, at::kDouble, init);
  const std::vector<UnitIndex> current = {0, 0};
  at::Tensor features = RandomTensor({1, 2, 7}, 4).set_requires_grad(true);
  Tensors all = network.parameters();
  const at::Tensor logits = network.Read(PlacetoGraph(units, true, at::kDouble), features, current).With();
  EXPECT_EQ(logits.sizes(), (at::IntArrayRef{2, 2}));
  for (const at::Tensor& gradient : Gradients(logits.square().sum(), all))
    EXPECT_TRUE(gradient.isfinite().all().item<bool>());
}

}  // namespace
}  // namespace stowplan::agents::rl
