// In which order a host thread issues its ops (docs/model.md section 2). Internal to sim/.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "sim/transfer.h"

namespace berth::sim {

// The host threads of a cluster: each has the issuable ops that it has not taken yet. All arrays are shared
// by the threads, each of which owns a stretch of the length of its number of ops, so nothing is allocated in
// a run.
class IssueQueues {
 public:
  enum class Order : std::uint8_t { kFirstIssuable, kPriority, kList };

  // thread_of: by op. `list`: the order of kList, all ops; `priority`: by op, for kPriority.
  void Reset(int threads, std::span<const std::int32_t> thread_of, Order order, std::span<const OpIndex> list,
             std::span<const double> priority);

  void BecomesIssuable(std::int32_t thread, OpIndex op) {
    const auto t = static_cast<std::size_t>(thread);
    switch (order_) {
      case Order::kFirstIssuable:
        ops_[static_cast<std::size_t>(tail_[t]++)] = op;
        break;
      case Order::kPriority:
        heap_[static_cast<std::size_t>(tail_[t]++)] = {priority_[static_cast<std::size_t>(op)], sequence_++,
                                                       op};
        std::push_heap(heap_.begin() + head_[t], heap_.begin() + tail_[t], After{});
        break;
      case Order::kList:
        issuable_[static_cast<std::size_t>(op)] = 1;
        break;
    }
  }
  bool HasNext(std::int32_t thread) const {
    const auto t = static_cast<std::size_t>(thread);
    if (order_ != Order::kList) return head_[t] < tail_[t];
    return head_[t] < tail_[t] &&
           issuable_[static_cast<std::size_t>(ops_[static_cast<std::size_t>(head_[t])])] != 0;
  }
  OpIndex Take(std::int32_t thread) {
    const auto t = static_cast<std::size_t>(thread);
    if (order_ != Order::kPriority) return ops_[static_cast<std::size_t>(head_[t]++)];
    std::pop_heap(heap_.begin() + head_[t], heap_.begin() + tail_[t], After{});
    return heap_[static_cast<std::size_t>(--tail_[t])].op;
  }

 private:
  struct Entry {
    double priority;
    std::int64_t sequence;
    OpIndex op;
  };
  struct After {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.priority != b.priority ? a.priority < b.priority : a.sequence > b.sequence;
    }
  };

  Order order_ = Order::kFirstIssuable;
  std::vector<OpIndex> ops_;  // first in, first out; or the lists
  std::vector<Entry> heap_;
  std::vector<std::uint8_t> issuable_;  // by op, for kList
  std::span<const double> priority_;
  std::vector<std::int32_t> head_, tail_;  // by thread
  std::int64_t sequence_ = 0;
};

inline void IssueQueues::Reset(int threads, std::span<const std::int32_t> thread_of, Order order,
                               std::span<const OpIndex> list, std::span<const double> priority) {
  order_ = order;
  priority_ = priority;
  sequence_ = 0;
  head_.assign(static_cast<std::size_t>(threads), 0);
  for (const auto thread : thread_of) ++head_[static_cast<std::size_t>(thread)];
  std::int32_t begin = 0;
  for (auto& head : head_) begin += std::exchange(head, begin);
  tail_ = head_;
  ops_.resize(thread_of.size());
  if (order == Order::kPriority) heap_.resize(thread_of.size());
  if (order != Order::kList) return;
  issuable_.assign(thread_of.size(), 0);
  for (const OpIndex op : list) {
    ops_[static_cast<std::size_t>(
        tail_[static_cast<std::size_t>(thread_of[static_cast<std::size_t>(op)])]++)] = op;
  }
}

}  // namespace berth::sim
