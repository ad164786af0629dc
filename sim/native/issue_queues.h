// In which order a host thread issues its ops (docs/model.md section 2). Internal to sim/native/.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "sim/native/plan.h"

namespace berth::sim {

// The host threads of a cluster: each has the issuable ops that it has not taken yet. All arrays are shared
// by the threads, each of which owns a segment of the length of its number of ops.
class IssueQueues {
 public:
  // spare: so many more ops may come to each thread than Reset() says.
  explicit IssueQueues(std::int32_t spare) : spare_(spare) {}

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

  Order order() const { return order_; }

  // The part of the state that matters from now on. `more`: by thread, of how many more ops of its list it has
  // taken than there. Of a list equality says that as many others have been taken and what comes next.
  struct Live;
  void Save(Live& live) const;
  void Load(const Live& live, const ById<std::int32_t>& more);
  bool Equals(const Live& live, const ById<std::int32_t>& more) const;

  // Lists only; rank: by op, its place in the list of all. Where the op is, or would be, in the thread's list.
  std::int32_t PlaceOf(std::int32_t thread, OpIndex op, const ById<std::int32_t>& rank) const;
  bool HasTaken(std::int32_t thread, OpIndex op, const ById<std::int32_t>& rank) const {
    return PlaceOf(thread, op, rank) < ends_[thread].head;
  }
  bool IsFirst(std::int32_t thread, std::int32_t place) const { return place == ends_[thread].begin; }
  OpIndex AtPlace(std::int32_t place) const { return ops_[place]; }
  void MoveInLists(OpIndex op, std::int32_t from, std::int32_t to, const ById<std::int32_t>& rank);

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
    std::int32_t begin = 0, head = 0, tail = 0;
  };
  OpIndex Next(Ends ends) const { return ends.head < ends.tail ? ops_[ends.head] : -1; }

  std::int32_t spare_;
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
    ends_.push_back({begin, begin, begin});
    begin += count + spare_;
  }
  // Sized at the first run, for whatever order the next ones ask.
  ops_.resize(static_cast<std::size_t>(begin));
  heap_.resize(static_cast<std::size_t>(begin));
  if (order != Order::kList) return;
  for (const OpIndex op : list) ops_[ends_[thread_of(op)].tail++] = op;
}

struct IssueQueues::Live {
  ById<Ends> ends;
  std::vector<Entry> entries;  // of each thread in turn; of a list its next op
  std::int64_t sequence = 0;
};

inline void IssueQueues::Save(Live& live) const {
  live.ends = ends_;
  live.sequence = sequence_;
  live.entries.clear();
  for (const Ends ends : ends_) {
    if (order_ == Order::kList) live.entries.push_back({0, 0, Next(ends)});
    for (auto place = ends.head; place < ends.tail && order_ != Order::kList; ++place)
      live.entries.push_back(order_ == Order::kPriority ? heap_[place] : Entry{0, 0, ops_[place]});
  }
}

inline void IssueQueues::Load(const Live& live, const ById<std::int32_t>& more) {
  sequence_ = live.sequence;
  if (order_ == Order::kList) {
    for (std::int32_t t = 0; t < static_cast<std::int32_t>(ends_.size()); ++t)
      ends_[t].head = live.ends[t].head + more[t];
    return;
  }
  ends_ = live.ends;
  auto next = live.entries.begin();
  for (const Ends ends : ends_) {
    for (auto place = ends.head; place < ends.tail; ++place, ++next) {
      ops_[place] = next->op;
      heap_[place] = *next;
    }
  }
}

inline bool IssueQueues::Equals(const Live& live, const ById<std::int32_t>& more) const {
  auto next = live.entries.begin();
  for (std::int32_t t = 0; t < static_cast<std::int32_t>(ends_.size()); ++t) {
    const Ends mine = ends_[t], theirs = live.ends[t];
    if (order_ == Order::kList) {
      if (mine.head != theirs.head + more[t] || Next(mine) != (next++)->op) return false;
      continue;
    }
    if (mine.tail - mine.head != theirs.tail - theirs.head) return false;
    for (auto place = mine.head; place < mine.tail; ++place, ++next) {
      if (order_ == Order::kFirstIssuable) {
        if (ops_[place] != next->op) return false;
      } else if (heap_[place].op != next->op ||
                 sequence_ - heap_[place].sequence != live.sequence - next->sequence) {
        return false;
      }
    }
  }
  return true;
}

inline std::int32_t IssueQueues::PlaceOf(std::int32_t thread, OpIndex op,
                                         const ById<std::int32_t>& rank) const {
  const Ends ends = ends_[thread];
  const auto before = [&](OpIndex a, OpIndex b) { return rank[a] < rank[b]; };
  const auto found = std::lower_bound(ops_.begin() + ends.begin, ops_.begin() + ends.tail, op, before);
  return static_cast<std::int32_t>(found - ops_.begin());
}

inline void IssueQueues::MoveInLists(OpIndex op, std::int32_t from, std::int32_t to,
                                     const ById<std::int32_t>& rank) {
  const auto old = ops_.begin() + PlaceOf(from, op, rank);
  std::copy(old + 1, ops_.begin() + ends_[from].tail--, old);
  const auto place = ops_.begin() + PlaceOf(to, op, rank);
  std::copy_backward(place, ops_.begin() + ends_[to].tail, ops_.begin() + ends_[to].tail + 1);
  ++ends_[to].tail;
  *place = op;
}

}  // namespace berth::sim
