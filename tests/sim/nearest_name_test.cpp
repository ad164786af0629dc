#include "sim/base/nearest_name.h"

#include "tests/testing.h"

namespace stowplan {
namespace {

const std::vector<std::string> kAgents = {"placeto", "local_search", "hierarchical",
                                          "m_etf",   "m_sct",        "mars"};

TEST(NearestName, ForgivesLettersThatDiffer) {
  EXPECT_EQ(NearestName("plcaeto", kAgents), "placeto") << "two swapped";
  EXPECT_EQ(NearestName("placetoo", kAgents), "placeto") << "one too many";
  EXPECT_EQ(NearestName("hierachical", kAgents), "hierarchical") << "one left out";
  EXPECT_EQ(NearestName("m_ets", kAgents), "m_etf") << "one changed";
}

TEST(NearestName, ForgivesCaseAndHyphens) {
  EXPECT_EQ(NearestName("Local-Search", kAgents), "local_search");
}

TEST(NearestName, TakesTheBeginningOfOneName) {
  EXPECT_EQ(NearestName("hier", kAgents), "hierarchical");
  EXPECT_EQ(NearestName("m", kAgents), "") << "begins three names";
}

TEST(NearestName, SaysNothingWhereNoneIsNear) {
  EXPECT_EQ(NearestName("zzzzzz", kAgents), "");
  EXPECT_EQ(NearestName("", kAgents), "");
  EXPECT_EQ(NearestName("placeto", {}), "");
}

TEST(NearestName, ComparesNoLongNames) {
  const std::string name(1000, 'n');
  EXPECT_EQ(NearestName(name, {name + "n"}), name + "n") << "which it begins";
  EXPECT_EQ(NearestName('m' + name, {name + 'm'}), "") << "a letter too long to be compared";
  EXPECT_EQ(NearestName('m' + name.substr(1), {name}), name);
}

TEST(NearestName, PrefersTheNearerOne) {
  EXPECT_EQ(NearestName("seed", {"seeds", "speed", "seed_"}), "seeds") << "the first of those equally near";
  EXPECT_EQ(NearestName("samples", {"sample", "samples_"}), "sample");
}

TEST(NearestName, StandsBehindTheWrongName) {
  EXPECT_EQ(DidYouMean("mar", kAgents), " (did you mean mars?)");
  EXPECT_EQ(DidYouMean("venus", kAgents), "");
}

}  // namespace
}  // namespace stowplan
