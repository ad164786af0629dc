// In which order a host thread issues its ops (docs/model.md section 2). Internal to sim/native/.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "sim/native/plan.h"

namespace berth::sim {

// The host threads of a cluster: each has the issuable ops that it has not taken yet. All arrays are shared
// by the threads, each of which owns a stretch of the length of its number of ops.
class IssueQueues {
 public:
  enum class Order : std::uint8_t { kFirstIssuable, kPriority, kList };

  // ops: by thread. thread_of(op). `list`: the order of kList, all ops; `priority`: by op, for kPriority.
  template <typename ThreadOf>
  void Reset(const ById<std::int32_t>& ops, const ThreadOf& thread_of, Order order,
             std::span<const OpIndex> list, std::span<const double> priority);

  void BecomesIssuable(std::int32_t thread, OpIndex op) {
    if (order_ == Order::kFirstIssuable) {
      ops_[ends_[thread].tail++] = op;
    } else if (order_ == Order::kPriority) {
      Ends& ends = ends_[thread];
      heap_[ends.tail++] = {priority_[static_cast<std::size_t>(op)], sequence_++, op};
      std::push_heap(heap_.begin() + ends.head, heap_.begin() + ends.tail, After{});
    }
  }
  bool HasNext(std::int32_t thread, const Counts& counts) const {
    const Ends ends = ends_[thread];
    return ends.head < ends.tail && (order_ != Order::kList || counts.ops[ops_[ends.head]].missing == 0);
  }
  OpIndex Take(std::int32_t thread) {
    Ends& ends = ends_[thread];
    if (order_ != Order::kPriority) return ops_[ends.head++];
    std::pop_heap(heap_.begin() + ends.head, heap_.begin() + ends.tail, After{});
    return heap_[--ends.tail].op;
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
  struct Ends {
    std::int32_t head = 0, tail = 0;
  };

  Order order_ = Order::kFirstIssuable;
  ById<OpIndex> ops_;  // first in, first out; or the lists
  ById<Entry> heap_;   // for kPriority
  std::span<const double> priority_;
  ById<Ends> ends_;  // by thread
  std::int64_t sequence_ = 0;
};

template <typename ThreadOf>
void IssueQueues::Reset(const ById<std::int32_t>& ops, const ThreadOf& thread_of, Order order,
                        std::span<const OpIndex> list, std::span<const double> priority) {
  order_ = order;
  priority_ = priority;
  sequence_ = 0;
  ends_.clear();
  std::int32_t begin = 0;
  for (const std::int32_t count : ops) {
    ends_.push_back({begin, begin});
    begin += count;
  }
  // Sized at the first run, for whatever order the next ones ask.
  ops_.resize(static_cast<std::size_t>(begin));
  heap_.resize(static_cast<std::size_t>(begin));
  if (order != Order::kList) return;
  for (const OpIndex op : list) ops_[ends_[thread_of(op)].tail++] = op;
}

}  // namespace berth::sim
