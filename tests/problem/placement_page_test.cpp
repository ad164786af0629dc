// What a page of a placement is drawn from, and what stands on it.
#include "problem/explain/placement_page.h"

#include <nlohmann/json.hpp>

#include "problem/explain/page_data.h"
#include "tests/problem/two_ops.h"
#include "tests/testing.h"

namespace stowplan::problem {
namespace {

using testing::TwoOps;
using Json = nlohmann::json;

TEST(PageData, LanesNodesAndMemoryOfTwoOps) {
  const TwoOps two;
  const Json data = Json::parse(PageData(two.Explain()));
  EXPECT_EQ(data["us"], 125);
  EXPECT_EQ(data["devices"], Json({"gpu0", "gpu1"}));
  ASSERT_EQ(data["nodes"]["parent"], Json({-1, 0, 1, 1}));  // the root, "scope", a, b
  EXPECT_EQ(data["nodes"]["device"], Json({-1, -1, 0, 1}));
  EXPECT_EQ(data["nodes"]["depth"], Json({0, 0, 0, 1}));
  EXPECT_EQ(data["edges"], Json({{"from", {2}}, {"to", {3}}, {"bytes", {1'000'000}}}));
  const double ticks = data["ticks"];
  ASSERT_EQ(data["lanes"].size(), 3u);  // two devices and the one direction that is used
  EXPECT_EQ(data["lanes"][1]["s"], Json({std::llround(ticks * 115 / 125)}));
  EXPECT_EQ(data["lanes"][2]["kind"], "link");
  EXPECT_EQ(data["lanes"][2]["name"], "wire to gpu1");
  EXPECT_EQ(data["path"]["k"], Json({0, 1, 0}));
  EXPECT_EQ(data["transfers"]["bytes"], Json({1'000'000}));
  EXPECT_EQ(data["memory"][1]["peak"], 1'000'192);
  EXPECT_EQ(data["memory"][1]["t"][0], std::llround(ticks * 10 / 125));
}

TEST(PlacementPage, VerdictFirstAndNoNameEndsItsScript) {
  const TwoOps two;
  const std::string page =
      PlacementPage(two.Explain(),
                    {.sentence = "Found by random after 2 of 3 samples",
                     .curve = {{1, 0, sim::FromMicros(200), 0, 0}, {2, 0, sim::FromMicros(125), 0, 0}},
                     .samples = 3},
                    {{"command", "stowplan place"}});
  const std::size_t verdict = page.find("125.0 us"), timeline = page.find("<h2>Timeline");
  EXPECT_LT(verdict, timeline);
  EXPECT_NE(timeline, std::string::npos);
  EXPECT_THAT(page, HasSubstr("proven: no placement takes less than 20.00 us"));
  EXPECT_THAT(page, HasSubstr("Found by random after 2 of 3 samples"));
  EXPECT_THAT(page, HasSubstr("Best so far"));
  EXPECT_THAT(page, Not(HasSubstr("<!--<script>")));
}

}  // namespace
}  // namespace stowplan::problem
