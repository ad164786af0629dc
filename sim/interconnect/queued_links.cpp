#include "sim/interconnect/queued_links.h"

namespace berth::sim {
namespace {

bool AnySlowsBothWays(const Cluster& cluster) {
  return std::any_of(cluster.links.begin(), cluster.links.end(),
                     [](const Link& link) { return link.both_ppm < kPpm && link.duplex == Duplex::kFull; });
}

}  // namespace

void ResourceQueues::Reset(const std::vector<std::int32_t>& units) {
  free_ = units;
  head_.assign(units.size(), 0);
  queue_.resize(units.size());
  for (auto& queue : queue_) queue.clear();
  candidates_.clear();
}

QueuedLinks::QueuedLinks(const Problem::Compiled& compiled, Sharing sharing)
    : c_(compiled),
      sharing_(sharing),
      has_flows_(sharing == Sharing::kMaxMin || AnySlowsBothWays(*compiled.cluster)),
      units_(compiled.engine_count) {
  units_.resize(units_.size() + 2 * c_.cluster->links.size(), 1);
  for (const auto& route : c_.routes) {
    resources_begin_.push_back(static_cast<Id>(resources_.size()));
    if (route.engine != Problem::Compiled::kNone) resources_.push_back(route.engine);
    if (sharing_ == Sharing::kMaxMin) continue;
    for (Id i = route.first; i < route.last; ++i) {
      resources_.push_back(2 * c_.devices + c_.route_directions[static_cast<std::size_t>(i)]);
    }
  }
  resources_begin_.push_back(static_cast<Id>(resources_.size()));
}

void QueuedLinks::Reset() {
  queues_.Reset(units_);
  due_.Clear();
  begins_.Clear();
  flows_.Clear();
}

void QueuedLinks::Queue(TransferIndex index, Transfer& transfer) {
  queues_.Wait(index, Resources(transfer));
}

void QueuedLinks::Start(Picos now, std::vector<Transfer>& transfers, std::vector<TransferIndex>& started) {
  const auto at = [&](TransferIndex t) -> Transfer& { return transfers[static_cast<std::size_t>(t)]; };
  beginning_.clear();
  begins_.PopDue(now, beginning_);
  queues_.StartAll([&](TransferIndex t) { return Resources(at(t)); },
                   [&](TransferIndex t) {
                     Transfer& transfer = at(t);
                     transfer.start = now;
                     started.push_back(t);
                     const Picos latency = transfer.route->latency;
                     if (!has_flows_ || transfer.move == 0) {
                       due_.Push(now + latency + transfer.move, t);
                     } else if (latency == 0) {
                       beginning_.push_back(t);
                     } else {
                       begins_.Push(now + latency, t);
                     }
                   });
  for (const TransferIndex t : beginning_) flows_.Add(t, at(t));
  flows_.Update(now, [&](std::vector<Flows::Flow>& flows) { SetRates(transfers, flows); });
}

void QueuedLinks::End(Picos now, std::vector<Transfer>& transfers, std::vector<TransferIndex>& ended) {
  const std::size_t first = ended.size();
  due_.PopDue(now, ended);
  flows_.PopEnded(now, ended);
  for (std::size_t i = first; i < ended.size(); ++i) {
    queues_.Release(Resources(transfers[static_cast<std::size_t>(ended[i])]));
  }
}

void QueuedLinks::CountCapacities(const std::vector<Transfer>& transfers,
                                  const std::vector<Flows::Flow>& flows) {
  const auto& links = c_.cluster->links;
  flowing_.assign(2 * links.size(), 0);
  for (const Flows::Flow& flow : flows) {
    for (const Id direction : Directions(transfers[static_cast<std::size_t>(flow.transfer)])) {
      ++flowing_[static_cast<std::size_t>(direction)];
    }
  }
  capacity_.resize(2 * links.size());
  for (std::size_t direction = 0; direction < capacity_.size(); ++direction) {
    const Link& link = links[direction / 2];
    capacity_[direction] = link.bandwidth * 1000;
    if (flowing_[direction ^ 1] > 0 && link.duplex == Duplex::kFull) {
      capacity_[direction] =
          static_cast<std::int64_t>(static_cast<Int128>(capacity_[direction]) * link.both_ppm / kPpm);
    }
  }
}

void QueuedLinks::SetRates(const std::vector<Transfer>& transfers, std::vector<Flows::Flow>& flows) {
  CountCapacities(transfers, flows);
  if (sharing_ == Sharing::kExclusive) {
    for (Flows::Flow& flow : flows) {
      flow.rate = std::numeric_limits<std::int64_t>::max();
      for (const Id direction : Directions(transfers[static_cast<std::size_t>(flow.transfer)])) {
        flow.rate =
            std::min(flow.rate, std::max<std::int64_t>(capacity_[static_cast<std::size_t>(direction)], 1));
      }
    }
    return;
  }
  fair_flows_.clear();
  for (const Flows::Flow& flow : flows) {
    const Transfer& transfer = transfers[static_cast<std::size_t>(flow.transfer)];
    fair_flows_.push_back({Directions(transfer), transfer.route->narrowest * 1000, 0});
  }
  fair_share_.Solve(capacity_, fair_flows_);
  for (std::size_t f = 0; f < flows.size(); ++f) flows[f].rate = fair_flows_[f].rate;
}

}  // namespace berth::sim
