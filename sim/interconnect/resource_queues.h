// First-in-first-out waiting at several resources at once (docs/model.md section 4). Internal to
// sim/interconnect/.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "sim/native/transfers.h"

namespace berth::sim {

// A waiting transfer starts when it is the first that waits at each of its resources and each has a free unit.
// Once that holds at one of them it goes on to hold there until the transfer starts, because only the first
// may take a unit. So each transfer counts at how many resources it does not hold yet.
class ResourceQueues {
 public:
  using Id = Problem::Compiled::Id;

  // For so many transfers in a run, which wait at no more than so many of the resources each. `spare`: so many
  // more may come, in all and at each resource.
  ResourceQueues(std::size_t transfers, std::size_t resources, std::size_t resources_each, std::int32_t spare)
      : spare_(spare),
        queue_(transfers * resources_each + resources * static_cast<std::size_t>(spare)),
        blocked_(transfers + static_cast<std::size_t>(spare)) {
    ready_.reserve(blocked_.size());
  }

  // units: by resource. resources_of(route): what its transfers wait for and hold.
  template <typename ResourcesOf>
  void Reset(const ById<std::int32_t>& units, const ById<Id>& route_transfers,
             const ResourcesOf& resources_of);

  void Queue(TransferIndex item, std::span<const Id> resources) {
    auto blocked = static_cast<std::int32_t>(resources.size());
    for (const Id r : resources) {
      Resource& resource = resources_[r];
      blocked -= resource.head == resource.tail && resource.free > 0;
      queue_[resource.tail++] = item;
    }
    blocked_[item] = blocked;
    if (blocked == 0) Ready(item);
  }
  void Release(std::span<const Id> resources) {
    for (const Id r : resources) {
      Resource& resource = resources_[r];
      if (resource.free++ == 0 && resource.head < resource.tail) Offer(queue_[resource.head]);
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
        ++resource.head;
        if (--resource.free > 0 && resource.head < resource.tail) Offer(queue_[resource.head]);
      }
      start(item);
    }
  }

  // The part of the state that matters from now on.
  struct Live {
    struct Waiting {
      TransferIndex item;
      std::int32_t blocked;
    };
    struct Resource {
      std::int32_t head = 0, tail = 0;  // places of queue_
      std::int32_t free = 0;            // units
    };
    ById<Resource> resources;
    std::vector<Waiting> waiting;  // at each resource in turn
  };
  // Between passes: nothing is ready that has not started.
  void Save(Live& live) const {
    live.resources = resources_;
    live.waiting.clear();
    for (const Resource& resource : resources_)
      for (auto place = resource.head; place < resource.tail; ++place)
        live.waiting.push_back({queue_[place], blocked_[queue_[place]]});
  }
  void Load(const Live& live) {
    resources_ = live.resources;
    auto next = live.waiting.begin();
    for (const Resource& resource : resources_) {
      for (auto place = resource.head; place < resource.tail; ++place, ++next) {
        queue_[place] = next->item;
        blocked_[next->item] = next->blocked;
      }
    }
  }
  template <typename Same>
  bool Equals(const Live& live, Same& same) const {
    auto next = live.waiting.begin();
    for (Id r = 0; r < static_cast<Id>(resources_.size()); ++r) {
      const Resource &mine = resources_[r], &theirs = live.resources[r];
      if (mine.free != theirs.free || mine.tail - mine.head != theirs.tail - theirs.head) return false;
      for (auto place = mine.head; place < mine.tail; ++place, ++next) {
        if (!same(queue_[place], next->item) || blocked_[queue_[place]] != next->blocked) return false;
      }
    }
    return true;
  }

 private:
  using Resource = Live::Resource;
  void Offer(TransferIndex item) {
    if (--blocked_[item] == 0) Ready(item);
  }
  void Ready(TransferIndex item) {
    ready_.push_back(item);
    if (ready_.size() > 1) std::push_heap(ready_.begin(), ready_.end(), std::greater<>());
  }

  std::int32_t spare_;
  ById<Resource> resources_;
  ById<TransferIndex> queue_;         // a segment for each resource; those before its head have started
  ById<std::int32_t> blocked_;        // by transfer
  std::vector<TransferIndex> ready_;  // a heap, lowest number first
};

template <typename ResourcesOf>
void ResourceQueues::Reset(const ById<std::int32_t>& units, const ById<Id>& route_transfers,
                           const ResourcesOf& resources_of) {
  resources_.assign(units.size(), {});
  ready_.clear();
  for (Id route = 0; route < static_cast<Id>(route_transfers.size()); ++route) {
    if (route_transfers[route] == 0) continue;
    for (const Id r : resources_of(route)) resources_[r].tail += route_transfers[route];
  }
  std::int32_t begin = 0;
  for (Id r = 0; r < static_cast<Id>(units.size()); ++r) {
    const std::int32_t places = resources_[r].tail;
    resources_[r] = {begin, begin, units[r]};
    begin += places + spare_;
  }
}

}  // namespace berth::sim
