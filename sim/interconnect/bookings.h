// First in, first out at resources whose transfers take known times: then a transfer's start and end are known
// when it queues. Internal to sim/interconnect/.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/interconnect/route_resources.h"
#include "sim/native/link_meter.h"
#include "sim/native/moment.h"

namespace berth::sim {

// A transfer starts when the one before it at each of its resources has started and a unit of each is free.
// Both are known when it queues, because those before it were booked before.
class Bookings {
 public:
  using Id = Problem::Compiled::Id;
  Bookings(const Problem::Compiled& compiled, const Moments& moments)
      : moments_(moments), routes_(compiled, Sharing::kExclusive), meter_(compiled) {
    Id unit = 0;
    for (const std::int32_t units : routes_.units()) {
      resources_.push_back({.units = units, .first_unit = unit});
      unit += units;
    }
    unit_ends_.resize(static_cast<std::size_t>(unit));
  }

  void Reset() {
    for (Resource& resource : resources_) resource.free = 0;
    std::fill(unit_ends_.begin(), unit_ends_.end(), Moment{0});
    meter_.Reset();
  }
  struct Booked {
    Moment start, end;
  };
  // In order of queue numbers.
  Booked Book(Id route, Bytes bytes, Moment queued, Picos duration) {
    const auto resources = routes_.Of(route);
    Moment start = queued;
    for (const Id r : resources) start = std::max(start, resources_[r].free);
    const Moment end = moments_.End(start, duration);
    for (const Id r : resources) {
      Resource& resource = resources_[r];
      resource.free = resource.units == 1 ? end : TakeOne(resource, start, end);
    }
    meter_.Add(route, bytes, duration);
    return {start, end};
  }
  void Report(std::vector<LinkUse>& links) const { meter_.Report(links); }

 private:
  struct Resource {
    Moment free = 0;  // from when on the next transfer may start, for all that this resource knows
    std::int32_t units = 0;
    Id first_unit = 0;
  };
  // The unit that is free first is taken; the next transfer does not start before this one.
  Moment TakeOne(const Resource& resource, Moment start, Moment end) {
    Moment* const first = unit_ends_.data() + resource.first_unit;
    Moment* unit = first;
    const Moment* const last = first + resource.units - 1;
    for (; unit != last && unit[1] < end; ++unit) *unit = unit[1];
    *unit = end;
    return std::max(*first, start);
  }

  const Moments& moments_;
  const RouteResources routes_;
  ById<Resource> resources_;
  std::vector<Moment> unit_ends_;  // of each resource in turn, ascending
  LinkMeter<true> meter_;
};

}  // namespace berth::sim
