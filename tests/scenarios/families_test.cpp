#include "scenarios/workloads/families.h"

#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

TEST(FamilyTest, HalvesAreSixteenEachAndShareNobody) {
  for (const char* family : {"cifar10", "ptb", "nmt"}) {
    const std::vector<int> train = MembersOf(family, Half::kTrain);
    const std::vector<int> test = MembersOf(family, Half::kTest);
    EXPECT_EQ(train.size(), 16u);
    EXPECT_EQ(test.size(), 16u);
    std::set<int> all(train.begin(), train.end());
    all.insert(test.begin(), test.end());
    EXPECT_EQ(all.size(), 32u);
    EXPECT_EQ(*all.begin(), 0);
    EXPECT_EQ(*all.rbegin(), 31);
    for (const int index : train) EXPECT_EQ(HalfOf(family, index), Half::kTrain);
    for (const int index : test) EXPECT_EQ(HalfOf(family, index), Half::kTest);
  }
  EXPECT_NE(MembersOf("ptb", Half::kTrain), MembersOf("nmt", Half::kTrain));
}

// Results name members by index, so these may never change.
TEST(FamilyTest, TheHalvesOfCifar10ArePinned) {
  EXPECT_THAT(MembersOf("cifar10", Half::kTrain),
              ::testing::ElementsAre(3, 6, 7, 10, 11, 12, 13, 14, 16, 17, 19, 22, 23, 25, 27, 31));
}

TEST(FamilyTest, EachMemberHasItsOwnNumbers) {
  std::set<std::int64_t> first;
  for (int index = 0; index < kFamilySize; ++index) first.insert(DiceOf("cifar10", index).Roll(1LL << 60));
  EXPECT_EQ(first.size(), 32u);
  EXPECT_NE(DiceOf("ptb", 0).Roll(1LL << 60), DiceOf("cifar10", 0).Roll(1LL << 60));
}

TEST(FamilyTest, MembersAreNamedAsWorkloads) {
  const std::vector<std::string> train = FamilyMembers("ptb(batch=10):train");
  EXPECT_EQ(train.size(), 16u);
  EXPECT_EQ(train.front(),
            "ptb(batch=10,index=" + std::to_string(MembersOf("ptb", Half::kTrain).front()) + ")");
  EXPECT_EQ(FamilyMembers("nmt_family:all").size(), static_cast<std::size_t>(kFamilySize));
  const std::vector<std::string> test = FamilyMembers("cifar10:test");
  for (std::size_t i = 0; i < test.size(); ++i)
    EXPECT_EQ(test[i], "cifar10(index=" + std::to_string(MembersOf("cifar10", Half::kTest)[i]) + ")");
}

TEST(FamilyTest, RefusesOtherHalvesAndWhatIsNoFamily) {
  EXPECT_THROW(FamilyMembers("ptb"), InputError);
  EXPECT_THROW(FamilyMembers("ptb:half"), InputError);
  EXPECT_THROW(FamilyMembers("bert:train"), InputError);
}

}  // namespace
}  // namespace stowplan::scenarios
