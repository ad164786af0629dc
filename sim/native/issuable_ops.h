// The ops that each host thread may issue, or knows when it may, in the order of becoming issuable
// (docs/model.md section 2). Internal to sim/native/.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "sim/compiled.h"

namespace stowplan::sim {

template <typename Moment>
class IssuableOps {
 public:
  explicit IssuableOps(OpIndex ops) : ops_(ops) {}

  // `priority`: by op; empty = first come, first served. Then AddThread() for each.
  void Reset(std::span<const double> priority) {
    priority_ = priority;
    // Sized when they are needed first.
    line_.resize(static_cast<std::size_t>(ops_));
    early_.resize(static_cast<std::size_t>(ops_));
    if (!priority.empty()) ranked_.resize(static_cast<std::size_t>(ops_));
    ends_.clear();
    sequence_ = 0;
  }
  // begin: how many ops the threads before it have.
  void AddThread(std::int32_t begin) { ends_.push_back({begin, begin, begin, begin, begin}); }

  // `number`: the order among those of one moment, before that of the ops.
  void Add(std::int32_t thread, OpIndex op, Moment when, std::int32_t number) {
    Ends& ends = ends_[thread];
    const Entry entry{when, Turn(number, op)};
    if (ends.head == ends.tail || line_[ends.tail - 1] < entry) {
      line_[ends.tail++] = entry;
      return;
    }
    early_[ends.early++] = entry;
    std::push_heap(early_.begin() + ends.begin, early_.begin() + ends.early, std::greater<>());
  }
  bool empty(std::int32_t thread) const {
    const Ends& ends = ends_[thread];
    return ends.head == ends.tail && ends.early == ends.begin && ends.ranked == ends.begin;
  }
  // When the first of those that are left may be issued; they must not be none.
  Moment Earliest(std::int32_t thread) const {
    const Ends& ends = ends_[thread];
    return ends.ranked > ends.begin ? Moment{0} : First(ends).when;
  }
  // The next that the thread issues, if that is at this moment, which is not before the earliest.
  OpIndex Take(std::int32_t thread, Moment at) {
    Ends& ends = ends_[thread];
    if (priority_.empty()) return OpOf(Pop(ends));
    while ((ends.head < ends.tail || ends.early > ends.begin) && First(ends).when <= at) {
      const OpIndex op = OpOf(Pop(ends));
      ranked_[ends.ranked++] = {priority_[static_cast<std::size_t>(op)], sequence_++, op};
      std::push_heap(ranked_.begin() + ends.begin, ranked_.begin() + ends.ranked);
    }
    std::pop_heap(ranked_.begin() + ends.begin, ranked_.begin() + ends.ranked);
    return ranked_[--ends.ranked].op;
  }

 private:
  struct Entry {
    Moment when;
    std::uint64_t turn;
    friend bool operator<(const Entry& a, const Entry& b) {
      return a.when != b.when ? a.when < b.when : a.turn < b.turn;
    }
    friend bool operator>(const Entry& a, const Entry& b) { return b < a; }
  };
  struct Ranked {
    double priority;
    std::int64_t sequence;
    OpIndex op;
    friend bool operator<(const Ranked& a, const Ranked& b) {
      return a.priority != b.priority ? a.priority < b.priority : a.sequence > b.sequence;
    }
  };
  struct Ends {
    std::int32_t begin, head, tail, early, ranked;
  };
  static std::uint64_t Turn(std::int32_t number, OpIndex op) {
    return static_cast<std::uint64_t>(std::int64_t{number} - INT32_MIN) << 32 |
           static_cast<std::uint32_t>(op);
  }
  static OpIndex OpOf(const Entry& entry) { return static_cast<OpIndex>(entry.turn); }
  bool EarlyIsFirst(const Ends& ends) const {
    return ends.early > ends.begin && (ends.head == ends.tail || early_[ends.begin] < line_[ends.head]);
  }
  const Entry& First(const Ends& ends) const {
    return EarlyIsFirst(ends) ? early_[ends.begin] : line_[ends.head];
  }
  Entry Pop(Ends& ends) {
    if (!EarlyIsFirst(ends)) return line_[ends.head++];
    std::pop_heap(early_.begin() + ends.begin, early_.begin() + ends.early, std::greater<>());
    return early_[--ends.early];
  }

  OpIndex ops_;
  std::span<const double> priority_;
  // Each thread owns a segment of the length of its number of ops.
  ById<Entry> line_;     // most come in their order
  ById<Entry> early_;    // a heap of those that came late
  ById<Ranked> ranked_;  // with priorities: a heap of those that can be issued now
  ById<Ends> ends_;      // by thread
  std::int64_t sequence_ = 0;
};

}  // namespace stowplan::sim
