// Routes: least sum of latencies + 1 MiB / narrowest bandwidth, then fewest links, then file
// order; switches and CPUs forward, accelerators only where a route by hand says so.
#include "tests/sim/random_case.h"
#include "tests/sim/world.h"
#include "tests/testing.h"

namespace stowplan::sim {
namespace {

using Links = std::vector<std::int32_t>;

Links LinksOf(const Cluster& cluster, DeviceIndex from, DeviceIndex to) {
  Links links;
  for (const Cluster::Hop& hop : cluster.route(from, to)) links.push_back(hop.link);
  return links;
}

Links RouteOf(World& w, DeviceIndex from, DeviceIndex to) {
  w.cluster.Finish();
  return LinksOf(w.cluster, from, to);
}

TEST(Routes, WeighLatencyAgainstBandwidth) {
  // Over the switch: 5 + 5 + 1 MiB / 10 GB/s = 114.8576 us. Directly: 1 MiB at 10 GB/s and 9.999 or 10.001
  // us.
  for (const auto& [latency, links] : {std::pair{9'999'999, Links{0}}, std::pair{10'000'001, Links{1, 2}}}) {
    World w;
    w.Gpu();
    w.Gpu();
    const auto center = w.AddSwitch();
    w.Connect(0, 1).latency = latency;
    w.Connect(0, center);
    w.Connect(center, 1);
    EXPECT_EQ(RouteOf(w, 0, 1), links);
  }
}

TEST(Routes, TheNarrowestLinkDecides) {
  // 1 MiB / 1 GB/s = 1048.576 us on any link of a route is paid once: two slow links are as good as one.
  World w;
  w.Gpu();
  w.Gpu();
  const auto center = w.AddSwitch();
  Link& direct = w.Connect(0, 1);
  direct.bandwidth = 1'000'000'000;
  direct.latency = 3 * kUs;
  for (const std::int32_t end : {0, 1}) {
    Link& link = w.Connect(end, center);
    link.bandwidth = 1'000'000'000;
    link.latency = kUs;
  }
  EXPECT_EQ(RouteOf(w, 0, 1), (Links{1, 2}));  // 2 us against 3
}

TEST(Routes, EqualCostPrefersFewerLinks) {
  World w;
  w.Gpu();
  w.Gpu();
  const auto center = w.AddSwitch();
  w.Connect(0, center);
  w.Connect(center, 1);
  w.Connect(0, 1).latency = 10 * kUs;
  EXPECT_EQ(RouteOf(w, 0, 1), (Links{2}));
}

TEST(Routes, ThenFileOrder) {
  World w;
  w.Gpu();
  w.Gpu();
  w.Connect(1, 0);
  w.Connect(0, 1);
  EXPECT_EQ(RouteOf(w, 0, 1), (Links{0}));
  EXPECT_FALSE(w.cluster.route(0, 1)[0].forward);
  EXPECT_TRUE(w.cluster.route(1, 0)[0].forward);
}

TEST(Routes, CpusForwardAndAcceleratorsDoNot) {
  for (const bool cpu : {true, false}) {
    World w;
    w.Gpu();
    cpu ? w.Cpu() : w.Gpu();
    w.Gpu();
    w.Connect(0, 1);
    w.Connect(1, 2);
    if (cpu) {
      EXPECT_EQ(RouteOf(w, 0, 2), (Links{0, 1}));
    } else {
      EXPECT_THROW(w.cluster.Finish(), InputError);
      w.cluster.routes = {{0, 2, {0, 1}}, {2, 0, {1, 0}}};
      EXPECT_EQ(RouteOf(w, 2, 0), (Links{1, 0}));
    }
  }
}

TEST(Routes, ByHandReplacesTheSearch) {
  World w;
  for (int i = 0; i < 3; ++i) w.Gpu();
  w.Connect(0, 1);
  w.Connect(1, 2);
  w.Connect(0, 2);
  w.cluster.routes = {{0, 2, {0, 1}}};
  EXPECT_EQ(RouteOf(w, 0, 2), (Links{0, 1}));
  EXPECT_EQ(LinksOf(w.cluster, 2, 0), (Links{2}));  // one direction only
}

TEST(Routes, OneForEachPairOfDevices) {
  World w;
  w.Gpu();
  w.Gpu();
  w.Connect(0, 1);
  w.Connect(0, 1);
  w.cluster.routes = {{0, 1, {1}}, {1, 0, {0}}};
  EXPECT_EQ(RouteOf(w, 0, 1), (Links{1}));
  w.cluster.routes.push_back({0, 1, {0}});
  EXPECT_THROW(w.cluster.Finish(), InputError);
}

// A transfer holds all link directions of its route, so none may come twice.
TEST(Routes, TakeNoLinkDirectionTwice) {
  World w;
  for (int i = 0; i < 3; ++i) w.Gpu();
  w.Connect(0, 1);
  w.Connect(1, 2);
  w.Connect(0, 2);
  w.cluster.routes = {{0, 1, {0, 0, 0}}};
  EXPECT_THROW(w.cluster.Finish(), InputError);
  w.cluster.routes = {{0, 2, {0, 0, 2}}};  // out and back
  EXPECT_EQ(RouteOf(w, 0, 2), (Links{0, 0, 2}));
  w.cluster.links[0].duplex = Duplex::kHalf;
  EXPECT_THROW(w.cluster.Finish(), InputError);
}

// A walk is a route unless it ends where it began, at a switch, or takes a link direction twice: a half-duplex link out and
// back is one direction.
TEST(Routes, AreRefusedExactlyWhereAWalkMayNotBeOne) {
  int refused = 0, taken = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Dice dice(seed);
    const RandomCase c = MakeRandomCase(dice, {.max_ops = 1, .least_devices = 2});
    if (c.cluster.links.empty()) continue;
    const Route walk = RandomWalk(c.cluster, dice);
    std::set<std::pair<std::int32_t, std::int32_t>> directions;  // (link, the end it starts from)
    std::int32_t at = walk.from;
    for (const std::int32_t l : walk.via) {
      const Link& link = c.cluster.links[static_cast<std::size_t>(l)];
      directions.emplace(l, link.duplex == Duplex::kHalf ? 0 : at);
      at = link.ends[0] + link.ends[1] - at;
    }
    const bool may =
        at == walk.to && at < c.cluster.size() && at != walk.from && directions.size() == walk.via.size();
    if (may) {
      EXPECT_EQ(c.cluster.Follow(walk).size(), walk.via.size()) << PrintCase(c);
    } else {
      EXPECT_THROW(c.cluster.Follow(walk), InputError) << PrintCase(c);
    }
    ++(may ? taken : refused);
  }
  EXPECT_GT(taken, 100);
  EXPECT_GT(refused, 100);
}

// Every simple path, the best by the rule.
class AllPaths {
 public:
  AllPaths(const Cluster& cluster, DeviceIndex from, DeviceIndex to)
      : cluster_(cluster), from_(from), to_(to) {
    Walk(from, 0, std::numeric_limits<std::int64_t>::max());
  }
  Links best() const { return std::get<2>(*best_); }

 private:
  void Walk(std::int32_t at, Picos latency, std::int64_t narrowest) {
    if (at == to_) {
      const auto mebibyte =
          static_cast<Picos>((Bytes{1} << 20) * 1e12L / static_cast<long double>(narrowest) + 0.5L);
      const std::tuple candidate(latency + mebibyte, links_.size(), links_);
      if (!best_ || candidate < *best_) best_ = candidate;
      return;
    }
    const bool forwards = at >= cluster_.size() ||
                          cluster_.devices[static_cast<std::size_t>(at)].device_class == DeviceClass::kCpu;
    if (at != from_ && !forwards) return;
    nodes_.push_back(at);
    for (std::size_t l = 0; l < cluster_.links.size(); ++l) {
      const Link& link = cluster_.links[l];
      if (link.ends[0] != at && link.ends[1] != at) continue;
      const std::int32_t next = link.ends[0] == at ? link.ends[1] : link.ends[0];
      if (std::find(nodes_.begin(), nodes_.end(), next) != nodes_.end()) continue;
      links_.push_back(static_cast<std::int32_t>(l));
      Walk(next, latency + link.latency, std::min(narrowest, link.bandwidth));
      links_.pop_back();
    }
    nodes_.pop_back();
  }

  const Cluster& cluster_;
  const DeviceIndex from_, to_;
  Links links_;
  std::vector<std::int32_t> nodes_;
  std::optional<std::tuple<Picos, std::size_t, Links>> best_;
};

TEST(Routes, AreTheBestOfAllPaths) {
  int routes = 0, longer = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const RandomCase c = MakeRandomCase(seed);
    if (c.cluster.links.empty() || !c.cluster.routes.empty()) continue;
    for (DeviceIndex from = 0; from < c.cluster.size(); ++from) {
      for (DeviceIndex to = 0; to < c.cluster.size(); ++to) {
        if (from == to) continue;
        const Links expected = AllPaths(c.cluster, from, to).best();
        ASSERT_EQ(LinksOf(c.cluster, from, to), expected) << from << " to " << to << "\n" << PrintCase(c);
        ++routes;
        longer += expected.size() > 1;
      }
    }
  }
  EXPECT_GT(routes, 1000);
  EXPECT_GT(longer, 300);
}

// Accelerators beside what there is change no route, but so many that routes are found when they are asked for.
TEST(Routes, AreTheSameWhereTheyAreFoundWhenAskedFor) {
  constexpr DeviceIndex kMore = kMaxPaired;
  int routes = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const RandomCase c = MakeRandomCase(seed);
    if (c.cluster.links.empty() || !c.cluster.routes.empty() || c.cluster.switches.empty()) continue;
    Cluster large = c.cluster;
    for (Link& link : large.links)
      for (auto& end : link.ends) end += end >= c.cluster.size() ? kMore : 0;
    for (DeviceIndex i = 0; i < kMore; ++i) {
      large.devices.push_back({.name = "more" + std::to_string(i), .kind = "gpu", .memory = 1});
      large.links.push_back({.name = "to more" + std::to_string(i),
                             .ends = {c.cluster.size() + i, c.cluster.size() + kMore},
                             .bandwidth = 1'000'000'000});
    }
    try {
      large.Finish();
    } catch (const InputError&) {
      continue;  // not all devices reach that switch
    }
    for (DeviceIndex from = 0; from < c.cluster.size(); ++from) {
      for (DeviceIndex to = 0; to < c.cluster.size(); ++to) {
        ASSERT_EQ(LinksOf(large, from, to), LinksOf(c.cluster, from, to)) << from << " to " << to << "\n"
                                                                          << PrintCase(c);
        ++routes;
      }
    }
    EXPECT_THAT(large.route(large.size() - 1, large.size() - 2), ::testing::SizeIs(2));
  }
  EXPECT_GT(routes, 200);
}

// Two links at every stage, the one that comes first in the file slower by a different amount each time: 2^40 paths, of
// which only one is ever worth keeping.
TEST(Routes, DoNotWalkEveryPathOfParallelLinks) {
  constexpr int kStages = 40;
  Cluster cluster;
  cluster.devices = {{.name = "a", .kind = "gpu", .memory = 1}, {.name = "b", .kind = "gpu", .memory = 1}};
  for (int i = 1; i < kStages; ++i) cluster.switches.push_back("s" + std::to_string(i));
  for (int i = 0; i < kStages; ++i) {
    const std::int32_t left = i == 0 ? 0 : i + 1;
    const std::int32_t right = i + 1 == kStages ? 1 : i + 2;
    for (const Picos latency : {(Picos{1} << (i / 2)) + 2, Picos{1}}) {
      cluster.links.push_back({.name = "l" + std::to_string(cluster.links.size()),
                               .ends = {left, right},
                               .bandwidth = 1'000'000'000,
                               .latency = latency});
    }
  }
  cluster.Finish();
  Links expected;
  for (int i = 0; i < kStages; ++i) expected.push_back(2 * i + 1);
  EXPECT_EQ(LinksOf(cluster, 0, 1), expected);
}

}  // namespace
}  // namespace stowplan::sim
