#include "sim/interconnect/queued_links.h"

#include <numeric>

namespace berth::sim {
namespace {

// How many transfers can have started and not ended.
std::size_t MostAtOnce(const Problem::Compiled& c, Sharing sharing) {
  const std::size_t transfers = c.most_transfers;
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
      resources_(compiled, sharing),
      queues_(compiled.most_transfers, resources_.units().size(),
              1 + (sharing == Sharing::kExclusive ? LongestRoute(compiled) : 0), spare),
      flows_(compiled, sharing, MostAtOnce(compiled, sharing), LongestRoute(compiled)) {
  const std::size_t most = MostAtOnce(compiled, sharing);
  due_.Reserve(most);
  begins_.Reserve(most);
  beginning_.reserve(most);
}

void QueuedLinks::BeginFlows(Picos now, const Transfers& transfers) {
  beginning_.clear();
  begins_.PopDue(now, beginning_);
  for (const TransferIndex t : beginning_) flows_.Add(now, t, transfers[t]);
  flows_.Update(now);
}

}  // namespace berth::sim
