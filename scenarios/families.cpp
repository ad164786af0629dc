#include "scenarios/families.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace berth::scenarios {
namespace {

// FNV-1a: streams are told apart by what they are for.
std::uint64_t SeedOf(const std::string& stream) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : stream) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

const char* ToString(Half half) {
  return half == Half::kTrain ? "train" : "test";
}

std::vector<int> MembersOf(const std::string& family, Half half) {
  std::vector<int> members(kFamilySize);
  std::iota(members.begin(), members.end(), 0);
  Dice dice(SeedOf(family + "/halves"));
  for (std::size_t i = members.size() - 1; i > 0; --i) {
    std::swap(members[i], members[static_cast<std::size_t>(dice.Roll(static_cast<std::int64_t>(i) + 1))]);
  }
  const auto middle = members.begin() + kFamilySize / 2;
  members.erase(half == Half::kTrain ? middle : members.begin(),
                half == Half::kTrain ? members.end() : middle);
  std::ranges::sort(members);
  return members;
}

Half HalfOf(const std::string& family, int index) {
  return std::ranges::binary_search(MembersOf(family, Half::kTrain), index) ? Half::kTrain : Half::kTest;
}

Dice DiceOf(const std::string& family, int index) {
  return Dice(SeedOf(family + "/" + std::to_string(index)));
}

}  // namespace berth::scenarios
