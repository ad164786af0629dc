// Links on which every transfer's start and end are known when it queues: first in, first out at resources
// whose transfers take known times, or nothing shared at all. Internal to sim/native/.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "sim/native/moment.h"
#include "sim/native/route_resources.h"
#include "sim/outcome.h"

namespace stowplan::sim {

// A transfer starts when the one before it at each of its resources has started and a unit of each is free.
// Both are known when it queues, because those before it were booked before.
template <typename Moment>
class BookedLinks {
 public:
  static constexpr bool kBooked = true;
  using Id = Compiled::Id;
  // Sharing::kNothing, or kExclusive where no rate changes (RouteResources::has_flows()).
  BookedLinks(const Compiled& compiled, Sharing sharing, const Moments<Moment>& moments);
  BookedLinks(const BookedLinks&) = delete;
  BookedLinks& operator=(const BookedLinks&) = delete;

  void Reset() {
    for (const Id route : used_) ways_[route].bytes = ways_[route].busy = 0;
    used_.clear();
    std::fill(direction_use_.begin(), direction_use_.end(), DirectionUse{});
    for (Resource& resource : resources_) resource.free = 0;
    std::fill(unit_ends_.begin(), unit_ends_.end(), Moment{0});
  }
  struct Booked {
    Moment start, end;
  };
  // In order of queue numbers.
  Booked Book(Id route, Id output, Bytes bytes, Moment queued) {
    Way& way = ways_[route];
    const Picos move = way.moves != nullptr ? way.moves[output] : c_.TransferTime(c_.routes[route], bytes);
    const Picos duration = way.latency + move;
    if (way.bytes == 0) used_.push_back(route);
    way.bytes += bytes;  // some
    way.busy += duration;
    Moment start = queued;
    for (Resource* const resource : way.resources) start = std::max(start, resource->free);
    const Moment end = moments_.End(start, duration);
    if (!exclusive_) UseDirections(route, moments_.TimeOf(start), duration);
    for (Resource* const resource : way.resources)
      resource->free = resource->units == 1 ? end : TakeOne(*resource, start, end);
    return {start, end};
  }
  void Report(std::vector<LinkUse>& links) const;

 private:
  struct Resource {
    Moment free = 0;  // from when on the next transfer may start, for all that this resource knows
    std::int32_t units = 0;
    Id first_unit = 0;
  };
  // A route, and what it has carried.
  struct Way {
    Picos latency = 0;
    const Picos* moves = nullptr;  // M by output, where it is tabulated
    std::span<Resource* const> resources;
    Bytes bytes = 0;
    Picos busy = 0;
  };
  struct DirectionUse {
    Picos until = 0;
    Picos busy = 0;
  };
  // Of transfers that may overlap, each of which starts no earlier than the one before.
  void UseDirections(Id route, Picos start, Picos duration) {
    for (Id i = c_.routes[route].first; i < c_.routes[route].last; ++i) {
      DirectionUse& use = direction_use_[c_.route_directions[static_cast<std::size_t>(i)]];
      use.busy += std::max<Picos>(0, start + duration - std::max(start, use.until));
      use.until = std::max(use.until, start + duration);
    }
  }
  // The unit that is free first is taken; the next transfer does not start before this one.
  Moment TakeOne(const Resource& resource, Moment start, Moment end) {
    Moment* const first = unit_ends_.data() + resource.first_unit;
    Moment* unit = first;
    const Moment* const last = first + resource.units - 1;
    for (; unit != last && unit[1] < end; ++unit) *unit = unit[1];
    *unit = end;
    return std::max(*first, start);
  }

  const Compiled& c_;
  const Moments<Moment> moments_;
  const bool exclusive_;
  ById<Way> ways_;
  std::vector<Id> used_;  // routes that have carried something, of as many as there are pairs of devices
  ById<Resource> resources_;
  std::vector<Resource*> hops_;    // of each way in turn
  std::vector<Moment> unit_ends_;  // of each resource in turn, ascending
  ById<DirectionUse> direction_use_;
};

template <typename Moment>
BookedLinks<Moment>::BookedLinks(const Compiled& compiled, Sharing sharing, const Moments<Moment>& moments)
    : c_(compiled), moments_(moments), exclusive_(sharing == Sharing::kExclusive) {
  const RouteResources resources(c_, sharing);
  Id unit = 0;
  for (const std::int32_t units : resources.units()) {
    resources_.push_back({.units = units, .first_unit = unit});
    unit += units;
  }
  for (Id route = 0; route < static_cast<Id>(c_.routes.size()); ++route)
    for (const Id resource : resources.Of(route)) hops_.push_back(&resources_[resource]);
  Resource* const* hops = hops_.data();
  for (Id route = 0; route < static_cast<Id>(c_.routes.size()); ++route) {
    const Compiled::Route& from = c_.routes[route];
    Way& way = ways_.emplace_back();
    way.latency = from.latency;
    if (from.move_class != Compiled::kNone)
      way.moves = c_.moves[static_cast<std::size_t>(from.move_class)].data();
    way.resources = {hops, resources.Of(route).size()};
    hops += way.resources.size();
  }
  used_.reserve(std::min(c_.routes.size(), c_.most_transfers));
  unit_ends_.resize(static_cast<std::size_t>(unit));
  if (!exclusive_) direction_use_.resize(2 * c_.cluster->links.size());
}

// Where no two transfers use a link direction at once, the time of a route is time of each of its links.
template <typename Moment>
void BookedLinks<Moment>::Report(std::vector<LinkUse>& links) const {
  links.assign(c_.cluster->links.size(), {});
  for (const Id route : used_) {
    for (Id i = c_.routes[route].first; i < c_.routes[route].last; ++i) {
      LinkUse& link = links[static_cast<std::size_t>(c_.route_links[static_cast<std::size_t>(i)])];
      link.bytes += ways_[route].bytes;
      if (exclusive_) link.busy += ways_[route].busy;
    }
  }
  for (Id d = 0; d < static_cast<Id>(direction_use_.size()); ++d)
    links[static_cast<std::size_t>(d / 2)].busy += direction_use_[d].busy;
}

}  // namespace stowplan::sim
