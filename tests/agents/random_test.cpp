#include "agents/random_numbers.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

// The first numbers of the authors' C programs: xoshiro256++ from the state 1, 2, 3, 4, SplitMix64 from
// 1234567.
TEST(Rng, IsXoshiro256PlusPlus) {
  Rng rng(Rng::State{1, 2, 3, 4});
  EXPECT_EQ(rng.Next(), 41943041u);
  EXPECT_EQ(rng.Next(), 58720359u);
  EXPECT_EQ(rng.Next(), 3588806011781223u);
  EXPECT_EQ(rng.Next(), 3591011842654386u);
  EXPECT_EQ(Mix(1234567), 6457827717110365317u);
}

TEST(Rng, StreamsAreToldApartBySeedAndName) {
  EXPECT_EQ(Rng(1, "start").Next(), Rng(1, "start").Next());
  EXPECT_NE(Rng(1, "start").Next(), Rng(2, "start").Next());
  EXPECT_NE(Rng(1, "start").Next(), Rng(1, "moves").Next());
}

TEST(Rng, GoesOnFromItsState) {
  Rng rng(7, "x");
  rng.Next();
  Rng copy(rng.state());
  EXPECT_EQ(rng.Next(), copy.Next());
}

TEST(Rng, DrawsEveryValueEquallyOften) {
  Rng rng(3, "x");
  std::vector<int> count(6, 0);
  for (int i = 0; i < 60'000; ++i) ++count[static_cast<std::size_t>(rng.Below(6))];
  // 10,000 expected, standard deviation sqrt(60,000 * 1/6 * 5/6) = 91; five of them.
  for (const int n : count) EXPECT_NEAR(n, 10'000, 456);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double u = rng.Uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.0145);  // five standard deviations of sqrt(1/12) / 100
}

TEST(Rng, ShuffleKeepsTheItems) {
  Rng rng(3, "x");
  std::vector<int> items(50);
  std::iota(items.begin(), items.end(), 0);
  const std::vector<int> before = items;
  rng.Shuffle(items);
  EXPECT_NE(items, before);
  std::sort(items.begin(), items.end());
  EXPECT_EQ(items, before);
}

}  // namespace
}  // namespace stowplan::agents
