// What transfers wait for and hold (docs/model.md section 4): engine pools and link directions. Internal to
// sim/native/.
#pragma once

#include <span>
#include <vector>

#include "sim/compiled.h"

namespace stowplan::sim {

// Nothing is shared; a transfer has its link directions to itself; or flows share them max-min fairly.
enum class Sharing : std::uint8_t { kNothing, kExclusive, kMaxMin };

class RouteResources {
 public:
  using Id = Compiled::Id;
  RouteResources(const Compiled& compiled, Sharing sharing);

  // Of the transfers of a route. Engine pools are resources 0..2D-1, link directions follow.
  std::span<const Id> Of(Id route) const {
    const Segment segment = routes_[route];
    return {resources_.data() + segment.begin, resources_.data() + segment.end};
  }
  // Whether the rate of its transfers can change. Else their end is known at their start.
  bool HasFlows(Id route) const { return routes_[route].flows; }
  bool has_flows() const { return has_flows_; }               // some route has
  const ById<std::int32_t>& units() const { return units_; }  // by resource

 private:
  static constexpr Id kNone = -1;

  ById<Id> Classes() const;
  void DropImplied();

  struct Segment {
    Id begin = 0, end = 0;
    bool flows = false;
  };
  bool has_flows_ = false;
  ById<std::int32_t> units_;
  ById<Segment> routes_;
  std::vector<Id> resources_;
};

// The longest route's number of links.
std::size_t LongestRoute(const Compiled& compiled);

}  // namespace stowplan::sim
