// The conformance suite of interconnects: what every row of the table promises.
#include "sim/interconnect.h"

#include "sim/simulator.h"
#include "tests/sim/compare.h"
#include "tests/sim/random_case.h"
#include "tests/testing.h"

namespace stowplan::sim {
namespace {

Outcome RunWith(const RandomCase& c, const std::string& interconnect) {
  Cluster cluster = c.cluster;
  cluster.interconnect = interconnect;
  const Problem problem(c.graph, cluster, c.costs);
  return MakeSimulator(problem)->Run(c.placement, {RunOptions::Record::kTimeline, {}});
}

Picos LoneTransfer(const Cluster& cluster, const TransferTimes& t) {
  Picos latency = 0, moving = 0;
  for (const Cluster::Hop& hop : cluster.route(t.from, t.to)) {
    const Link& link = cluster.links[static_cast<std::size_t>(hop.link)];
    latency += LoneTime(link, 0);
    moving = std::max(moving, LoneTime(link, t.bytes) - LoneTime(link, 0));
  }
  return latency + moving;
}

class InterconnectConformance : public testing::TestWithParam<std::string> {};

// In a chain there is never more than one transfer.
TEST_P(InterconnectConformance, ALoneTransferIsExact) {
  std::size_t transfers = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const RandomCase c = MakeRandomCase(seed, {.max_ops = 20, .chain = true});
    for (const TransferTimes& t : RunWith(c, GetParam()).transfers) {
      ASSERT_EQ(t.start, t.queued) << PrintCase(c);
      ASSERT_EQ(t.end - t.start, LoneTransfer(c.cluster, t)) << PrintCase(c);
      ++transfers;
    }
  }
  EXPECT_GT(transfers, 500u);
}

TEST_P(InterconnectConformance, WithoutContentionAllAreEqual) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const RandomCase c = MakeRandomCase(seed, {.max_ops = 20, .chain = true});
    ASSERT_EQ("", FirstDifference(RunWith(c, "ideal"), RunWith(c, GetParam()), c.graph, c.cluster))
        << PrintCase(c);
  }
}

TEST_P(InterconnectConformance, NeverFasterThanIdeal) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const RandomCase c = MakeRandomCase(seed);
    for (const TransferTimes& t : RunWith(c, GetParam()).transfers) {
      ASSERT_GE(t.end - t.start, LoneTransfer(c.cluster, t)) << PrintCase(c);
    }
  }
}

TEST_P(InterconnectConformance, LinksCarryTheBytesOfTheTransfers) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const RandomCase c = MakeRandomCase(seed);
    const Outcome out = RunWith(c, GetParam());
    std::vector<Bytes> bytes(c.cluster.links.size());
    std::vector<double> least(c.cluster.links.size());  // time that the bytes take at the full width [ps]
    for (const TransferTimes& t : out.transfers) {
      for (const Cluster::Hop& hop : c.cluster.route(t.from, t.to)) {
        const auto l = static_cast<std::size_t>(hop.link);
        bytes[l] += t.bytes;
        least[l] += static_cast<double>(t.bytes) * 1e12 / static_cast<double>(c.cluster.links[l].bandwidth);
      }
    }
    for (std::size_t l = 0; l < bytes.size(); ++l) {
      ASSERT_EQ(bytes[l], out.links[l].bytes) << PrintCase(c);
      if (GetParam() == "ideal" || !c.cluster.links[l].curve.empty())
        continue;  // may carry more than its width
      ASSERT_GE(static_cast<double>(out.links[l].busy) * (1 + 1e-9) + 1e3, least[l])
          << "link " << l << PrintCase(c);
    }
  }
}

TEST_P(InterconnectConformance, SameInputSameBits) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const RandomCase c = MakeRandomCase(seed);
    ASSERT_EQ("", FirstDifference(RunWith(c, GetParam()), RunWith(c, GetParam()), c.graph, c.cluster));
  }
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const InterconnectRow& row : Interconnects()) names.emplace_back(row.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(All, InterconnectConformance, testing::ValuesIn(Names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace stowplan::sim
