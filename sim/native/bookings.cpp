#include "sim/native/bookings.h"

namespace berth::sim {

Bookings::Bookings(const Problem::Compiled& compiled, const Moments& moments)
    : c_(compiled), moments_(moments) {
  const RouteResources resources(c_, Sharing::kExclusive);
  Id unit = 0;
  for (const std::int32_t units : resources.units()) {
    resources_.push_back({.units = units, .first_unit = unit});
    unit += units;
  }
  for (Id route = 0; route < static_cast<Id>(c_.routes.size()); ++route)
    for (const Id resource : resources.Of(route)) hops_.push_back(&resources_[resource]);
  Resource* const* hops = hops_.data();
  for (Id route = 0; route < static_cast<Id>(c_.routes.size()); ++route) {
    const Problem::Compiled::Route& from = c_.routes[route];
    Way& way = ways_.emplace_back();
    way.latency = from.latency;
    if (from.move_class != Problem::Compiled::kNone)
      way.moves = c_.moves[static_cast<std::size_t>(from.move_class)].data();
    way.resources = {hops, resources.Of(route).size()};
    hops += way.resources.size();
  }
  unit_ends_.resize(static_cast<std::size_t>(unit));
}

void Bookings::Reset() {
  for (Way& way : ways_) way.bytes = way.busy = 0;
  for (Resource& resource : resources_) resource.free = 0;
  std::fill(unit_ends_.begin(), unit_ends_.end(), Moment{0});
}

// No two transfers use a link direction at once, so the time of a route is time of each of its links.
void Bookings::Report(std::vector<LinkUse>& links) const {
  links.assign(c_.cluster->links.size(), {});
  for (Id route = 0; route < static_cast<Id>(ways_.size()); ++route) {
    for (Id i = c_.routes[route].first; i < c_.routes[route].last; ++i) {
      LinkUse& link = links[static_cast<std::size_t>(c_.route_links[static_cast<std::size_t>(i)])];
      link.bytes += ways_[route].bytes;
      link.busy += ways_[route].busy;
    }
  }
}

}  // namespace berth::sim
