// Transfers of a run, and what the interconnects share. Internal to sim/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/native/event_tree.h"
#include "sim/native/plan.h"

namespace berth::sim {

using TransferIndex = std::int32_t;  // = the queue number of docs/model.md

// The transfers that have queued, by queue number.
class Transfers {
 public:
  // The transfers, and by queue number which.
  Transfers(const ById<Transfer>& transfers, const ById<Problem::Compiled::Id>& queued)
      : planned_(transfers), queued_(queued) {}
  const Transfer& operator[](TransferIndex t) const { return planned_[queued_[t]]; }

 private:
  const ById<Transfer>& planned_;
  const ById<Problem::Compiled::Id>& queued_;
};

// When something of a transfer is due; before another by time, then queue number.
struct Due {
  Picos time;
  TransferIndex transfer;
  friend bool operator<(const Due& a, const Due& b) {
    return a.time != b.time ? a.time < b.time : a.transfer < b.transfer;
  }
  friend bool operator>(const Due& a, const Due& b) { return b < a; }
};

// Any number of transfers whose next due time is known when they are pushed; pops them by (time, queue
// number).
class DueHeap {
 public:
  void Clear() { heap_.clear(); }
  void Reserve(std::size_t count) { heap_.reserve(count); }
  Picos next() const { return heap_.empty() ? kNever : heap_.front().time; }
  void Push(Picos time, TransferIndex transfer) {
    heap_.push_back({time, transfer});
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  // Moves those due at `now` to the end of `due`, in order of queue numbers.
  void PopDue(Picos now, std::vector<TransferIndex>& due) {
    while (!heap_.empty() && heap_.front().time == now) {
      due.push_back(heap_.front().transfer);
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      heap_.pop_back();
    }
  }

  void Shift(Picos shift) {
    for (Due& due : heap_) due.time += shift;
  }
  // Whether the other holds the same, `shift` earlier; `same` says which transfers are.
  template <typename Same>
  bool Equals(const DueHeap& other, Picos shift, Same& same) const {
    return std::equal(heap_.begin(), heap_.end(), other.heap_.begin(), other.heap_.end(),
                      [&](const Due& mine, const Due& theirs) {
                        return mine.time == theirs.time + shift && same(mine.transfer, theirs.transfer);
                      });
  }

 private:
  std::vector<Due> heap_;
};

// The same for the few that hold an engine or a link: a sorted list, shorter than a heap takes to sift.
class DueList {
 public:
  void Clear() { list_.clear(); }
  void Reserve(std::size_t count) { list_.reserve(count); }
  Picos next() const { return list_.empty() ? kNever : list_.back().time; }
  void Push(Picos time, TransferIndex transfer) {
    const Due due{time, transfer};
    list_.push_back(due);
    auto at = list_.end() - 1;
    for (; at != list_.begin() && *(at - 1) < due; --at) *at = *(at - 1);
    *at = due;
  }
  void PopDue(Picos now, std::vector<TransferIndex>& due) {
    while (!list_.empty() && list_.back().time == now) {
      due.push_back(list_.back().transfer);
      list_.pop_back();
    }
  }

  void Shift(Picos shift) {
    for (Due& due : list_) due.time += shift;
  }
  // Whether the other holds the same, `shift` earlier; `same` says which transfers are.
  template <typename Same>
  bool Equals(const DueList& other, Picos shift, Same& same) const {
    return std::equal(list_.begin(), list_.end(), other.list_.begin(), other.list_.end(),
                      [&](const Due& mine, const Due& theirs) {
                        return mine.time == theirs.time + shift && same(mine.transfer, theirs.transfer);
                      });
  }

 private:
  std::vector<Due> list_;  // the next one last
};

}  // namespace berth::sim
