// Max-min fair rates in integers: mathematics only, it knows capacities and flows but no GPUs.
//
// A flow uses one unit of each of its resources per unit of rate and has a limit of its own. Progressive
// filling: the resource with the least equal share of what is left (lowest index on ties) fixes the rate of
// its unfixed flows; a flow whose limit is not above that share is fixed first, at its limit (lowest position
// in `flows` on ties). Shares are rounded down to integers, but to no less than 1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace berth::sim {

class FairShare {
 public:
  struct Flow {
    std::span<const std::int32_t> resources;
    std::int64_t limit = 0;
    std::int64_t rate = 0;  // result
  };

  // capacity[resource] >= 0. Work: O(rounds x resources + flows x their resources); no allocation once warm.
  void Solve(std::span<const std::int64_t> capacity, std::span<Flow> flows);

 private:
  void Fix(Flow& flow, std::int64_t rate);

  std::vector<std::int64_t> left_;
  std::vector<std::int32_t> unfixed_;
  std::vector<std::int32_t> used_;  // resources with flows, ascending
  std::vector<std::uint8_t> fixed_;
};

}  // namespace berth::sim
