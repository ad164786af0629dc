#include "sim/native/route_resources.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace stowplan::sim {
namespace {

bool SlowsBothWays(const Link& link) {
  return link.both_ppm < kPpm && link.duplex == Duplex::kFull;
}

}  // namespace

std::size_t LongestRoute(const Compiled& c) {
  std::size_t longest = 0;
  for (const auto& route : c.routes)
    longest = std::max(longest, static_cast<std::size_t>(route.last - route.first));
  return longest;
}

RouteResources::RouteResources(const Compiled& c, Sharing sharing) {
  units_.assign(c.engine_count.begin(), c.engine_count.end());
  units_.resize(units_.size() + 2 * c.cluster->links.size(), 1);
  for (const auto& route : c.routes) {
    const auto begin = static_cast<Id>(resources_.size());
    bool flows = sharing == Sharing::kMaxMin;
    if (sharing != Sharing::kNothing && route.engine != Compiled::kNone) resources_.push_back(route.engine);
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

// Resources that the same routes need are of one class; numbered from 1, 0 = no route needs it. Each route parts the classes
// that it needs some of.
ById<RouteResources::Id> RouteResources::Classes() const {
  ById<Id> classes, members = {static_cast<Id>(units_.size())}, needed = {0}, part = {0};
  classes.assign(units_.size(), 0);
  std::vector<Id> here;  // classes that the route needs some of
  for (Id route = 0; route < static_cast<Id>(routes_.size()); ++route) {
    for (const Id r : Of(route)) {
      if (needed[classes[r]]++ == 0) here.push_back(classes[r]);
    }
    for (const Id c : here) {
      part[c] = c;
      if (c != 0 && needed[c] == members[c]) continue;
      part[c] = static_cast<Id>(members.size());
      members[c] -= needed[c];
      members.push_back(needed[c]);
      needed.push_back(0);
      part.push_back(0);
    }
    for (const Id r : Of(route)) classes[r] = part[classes[r]];
    for (const Id c : here) needed[c] = 0;
    here.clear();
  }
  return classes;
}

// A resource all of whose routes also need another one, of one unit, never makes a difference: whoever is
// first at the other is first here, and finds a unit. (An engine whose device has one link, for example.)
void RouteResources::DropImplied() {
  const ById<Id> class_of = Classes();
  const std::size_t classes = static_cast<std::size_t>(std::ranges::max(class_of)) + 1;
  std::vector<std::vector<Id>> routes_of(classes);  // that need a class
  std::vector<Id> needs;                            // classes, sorted, of a route behind the other
  std::vector<std::size_t> begins = {0};            // of each route in it
  for (Id route = 0; route < static_cast<Id>(routes_.size()); ++route) {
    const auto begin = static_cast<std::ptrdiff_t>(needs.size());
    for (const Id r : Of(route)) needs.push_back(class_of[r]);
    std::sort(needs.begin() + begin, needs.end());
    needs.erase(std::unique(needs.begin() + begin, needs.end()), needs.end());
    for (auto c = needs.begin() + begin; c != needs.end(); ++c)
      routes_of[static_cast<std::size_t>(*c)].push_back(route);
    begins.push_back(needs.size());
  }
  const auto needs_of = [&](Id route) {
    const std::size_t begin = begins[static_cast<std::size_t>(route)];
    return std::span(needs).subspan(begin, begins[static_cast<std::size_t>(route) + 1] - begin);
  };
  // The first resource of one unit of each class.
  std::vector<Id> single(classes, kNone);
  for (Id r = 0; r < static_cast<Id>(units_.size()); ++r) {
    Id& first = single[static_cast<std::size_t>(class_of[r])];
    if (units_[r] == 1 && first == kNone) first = r;
  }
  // Whether all routes of a class need another one that has such a resource.
  const auto needs_more = [&](Id c) {
    const auto& routes = routes_of[static_cast<std::size_t>(c)];
    const auto shortest =
        needs_of(*std::ranges::min_element(routes, {}, [&](Id route) { return needs_of(route).size(); }));
    std::vector<Id> others;
    for (const Id other : shortest) {
      if (other != c && single[static_cast<std::size_t>(other)] != kNone) others.push_back(other);
    }
    for (const Id route : routes) {
      if (others.empty()) return false;
      std::erase_if(others, [&](Id other) { return !std::ranges::binary_search(needs_of(route), other); });
    }
    return !others.empty();
  };
  std::vector<std::uint8_t> more(classes, 0), implied(units_.size(), 0);
  for (std::size_t c = 1; c < classes; ++c) more[c] = needs_more(static_cast<Id>(c));
  for (Id r = 0; r < static_cast<Id>(units_.size()); ++r) {
    const auto c = static_cast<std::size_t>(class_of[r]);
    if (c == 0 || units_[r] == 0) continue;
    // Of two that are always needed together one stays.
    implied[static_cast<std::size_t>(r)] = more[c] || (single[c] != kNone && single[c] != r);
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

}  // namespace stowplan::sim
