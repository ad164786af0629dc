// Several accelerators of a cluster on one device: what part of it is whose, and when its clock was at zero.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/units.h"

namespace stowplan::profiler {

// A device's multiprocessors come in `groups` equal groups: how many each share of them is given, rounded down and at
// least one. Throws InputError where they are not that many.
inline std::vector<int> GroupsOfShares(const std::vector<double>& shares, int groups) {
  std::vector<int> given;
  int sum = 0;
  for (const double share : shares) {
    given.push_back(std::max(1, static_cast<int>(std::floor(share * groups + 1e-9))));
    sum += given.back();
  }
  if (sum > groups)
    throw InputError("--sm-share: the shares ask for " + std::to_string(sum) + " of the " +
                     std::to_string(groups) +
                     " groups of multiprocessors that this device can be divided into; ask for less.");
  return given;
}

// Something happened between two readings of the host's clock [ns].
struct Bracket {
  std::int64_t before = 0, after = 0;
  std::int64_t width() const { return after - before; }
  std::int64_t middle() const { return before + (after - before) / 2; }
};

// The number of the tightest, that which the host was not kept from. There must be one.
inline std::size_t TightestOf(const std::vector<Bracket>& brackets) {
  const auto tightest =
      std::min_element(brackets.begin(), brackets.end(),
                       [](const Bracket& a, const Bracket& b) { return a.width() < b.width(); });
  return static_cast<std::size_t>(tightest - brackets.begin());
}

}  // namespace stowplan::profiler
