// What `fifo` and `fair` have in common: first-in-first-out waiting at several resources at once, and the two
// phases of a transfer (latency, then bytes at a rate that may change). Internal to sim/interconnect/.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "sim/fair_share.h"
#include "sim/flows.h"
#include "sim/transfer.h"

namespace berth::sim {

// A waiting item starts when it is the first that waits at each of its resources and each has a free unit.
class ResourceQueues {
 public:
  void Reset(const std::vector<std::int32_t>& units);
  template <typename Resources>
  void Wait(TransferIndex item, const Resources& resources) {
    for (const auto r : resources) queue_[static_cast<std::size_t>(r)].push_back(item);
    Consider(item);
  }
  template <typename Resources>
  void Release(const Resources& resources) {
    for (const auto r : resources) {
      ++free_[static_cast<std::size_t>(r)];
      ConsiderHead(static_cast<std::size_t>(r));
    }
  }
  // Calls start(item) for all that may start, in order of their numbers. resources_of(item) as in Wait().
  template <typename ResourcesOf, typename StartItem>
  void StartAll(const ResourcesOf& resources_of, const StartItem& start) {
    while (!candidates_.empty()) {
      std::pop_heap(candidates_.begin(), candidates_.end(), std::greater<>());
      const TransferIndex item = candidates_.back();
      candidates_.pop_back();
      const auto resources = resources_of(item);
      const bool may = std::all_of(resources.begin(), resources.end(), [&](std::int32_t r) {
        const auto at = static_cast<std::size_t>(r);
        return free_[at] > 0 && head_[at] < queue_[at].size() && queue_[at][head_[at]] == item;
      });
      if (!may) continue;
      for (const auto r : resources) {
        const auto at = static_cast<std::size_t>(r);
        --free_[at];
        ++head_[at];
        ConsiderHead(at);
      }
      start(item);
    }
  }

 private:
  void Consider(TransferIndex item) {
    candidates_.push_back(item);
    std::push_heap(candidates_.begin(), candidates_.end(), std::greater<>());
  }
  void ConsiderHead(std::size_t r) {
    if (free_[r] > 0 && head_[r] < queue_[r].size()) Consider(queue_[r][head_[r]]);
  }

  std::vector<std::vector<TransferIndex>> queue_;  // by resource; those before head_ have started
  std::vector<std::size_t> head_;
  std::vector<std::int32_t> free_;
  std::vector<TransferIndex> candidates_;  // a heap, lowest number first; may hold an item twice
};

class QueuedLinks {
 public:
  enum class Sharing : std::uint8_t { kExclusive, kMaxMin };
  QueuedLinks(const Problem::Compiled& compiled, Sharing sharing);

  void Reset();
  void Queue(TransferIndex index, Transfer& transfer);
  void Start(Picos now, std::vector<Transfer>& transfers, std::vector<TransferIndex>& started);
  Picos next() const { return std::min({due_.next(), begins_.next(), flows_.next()}); }
  void End(Picos now, std::vector<Transfer>& transfers, std::vector<TransferIndex>& ended);

 private:
  using Id = Problem::Compiled::Id;

  // What a transfer waits for and holds. Engine pools are resources 0..2D-1, link directions follow.
  std::span<const Id> Resources(const Transfer& transfer) const {
    const auto route = static_cast<std::size_t>(transfer.route - c_.routes.data());
    return {resources_.data() + resources_begin_[route], resources_.data() + resources_begin_[route + 1]};
  }
  void SetRates(const std::vector<Transfer>& transfers, std::vector<Flows::Flow>& flows);
  void CountCapacities(const std::vector<Transfer>& transfers, const std::vector<Flows::Flow>& flows);
  std::span<const Id> Directions(const Transfer& transfer) const {
    return {c_.route_directions.data() + transfer.route->first,
            c_.route_directions.data() + transfer.route->last};
  }

  const Problem::Compiled& c_;
  const Sharing sharing_;
  const bool has_flows_;  // exclusive links of constant rate need none: the end is known at the start
  std::vector<std::int32_t> units_;  // by resource
  std::vector<Id> resources_begin_;  // by route
  std::vector<Id> resources_;
  ResourceQueues queues_;
  DueHeap due_;     // ends that are known
  DueHeap begins_;  // flows whose latency runs
  Flows flows_;
  FairShare fair_share_;
  std::vector<FairShare::Flow> fair_flows_;
  std::vector<std::int64_t> capacity_;  // [mB/s] by link direction
  std::vector<std::int32_t> flowing_;   // flows by link direction
  std::vector<TransferIndex> beginning_;
};

}  // namespace berth::sim
