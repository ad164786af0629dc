#include "sim/native/links/route_resources.h"

#include <algorithm>
#include <map>
#include <utility>

namespace berth::sim {
namespace {

bool SlowsBothWays(const Link& link) {
  return link.both_ppm < kPpm && link.duplex == Duplex::kFull;
}

}  // namespace

std::size_t LongestRoute(const Problem::Compiled& c) {
  std::size_t longest = 0;
  for (const auto& route : c.routes)
    longest = std::max(longest, static_cast<std::size_t>(route.last - route.first));
  return longest;
}

RouteResources::RouteResources(const Problem::Compiled& c, Sharing sharing) {
  units_.assign(c.engine_count.begin(), c.engine_count.end());
  units_.resize(units_.size() + 2 * c.cluster->links.size(), 1);
  for (const auto& route : c.routes) {
    const auto begin = static_cast<Id>(resources_.size());
    bool flows = sharing == Sharing::kMaxMin;
    if (sharing != Sharing::kNothing && route.engine != Problem::Compiled::kNone)
      resources_.push_back(route.engine);
    for (Id i = route.first; i < route.last && sharing == Sharing::kExclusive; ++i) {
      const auto hop = static_cast<std::size_t>(i);
      resources_.push_back(2 * c.devices + c.route_directions[hop]);
      flows = flows || SlowsBothWays(c.cluster->links[static_cast<std::size_t>(c.route_links[hop])]);
    }
    routes_.push_back({begin, static_cast<Id>(resources_.size()), flows});
    has_flows_ = has_flows_ || flows;
  }
  if (sharing == Sharing::kExclusive) DropImplied();
}

// A resource all of whose routes also need another one, of one unit, never makes a difference: whoever is
// first at the other is first here, and finds a unit. (An engine whose device has one link, for example.)
void RouteResources::DropImplied() {
  std::map<std::pair<Id, Id>, Id> together;  // routes that need both; (r, r): those that need r
  for (Id route = 0; route < static_cast<Id>(routes_.size()); ++route) {
    for (const Id a : Of(route))
      for (const Id b : Of(route)) ++together[{a, b}];
  }
  const auto uses = [&](Id r) { return together.at({r, r}); };
  std::vector<std::uint8_t> implied(units_.size(), 0);
  for (const auto& [pair, routes] : together) {
    const auto [a, b] = pair;
    if (a == b || units_[b] != 1 || units_[a] == 0 || routes < uses(a)) continue;
    // Of two that are always needed together one stays.
    const bool equal = uses(b) == routes && units_[a] == 1;
    if (!equal || a > b) implied[static_cast<std::size_t>(a)] = 1;
  }
  std::vector<Id> kept;
  for (Segment& segment : routes_) {
    const auto begin = static_cast<Id>(kept.size());
    for (Id i = segment.begin; i < segment.end; ++i) {
      const Id r = resources_[static_cast<std::size_t>(i)];
      if (!implied[static_cast<std::size_t>(r)]) kept.push_back(r);
    }
    segment.begin = begin;
    segment.end = static_cast<Id>(kept.size());
  }
  resources_ = std::move(kept);
}

}  // namespace berth::sim
