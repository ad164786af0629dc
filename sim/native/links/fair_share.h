// Max-min fair rates in integers: mathematics only, it knows capacities and flows but no GPUs.
//
// A flow uses one unit of each of its resources per unit of rate and has a limit of its own. Progressive
// filling: the resource with the least equal share of what is left (lowest index on ties) fixes the rate of
// its unfixed flows; a flow whose limit is not above that share is fixed first, at its limit. (In which order
// such flows are fixed makes no difference: each leaves the shares of the others no smaller.) Shares are
// rounded down to integers, but to no less than 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace stowplan::sim {

class FairShare {
 public:
  struct Flow {
    std::span<const std::int32_t> resources;
    std::int64_t limit = 0;
    std::int64_t rate = 0;  // result; 0 while it is not fixed
  };

  // At most so many flows at a time, each of so many resources.
  FairShare(std::size_t resources, std::size_t flows, std::size_t resources_each) : resources_(resources) {
    used_.reserve(resources);
    uses_.reserve(flows * resources_each);
  }

  // capacity_of(resource) >= 0 is asked for those that flows use. Work: O(rounds x their number + uses).
  template <typename CapacityOf>
  void Solve(const CapacityOf& capacity_of, std::span<Flow> flows) {
    used_.clear();
    uses_.clear();
    for (Flow& flow : flows) {
      flow.rate = 0;
      for (const auto r : flow.resources) {
        Resource& resource = At(r);
        if (resource.unfixed++ == 0) {
          resource.left = capacity_of(r);
          resource.last_use = -1;
          used_.push_back(r);
        }
        uses_.push_back({&flow, std::exchange(resource.last_use, static_cast<std::int32_t>(uses_.size()))});
      }
    }
    for (const auto r : used_) At(r).share = At(r).left / At(r).unfixed;
    Fill(flows);
  }

 private:
  struct Resource {
    std::int64_t left = 0;
    std::int64_t share = 0;  // of each unfixed flow
    std::int32_t unfixed = 0;
    std::int32_t last_use = -1;
  };
  struct Use {
    Flow* flow;
    std::int32_t previous;  // use of the same resource, -1 = none
  };
  Resource& At(std::int32_t r) { return resources_[static_cast<std::size_t>(r)]; }
  void Fill(std::span<Flow> flows);
  void Fix(Flow& flow, std::int64_t rate);

  std::vector<Resource> resources_;  // between calls none has unfixed flows
  std::vector<std::int32_t> used_;
  std::vector<Use> uses_;
};

}  // namespace stowplan::sim
