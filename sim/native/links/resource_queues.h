// First-in-first-out waiting at several resources at once (docs/model.md section 4). Internal to sim/native/.
#pragma once

#include <algorithm>
#include <bit>
#include <functional>
#include <span>
#include <vector>

#include "sim/native/transfers.h"

namespace stowplan::sim {

// A waiting transfer starts when it is the first that waits at each of its resources and each has a free unit.
// Once that holds at one of them it goes on to hold there until the transfer starts, because only the first
// may take a unit. So each transfer counts at how many resources it does not hold yet.
class ResourceQueues {
 public:
  using Id = Compiled::Id;

  // For so many transfers in a run, which wait at no more than so many of the resources each. units: by resource.
  ResourceQueues(std::size_t transfers, std::size_t resources_each, const ById<std::int32_t>& units)
      : shift_(std::bit_width(resources_each - 1)),
        units_(units),
        next_(transfers << shift_),
        blocked_(transfers) {
    ready_.reserve(transfers);
  }

  void Reset() {
    resources_.clear();
    for (const std::int32_t units : units_) resources_.push_back({.free = units});
    ready_.clear();
  }
  void Queue(TransferIndex item, std::span<const Id> resources) {
    auto blocked = static_cast<std::int32_t>(resources.size());
    auto place = static_cast<std::size_t>(item) << shift_;
    for (const Id r : resources) {
      Resource& resource = resources_[r];
      blocked -= resource.waiting == 0 && resource.free > 0;
      if (resource.waiting++ == 0) {
        resource.head = place;
      } else {
        next_[resource.tail] = place;
      }
      resource.tail = place++;
    }
    blocked_[item] = blocked;
    if (blocked == 0) Ready(item);
  }
  void Release(std::span<const Id> resources) {
    for (const Id r : resources) {
      Resource& resource = resources_[r];
      if (resource.free++ == 0 && resource.waiting > 0) Offer(resource);
    }
  }
  // Calls start(item) for all that may start, in order of their numbers. resources_of(item) as in Queue().
  template <typename ResourcesOf, typename StartItem>
  void StartAll(const ResourcesOf& resources_of, const StartItem& start) {
    while (!ready_.empty()) {
      if (ready_.size() > 1) std::pop_heap(ready_.begin(), ready_.end(), std::greater<>());
      const TransferIndex item = ready_.back();
      ready_.pop_back();
      for (const Id r : resources_of(item)) {
        Resource& resource = resources_[r];
        if (--resource.waiting > 0) resource.head = next_[resource.head];
        if (--resource.free > 0 && resource.waiting > 0) Offer(resource);
      }
      start(item);
    }
  }

 private:
  // Each resource of a transfer is a place of its own: the transfer's number, then which.
  struct Resource {
    std::size_t head = 0, tail = 0;  // places
    std::int32_t waiting = 0;
    std::int32_t free = 0;  // units
  };
  void Offer(const Resource& resource) {
    const auto item = static_cast<TransferIndex>(resource.head >> shift_);
    if (--blocked_[item] == 0) Ready(item);
  }
  void Ready(TransferIndex item) {
    ready_.push_back(item);
    if (ready_.size() > 1) std::push_heap(ready_.begin(), ready_.end(), std::greater<>());
  }

  const int shift_;
  const ById<std::int32_t> units_;
  ById<Resource> resources_;
  std::vector<std::size_t> next_;     // by place: the next that waits there
  ById<std::int32_t> blocked_;        // by transfer
  std::vector<TransferIndex> ready_;  // a heap, lowest number first
};

}  // namespace stowplan::sim
