// Links whose transfers end when that is known: first-in-first-out waiting at several resources at once, and
// the two phases of a transfer, latency, then bytes at a rate that may change. Internal to sim/native/.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/native/links/flows.h"
#include "sim/native/links/link_meter.h"
#include "sim/native/links/resource_queues.h"
#include "sim/native/route_resources.h"

namespace stowplan::sim {

class QueuedLinks {
 public:
  static constexpr bool kBooked = false;
  // Sharing::kExclusive or kMaxMin.
  QueuedLinks(const Compiled& compiled, Sharing sharing);

  void Reset() {
    queues_.Reset();
    due_.Clear();
    begins_.Clear();
    flows_.Reset();
    meter_.Reset();
  }
  // In order of queue numbers; starts nothing yet.
  void Queue(TransferIndex index, const Transfer& transfer) {
    queues_.Queue(index, resources_.Of(transfer.route));
  }
  // Starts what may start and appends it to `started` in order of queue numbers; lets flows begin.
  void Start(Picos now, const Transfers& transfers, std::vector<TransferIndex>& started);
  // When the next transfer ends or flow begins; kNever = none.
  Picos next() const { return std::min({due_.next(), begins_.next(), flows_.next()}); }
  // Appends those that end now, in order of queue numbers, and releases what they hold.
  void End(Picos now, const Transfers& transfers, std::vector<TransferIndex>& ended);
  void Report(std::vector<LinkUse>& links) const { meter_.Report(links); }

 private:
  using Id = Compiled::Id;

  void BeginFlows(Picos now, const Transfers& transfers);

  const Compiled& c_;
  const RouteResources resources_;
  ResourceQueues queues_;
  DueList due_;     // ends that are known
  DueList begins_;  // flows whose latency runs
  Flows flows_;
  LinkMeter meter_;
  std::vector<TransferIndex> beginning_;  // scratch
};

}  // namespace stowplan::sim
