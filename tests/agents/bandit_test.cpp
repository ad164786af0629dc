// Whose turn it is.
#include "agents/search/bandit.h"

#include "tests/testing.h"

namespace stowplan::agents {
namespace {

TEST(Bandit, AsksEachOnceThenMostlyWhoGains) {
  Bandit bandit(3);
  Rng rng(1, "test");
  for (const std::size_t arm : {0u, 1u, 2u}) {
    EXPECT_EQ(bandit.Choose({true, true, true}, rng), arm);
    bandit.Credit(arm, arm == 1 ? 1 : 0);
  }
  int second = 0;
  for (int i = 0; i < 1000; ++i) second += bandit.Choose({true, true, true}, rng) == 1;
  EXPECT_GT(second, 800);
  EXPECT_LT(second, 950);
  for (int i = 0; i < 100; ++i) EXPECT_NE(bandit.Choose({true, false, true}, rng), 1u);
}

TEST(Bandit, ForgetsWhatIsLongPast) {
  Bandit bandit(2);
  Rng rng(1, "test");
  bandit.Credit(0, 1);
  bandit.Credit(1, 0.1);
  for (int i = 0; i < 20; ++i) bandit.Credit(0, 0);
  int second = 0;
  for (int i = 0; i < 100; ++i) second += bandit.Choose({true, true}, rng) == 1;
  EXPECT_GT(second, 75);
}

}  // namespace
}  // namespace stowplan::agents
