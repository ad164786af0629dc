#include "scenarios/workloads/families.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "scenarios/scenarios.h"
#include "sim/base/error.h"
#include "sim/base/fnv.h"
#include "sim/base/nearest_name.h"

namespace stowplan::scenarios {

const char* ToString(Half half) {
  return half == Half::kTrain ? "train" : "test";
}

std::vector<int> MembersOf(const std::string& family, Half half) {
  std::vector<int> members(kFamilySize);
  std::iota(members.begin(), members.end(), 0);
  Dice dice(Fnv1a(family + "/halves"));
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

std::vector<std::string> FamilyMembers(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const std::string half = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (half != "train" && half != "test" && half != "all")
    throw InputError("family '" + text + "': wanted FAMILY:train, FAMILY:test or FAMILY:all.");
  Spec spec = Spec::Parse(text.substr(0, colon));
  std::vector<std::string> families;
  for (const WorkloadRow& row : Workloads()) {
    if (row.settings.Find("index") != nullptr) families.emplace_back(row.name);
  }
  if (std::ranges::find(families, spec.name) == families.end())
    throw InputError("'" + spec.name + "' is no family of graphs" + DidYouMean(spec.name, families) +
                     "; there are " + JoinNames(families) + ".");
  std::vector<int> members;
  for (const Half each : {Half::kTrain, Half::kTest}) {
    if (half != "all" && half != ToString(each)) continue;
    for (const int index : MembersOf(spec.name, each)) members.push_back(index);
  }
  std::ranges::sort(members);
  spec.named.emplace_back("index", "");
  std::vector<std::string> specs;
  for (const int index : members) {
    spec.named.back().second = std::to_string(index);
    specs.push_back(spec.ToString());
  }
  return specs;
}

// Streams are told apart by what they are for.
Dice DiceOf(const std::string& family, int index) {
  return Dice(Fnv1a(family + "/" + std::to_string(index)));
}

}  // namespace stowplan::scenarios
