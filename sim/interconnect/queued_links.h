// What `fifo` and `fair` have in common: first-in-first-out waiting at several resources at once, and the two
// phases of a transfer (latency, then bytes at a rate that may change). Internal to sim/interconnect/.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/interconnect/flows.h"
#include "sim/interconnect/resource_queues.h"
#include "sim/interconnect/route_resources.h"

namespace berth::sim {

class QueuedLinks {
 public:
  QueuedLinks(const Problem::Compiled& compiled, Sharing sharing, std::int32_t spare);

  void Reset(const ById<Problem::Compiled::Id>& route_transfers) {
    queues_.Reset(resources_.units(), route_transfers, [this](Id route) { return resources_.Of(route); });
    due_.Clear();
    begins_.Clear();
    flows_.Reset();
  }
  void Queue(TransferIndex index, const Transfer& transfer) {
    queues_.Queue(index, resources_.Of(transfer.route));
  }
  void Start(Picos now, const Transfers& transfers, std::vector<TransferIndex>& started) {
    queues_.StartAll([&](TransferIndex t) { return resources_.Of(transfers[t].route); },
                     [&](TransferIndex t) {
                       started.push_back(t);
                       const Transfer& transfer = transfers[t];
                       const Picos latency = c_.routes[transfer.route].latency;
                       if (!resources_.HasFlows(transfer.route) || transfer.move == 0) {
                         due_.Push(now + latency + transfer.move, t);
                       } else {
                         begins_.Push(now + latency, t);
                       }
                     });
    if (resources_.has_flows()) BeginFlows(now, transfers);
  }
  Picos next() const { return std::min({due_.next(), begins_.next(), flows_.next()}); }
  void End(Picos now, const Transfers& transfers, std::vector<TransferIndex>& ended) {
    const std::size_t first = ended.size();
    due_.PopDue(now, ended);
    if (resources_.has_flows()) flows_.PopEnded(now, ended);
    for (std::size_t i = first; i < ended.size(); ++i)
      queues_.Release(resources_.Of(transfers[ended[i]].route));
  }

  struct Live {
    ResourceQueues::Live queues;
    DueList due, begins;
    Flows::Live flows;
  };
  void Save(Live& live) const {
    queues_.Save(live.queues);
    live.due = due_;
    live.begins = begins_;
    flows_.Save(live.flows);
  }
  void Load(const Live& live, Picos shift) {
    queues_.Load(live.queues);
    due_ = live.due;
    due_.Shift(shift);
    begins_ = live.begins;
    begins_.Shift(shift);
    flows_.Load(live.flows, shift);
  }
  template <typename Same>
  bool Equals(const Live& live, Picos shift, Same& same) const {
    return due_.Equals(live.due, shift, same) && begins_.Equals(live.begins, shift, same) &&
           flows_.Equals(live.flows, shift, same) && queues_.Equals(live.queues, same);
  }

 private:
  using Id = Problem::Compiled::Id;

  void BeginFlows(Picos now, const Transfers& transfers);

  const Problem::Compiled& c_;
  const RouteResources resources_;
  ResourceQueues queues_;
  DueList due_;     // ends that are known
  DueList begins_;  // flows whose latency runs
  Flows flows_;
  std::vector<TransferIndex> beginning_;  // scratch
};

}  // namespace berth::sim
