// First in, first out at resources whose transfers take known times: then a transfer's start and end are
// known when it queues. Internal to sim/native/.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "sim/interconnect/route_resources.h"
#include "sim/native/moment.h"

namespace berth::sim {

// A transfer starts when the one before it at each of its resources has started and a unit of each is free.
// Both are known when it queues, because those before it were booked before.
class Bookings {
 public:
  using Id = Problem::Compiled::Id;
  Bookings(const Problem::Compiled& compiled, const Moments& moments);
  Bookings(const Bookings&) = delete;
  Bookings& operator=(const Bookings&) = delete;

  void Reset();
  struct Booked {
    Moment start, end;
  };
  // In order of queue numbers.
  Booked Book(Id route, Id output, Bytes bytes, Moment queued) {
    Way& way = ways_[route];
    const Picos move = way.moves != nullptr ? way.moves[output] : c_.TransferTime(c_.routes[route], bytes);
    const Picos duration = way.latency + move;
    way.bytes += bytes;
    way.busy += duration;
    Moment start = queued;
    for (Resource* const resource : way.resources) start = std::max(start, resource->free);
    const Moment end = moments_.End(start, duration);
    for (Resource* const resource : way.resources)
      resource->free = resource->units == 1 ? end : TakeOne(*resource, start, end);
    return {start, end};
  }
  // When a light transfer ends.
  Moment Light(Id route, Moment queued) const { return moments_.End(queued, ways_[route].latency); }
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
  // The unit that is free first is taken; the next transfer does not start before this one.
  Moment TakeOne(const Resource& resource, Moment start, Moment end) {
    Moment* const first = unit_ends_.data() + resource.first_unit;
    Moment* unit = first;
    const Moment* const last = first + resource.units - 1;
    for (; unit != last && unit[1] < end; ++unit) *unit = unit[1];
    *unit = end;
    return std::max(*first, start);
  }

  const Problem::Compiled& c_;
  const Moments moments_;
  ById<Way> ways_;
  ById<Resource> resources_;
  std::vector<Resource*> hops_;    // of each way in turn
  std::vector<Moment> unit_ends_;  // of each resource in turn, ascending
};

}  // namespace berth::sim
