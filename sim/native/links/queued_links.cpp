#include "sim/native/links/queued_links.h"

#include <numeric>

namespace stowplan::sim {
namespace {

// How many transfers can have started and not ended.
std::size_t MostAtOnce(const Compiled& c, Sharing sharing) {
  const std::size_t transfers = c.most_transfers;
  if (sharing == Sharing::kExclusive) return std::min(transfers, 2 * c.cluster->links.size());
  for (const auto& route : c.routes) {
    if (route.from != route.to && route.engine == Compiled::kNone) return transfers;
  }
  const auto engines = std::accumulate(c.engine_count.begin(), c.engine_count.end(), std::int64_t{0});
  return std::min(transfers, static_cast<std::size_t>(engines));
}

}  // namespace

QueuedLinks::QueuedLinks(const Compiled& compiled, Sharing sharing)
    : c_(compiled),
      resources_(compiled, sharing),
      queues_(compiled.most_transfers, 1 + (sharing == Sharing::kExclusive ? LongestRoute(compiled) : 0),
              resources_.units()),
      flows_(compiled, sharing, MostAtOnce(compiled, sharing), LongestRoute(compiled)),
      meter_(compiled) {
  const std::size_t most = MostAtOnce(compiled, sharing);
  due_.Reserve(most);
  begins_.Reserve(most);
  beginning_.reserve(most);
}

void QueuedLinks::Start(Picos now, const Transfers& transfers, std::vector<TransferIndex>& started) {
  queues_.StartAll([&](TransferIndex t) { return resources_.Of(transfers[t].route); },
                   [&](TransferIndex t) {
                     started.push_back(t);
                     const Transfer& transfer = transfers[t];
                     meter_.Start(transfer, now);
                     const Picos latency = c_.routes[transfer.route].latency;
                     if (!resources_.HasFlows(transfer.route) || transfer.move == 0) {
                       due_.Push(now + latency + transfer.move, t);
                     } else {
                       begins_.Push(now + latency, t);
                     }
                   });
  if (resources_.has_flows()) BeginFlows(now, transfers);
}

void QueuedLinks::BeginFlows(Picos now, const Transfers& transfers) {
  beginning_.clear();
  begins_.PopDue(now, beginning_);
  for (const TransferIndex t : beginning_) flows_.Add(now, t, transfers[t]);
  flows_.Update(now);
}

void QueuedLinks::End(Picos now, const Transfers& transfers, std::vector<TransferIndex>& ended) {
  due_.PopDue(now, ended);
  if (resources_.has_flows()) flows_.PopEnded(now, ended);
  if (ended.size() > 1) std::sort(ended.begin(), ended.end());
  for (const TransferIndex t : ended) {
    queues_.Release(resources_.Of(transfers[t].route));
    meter_.End(transfers[t], now);
  }
}

}  // namespace stowplan::sim
