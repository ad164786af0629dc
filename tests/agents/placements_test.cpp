#include "agents/placements.h"

#include <cstdint>
#include <set>

#include <gtest/gtest.h>

namespace stowplan::agents {
namespace {

// Sizes that its lanes divide and that they do not.
TEST(HashOf, TellsAllPlacementsOfAFewUnitsApart) {
  std::set<std::uint64_t> hashes;
  std::size_t placements = 0;
  for (std::size_t units = 0; units <= 9; ++units) {
    UnitPlacement placement(units, 0);
    for (bool more = true; more; ++placements) {
      hashes.insert(HashOf(placement));
      more = false;
      for (sim::DeviceIndex& device : placement) {  // counts up, the first unit turning fastest
        device = (device + 1) % 3;
        if ((more = device != 0)) break;
      }
    }
  }
  EXPECT_EQ(placements, 29'524u);  // (3^10 - 1) / 2
  EXPECT_EQ(hashes.size(), placements);
}

TEST(HashOf, TellsUnitsApartInEveryLane) {
  std::set<std::uint64_t> hashes;
  for (std::size_t unit = 0; unit < 100; ++unit) {
    for (const sim::DeviceIndex device : {1, 2, 64}) {
      UnitPlacement placement(100, 0);
      placement[unit] = device;
      hashes.insert(HashOf(placement));
    }
  }
  EXPECT_EQ(hashes.size(), 300u);
}

}  // namespace
}  // namespace stowplan::agents
