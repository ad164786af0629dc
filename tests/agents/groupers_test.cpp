// Every grouper of the table: a partition, colocation sets whole, units numbered by the topological order of
// their first ops, the same each time. And what each of them promises.
#include "agents/groupers/order_list.h"
#include "agents/random_numbers.h"
#include "agents/task.h"
#include "tests/agents/problems.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

using testing::Gt;

// Kahn's algorithm over the units.
bool IsAcyclic(const sim::OpGraph& graph, const Units& units) {
  std::vector<int> waiting(units.ops.size(), 0);
  std::vector<std::vector<UnitIndex>> next(units.ops.size());
  for (const UnitEdge& edge : CollectEdges(graph, units.unit_of_op)) {
    next[static_cast<std::size_t>(edge.from)].push_back(edge.to);
    ++waiting[static_cast<std::size_t>(edge.to)];
  }
  std::vector<UnitIndex> ready;
  for (UnitIndex u = 0; u < units.size(); ++u) {
    if (waiting[static_cast<std::size_t>(u)] == 0) ready.push_back(u);
  }
  std::size_t done = 0;
  for (; !ready.empty(); ++done) {
    const UnitIndex unit = ready.back();
    ready.pop_back();
    for (const UnitIndex to : next[static_cast<std::size_t>(unit)]) {
      if (--waiting[static_cast<std::size_t>(to)] == 0) ready.push_back(to);
    }
  }
  return done == units.ops.size();
}

void ExpectUnits(const Units& units, const sim::OpGraph& graph) {
  std::vector<UnitIndex> unit_of_op(graph.ops.size(), -1);
  for (UnitIndex u = 0; u < units.size(); ++u) {
    const auto& ops = units.ops[static_cast<std::size_t>(u)];
    ASSERT_FALSE(ops.empty());
    ASSERT_TRUE(std::is_sorted(ops.begin(), ops.end()));
    for (const sim::OpIndex op : ops) {
      ASSERT_EQ(unit_of_op[static_cast<std::size_t>(op)], -1);
      unit_of_op[static_cast<std::size_t>(op)] = u;
    }
  }
  EXPECT_EQ(unit_of_op, units.unit_of_op);
  std::vector<UnitIndex> unit_of_set(static_cast<std::size_t>(graph.colocation_sets()), -1);
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    UnitIndex& unit = unit_of_set[static_cast<std::size_t>(graph.colocation_set()[op])];
    if (unit < 0) unit = unit_of_op[op];
    ASSERT_EQ(unit, unit_of_op[op]) << "a colocation set is split";
  }
  UnitIndex next = 0;
  for (const sim::OpIndex op : graph.topological_order()) {
    const UnitIndex unit = unit_of_op[static_cast<std::size_t>(op)];
    ASSERT_LE(unit, next);
    if (unit == next) ++next;
  }
}

TEST(Groupers, PartitionRepeatablyAndKeepColocationSets) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto c = RandomCase(seed, {.ops = static_cast<int>(1 + seed), .gpus = 2});
    for (const std::string grouper :
         {"colocation", "none", "module(ops=3)", "neighbour(groups=5)", "stage", "tied(groups=5)",
          "chain(at=op)", "chain(at=module)", "chain(at=layer)", "layer", "whole_module(ops=3)"}) {
      const Units units = MakeUnits(grouper, *c->problem);
      ExpectUnits(units, c->graph);
      EXPECT_EQ(units.grouper, grouper);
      EXPECT_EQ(units.unit_of_op, MakeUnits(grouper, *c->problem).unit_of_op);
    }
  }
}

TEST(Groupers, TableAndNamesRoundTrip) {
  const auto c = TinyCase();
  for (const GrouperRow& row : Groupers()) {
    const std::string name = MakeUnits(row.name, *c->problem).grouper;
    EXPECT_EQ(MakeUnits(name, *c->problem).grouper, name);
    EXPECT_EQ(GrouperSettings(row.name).Canonical(), name);
    EXPECT_THROW(MakeUnits(std::string(row.name) + "(colour=red)", *c->problem), InputError);
  }
  EXPECT_THAT([&] { MakeUnits("metis", *c->problem); },
              ThrowsMessage<InputError>(HasSubstr("tied and whole_module")));
  EXPECT_THROW(MakeUnits("neighbour(groups=0)", *c->problem), InputError);
  EXPECT_EQ(GrouperSettings("").Canonical(), "colocation");
  EXPECT_EQ(GrouperSettings("tied(groups=3)").Canonical(), "tied(groups=3)");
  EXPECT_THROW(GrouperSettings("metis"), InputError);
}

TEST(Neighbour, MeetsTheCountAndMakesNoCycle) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const bool colocate = seed % 2 == 0;
    const auto c =
        RandomCase(seed, {.ops = 3 + static_cast<int>(seed % 37), .gpus = 1, .colocate = colocate});
    const Units sets = MakeUnits("colocation", *c->problem);
    for (const int groups : {1, 2, 4, 9, 100}) {
      const Units units = MakeUnits("neighbour(groups=" + std::to_string(groups) + ")", *c->problem);
      ExpectUnits(units, c->graph);
      EXPECT_EQ(units.size(), std::min(groups, sets.size()));
      if (IsAcyclic(c->graph, sets)) {
        EXPECT_TRUE(IsAcyclic(c->graph, units)) << groups << " groups";
      }
    }
  }
}

TEST(Tied, MeetsTheCount) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto c =
        RandomCase(seed, {.ops = 3 + static_cast<int>(seed % 67), .gpus = 1, .colocate = seed % 2 == 0});
    const Units sets = MakeUnits("colocation", *c->problem);
    for (const int groups : {1, 2, 5, 16, 100}) {
      const Units units = MakeUnits("tied(groups=" + std::to_string(groups) + ")", *c->problem);
      ExpectUnits(units, c->graph);
      EXPECT_EQ(units.size(), std::min(groups, sets.size()));
    }
  }
}

// Steps of a layer share its weights: a group is a layer, of each size alike. Neighbour merging mixes layers.
TEST(Tied, FindsTheLayersOfARecurrentModel) {
  const auto c = RecurrentCase(4, 7);
  const auto layers_of = [&](const std::string& grouper) {
    std::vector<std::size_t> layers;  // by group
    for (const auto& ops : MakeUnits(grouper, *c->problem).ops) {
      std::set<std::string> names;
      for (const sim::OpIndex op : ops) {
        const std::string& name = c->graph.ops[static_cast<std::size_t>(op)].name;
        names.insert(name.substr(0, name.find('_')));
      }
      layers.push_back(names.size());
    }
    return layers;
  };
  EXPECT_THAT(layers_of("tied(groups=4)"), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(layers_of("tied(groups=12)"), AllOf(SizeIs(12), Each(1u)));
  EXPECT_THAT(layers_of("neighbour(groups=4)"), Contains(Gt(1u)));
}

// a chain of 8, costs 1: the first pass merges links smallest first, so that no group grows far ahead of the
// others.
TEST(Neighbour, MergesChainsEvenly) {
  Case c;
  for (int i = 0; i < 8; ++i)
    c.Add("op" + std::to_string(i), {1},
          i > 0 ? std::vector<sim::OpIndex>{i - 1} : std::vector<sim::OpIndex>{}, 0);
  c.UseGpus(1);
  const Units units = MakeUnits("neighbour(groups=4)", c.Finish());
  EXPECT_THAT(units.ops,
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4, 5), ElementsAre(6, 7)));
}

// The smallest group is b; its heaviest edge leads to d, but a -> b -> d and a -> c -> d: {b, d} with c
// between a and it closes no cycle (c -> {b, d} only), {a, d} would.
TEST(Neighbour, TakesTheHeaviestEdgeThatClosesNoCycle) {
  Case c;
  c.Add("a", {50}, {}, 7600);
  sim::Op& b = c.Add("b", {1}, {0}, 76'000);
  b.outputs[0].bytes = 76'000;
  c.Add("c", {90}, {0}, 7600);
  c.Add("d", {99}, {1, 2}, 0);
  c.UseGpus(1);
  c.Finish();
  EXPECT_THAT(MakeUnits("neighbour(groups=3)", *c.problem).ops,
              ElementsAre(ElementsAre(0), ElementsAre(1, 3), ElementsAre(2)));

  // a (1 us) is the smallest, its heaviest edge leads straight to d, past b: merging them would close a -> b
  // -> d.
  Case skip;
  sim::Op& a = skip.Add("a", {1}, {}, 100);
  a.outputs.push_back({});
  a.outputs[1].bytes = 7600;
  skip.Add("b", {50}, {0}, 100);
  skip.Add("d", {90}, {1}, 100);
  skip.graph.ops[2].inputs.push_back({0, 1});
  skip.UseGpus(1);
  skip.Finish();
  EXPECT_THAT(MakeUnits("neighbour(groups=2)", *skip.problem).ops,
              ElementsAre(ElementsAre(0, 1), ElementsAre(2)));
}

TEST(Neighbour, MergesLonelyGroupsWhenNothingElseIsLeft) {
  Case c;
  for (int i = 0; i < 5; ++i) c.Add("op" + std::to_string(i), {1.0 + i}, {}, 0);
  c.UseGpus(1);
  c.Finish();
  // 1 + 2 = 3 is tied with op2, then the smaller number: {0, 1} + {2} = 6; the smallest two are then 4 and 5.
  EXPECT_THAT(MakeUnits("neighbour(groups=2)", *c.problem).ops,
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4)));
}

TEST(Neighbour, FollowsCyclesThatColocationForces) {
  Case c;  // forward 0 -> 1 -> 2, backward 3 -> 4 -> 5, each pair on one device
  for (int i = 0; i < 6; ++i) {
    c.Add("op" + std::to_string(i), {1},
          i > 0 ? std::vector<sim::OpIndex>{i - 1} : std::vector<sim::OpIndex>{}, 8)
        .colocate = "layer" + std::to_string(i < 3 ? i : 5 - i);
  }
  c.UseGpus(1);
  const Units units = MakeUnits("neighbour(groups=2)", c.Finish());
  EXPECT_THAT(units.ops, ElementsAre(ElementsAre(0, 1, 4, 5), ElementsAre(2, 3)))
      << "contiguous in the forward order";
}

TEST(Stage, TakesGroupNamesThenStages) {
  Case c;
  c.Add("a", {1}).group = "stem";
  c.Add("b", {1}, {0}).attributes = {{"stage", sim::Attribute{std::int64_t{4}}}};
  c.Add("c", {1}, {1}).attributes = {{"stage", sim::Attribute{4.0}}};
  sim::Op& d = c.Add("d", {1}, {2});
  d.group = "stem";
  d.attributes = {{"stage", sim::Attribute{std::int64_t{4}}}};
  c.Add("e", {1}, {3});
  c.Add("f", {1}, {4}).colocate = "x";
  sim::Op& g = c.Add("g", {1}, {5});
  g.colocate = "x";
  g.group = "head";
  c.Add("h", {1}, {6}).group = "head";
  c.UseGpus(1);
  EXPECT_THAT(MakeUnits("stage", c.Finish()).ops,
              ElementsAre(ElementsAre(0, 3), ElementsAre(1, 2), ElementsAre(4), ElementsAre(5, 6, 7)));
}

// encoder (4 of 11 ops) is one group of at most 4, decoder (6) is not: its children are groups, its own sum goes where its
// first input is computed, and so do the loss and the words, which are in no module. Backward ops belong where their
// forward ops do, what is named below an op belongs where that op does. Whatever the limit, half of all is too much.
TEST(Module, OpensWhatIsTooLargeAndLetsTheRestFollow) {
  Case c;
  c.Add("words", {1});                              // 0: a source, read by encoder
  c.Add("encoder/a/matmul", {1}, {0});              // 1
  c.Add("encoder/b.matmul", {1}, {1});              // 2
  c.Add("decoder/left/matmul", {1}, {2});           // 3
  c.Add("decoder/left/matmul/bias_add", {1}, {3});  // 4
  c.Add("decoder/right/0/matmul", {1}, {4});        // 5
  c.Add("decoder/right/1/matmul", {1}, {5});        // 6
  c.Add("decoder/sum", {1}, {4, 6});                // 7
  c.Add("loss", {1}, {7});                          // 8
  c.Add("gradients/decoder/right/1/matmul/input", {1}, {8}).phase = "backward";  // 9
  c.Add("gradients/encoder/a/matmul/input", {1}, {9}).phase = "backward";        // 10
  c.UseGpus(1);
  c.Finish();
  const auto coarse = ElementsAre(ElementsAre(0, 1, 2, 10), ElementsAre(3, 4, 7, 8), ElementsAre(5, 6, 9));
  EXPECT_THAT(MakeUnits("module(ops=4)", *c.problem).ops, coarse);
  EXPECT_THAT(MakeUnits("module", *c.problem).ops, coarse);
  EXPECT_THAT(MakeUnits("module(ops=2)", *c.problem).ops,
              ElementsAre(ElementsAre(0, 1, 10), ElementsAre(2), ElementsAre(3, 4, 7, 8), ElementsAre(5),
                          ElementsAre(6, 9)));
}

// Names without scopes spell no modules; colocation is what is left.
TEST(Module, LeavesColocationWhereNamesSpellNothing) {
  Case c;
  c.Add("a", {1}).colocate = "x";
  c.Add("b", {1}, {0});
  c.Add("c", {1}, {1}).colocate = "x";
  c.UseGpus(1);
  c.Finish();
  EXPECT_THAT(MakeUnits("module", *c.problem).ops, ElementsAre(ElementsAre(0, 2), ElementsAre(1)));
}

// Against a plain vector, through enough moves into one gap that labels are spread anew.
TEST(OrderList, KeepsTheOrderOfItsMoves) {
  constexpr OrderList::Item kItems = 40;
  OrderList list(kItems);
  std::vector<OrderList::Item> expected(kItems);
  std::iota(expected.begin(), expected.end(), 0);
  Rng rng(1, "order list");
  for (int step = 0; step < 3000; ++step) {
    const auto place = step % 2 == 0 ? OrderList::Item{7} : static_cast<OrderList::Item>(rng.Below(kItems));
    std::vector<OrderList::Item> moved;
    for (const OrderList::Item item : expected) {
      if (item != place && rng.Below(10) == 0) moved.push_back(item);
    }
    std::erase_if(expected, [&](OrderList::Item item) {
      return std::find(moved.begin(), moved.end(), item) != moved.end();
    });
    const bool behind = rng.Below(2) == 0;
    const auto at = std::find(expected.begin(), expected.end(), place) + (behind ? 1 : 0);
    expected.insert(at, moved.begin(), moved.end());
    if (behind)
      list.MoveBehind(moved, place);
    else
      list.MoveInFrontOf(moved, place);
    for (std::size_t i = 1; i < expected.size(); ++i)
      ASSERT_LT(list.label(expected[i - 1]), list.label(expected[i])) << "step " << step;
  }
}

}  // namespace
}  // namespace stowplan::agents
