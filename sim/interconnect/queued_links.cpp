#include "sim/interconnect/queued_links.h"

#include <map>
#include <numeric>
#include <utility>

namespace berth::sim {
namespace {

bool SlowsBothWays(const Link& link) {
  return link.both_ppm < kPpm && link.duplex == Duplex::kFull;
}

std::size_t LongestRoute(const Problem::Compiled& c) {
  std::size_t longest = 0;
  for (const auto& route : c.routes)
    longest = std::max(longest, static_cast<std::size_t>(route.last - route.first));
  return longest;
}

// How many transfers can have started and not ended.
std::size_t MostAtOnce(const Problem::Compiled& c, Sharing sharing) {
  const std::size_t transfers = c.edge_consumer.size();
  if (sharing == Sharing::kExclusive) return std::min(transfers, 2 * c.cluster->links.size());
  for (const auto& route : c.routes) {
    if (route.from != route.to && route.engine == Problem::Compiled::kNone) return transfers;
  }
  const auto engines = std::accumulate(c.engine_count.begin(), c.engine_count.end(), std::int64_t{0});
  return std::min(transfers, static_cast<std::size_t>(engines));
}

}  // namespace

QueuedLinks::QueuedLinks(const Problem::Compiled& compiled, Sharing sharing, std::int32_t spare)
    : c_(compiled),
      queues_(compiled.edge_consumer.size(),
              compiled.engine_count.size() + 2 * compiled.cluster->links.size(),
              1 + (sharing == Sharing::kExclusive ? LongestRoute(compiled) : 0), spare),
      flows_(compiled, sharing, MostAtOnce(compiled, sharing), LongestRoute(compiled)) {
  units_.assign(compiled.engine_count.begin(), compiled.engine_count.end());
  units_.resize(units_.size() + 2 * c_.cluster->links.size(), 1);
  AddResources(sharing);
  if (sharing == Sharing::kExclusive) DropImplied();
  const std::size_t most = MostAtOnce(compiled, sharing);
  due_.Reserve(most);
  begins_.Reserve(most);
  beginning_.reserve(most);
}

void QueuedLinks::AddResources(Sharing sharing) {
  for (const auto& route : c_.routes) {
    const auto begin = static_cast<Id>(resources_.size());
    bool flows = sharing == Sharing::kMaxMin;
    if (route.engine != Problem::Compiled::kNone) resources_.push_back(route.engine);
    for (Id i = route.first; i < route.last && sharing == Sharing::kExclusive; ++i) {
      const auto hop = static_cast<std::size_t>(i);
      resources_.push_back(2 * c_.devices + c_.route_directions[hop]);
      flows = flows || SlowsBothWays(c_.cluster->links[static_cast<std::size_t>(c_.route_links[hop])]);
    }
    route_resources_.push_back({begin, static_cast<Id>(resources_.size()), flows});
    has_flows_ = has_flows_ || flows;
  }
}

// A resource all of whose routes also need another one, of one unit, never makes a difference: whoever is
// first at the other is first here, and finds a unit. (An engine whose device has one link, for example.)
void QueuedLinks::DropImplied() {
  std::map<std::pair<Id, Id>, Id> together;  // routes that need both; (r, r): those that need r
  for (Id route = 0; route < static_cast<Id>(c_.routes.size()); ++route) {
    for (const Id a : Resources(route))
      for (const Id b : Resources(route)) ++together[{a, b}];
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
  for (Stretch& stretch : route_resources_) {
    const auto begin = static_cast<Id>(kept.size());
    for (Id i = stretch.begin; i < stretch.end; ++i) {
      const Id r = resources_[static_cast<std::size_t>(i)];
      if (!implied[static_cast<std::size_t>(r)]) kept.push_back(r);
    }
    stretch.begin = begin;
    stretch.end = static_cast<Id>(kept.size());
  }
  resources_ = std::move(kept);
}

void QueuedLinks::BeginFlows(Picos now, const Transfers& transfers) {
  beginning_.clear();
  begins_.PopDue(now, beginning_);
  for (const TransferIndex t : beginning_) flows_.Add(now, t, transfers[t]);
  flows_.Update(now);
}

}  // namespace berth::sim
