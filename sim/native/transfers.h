// Transfers of a run, and what the classes of links share. Internal to sim/native/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/compiled.h"

namespace stowplan::sim {

using TransferIndex = std::int32_t;  // = the queue number of docs/model.md

// A transfer that is not light: one output to one device.
struct Transfer {
  Picos move = 0;  // M: time beyond the latency when nothing is shared
  Bytes bytes = 0;
  OpIndex producer = 0;
  Compiled::Id sender = 0;
  Compiled::Id route = 0;
  Compiled::Id first_reader = 0, readers_end = 0;  // (transport.h)
};
using Transfers = ById<Transfer>;  // by queue number

// Transfers whose next due time is known when they are pushed, as few as hold an engine or a link; pops them
// by (time, queue number). A sorted list is shorter than a heap takes to sift.
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
  // Moves those due at `now` to the end of `due`, in order of queue numbers.
  void PopDue(Picos now, std::vector<TransferIndex>& due) {
    while (!list_.empty() && list_.back().time == now) {
      due.push_back(list_.back().transfer);
      list_.pop_back();
    }
  }

 private:
  struct Due {
    Picos time;
    TransferIndex transfer;
    friend bool operator<(const Due& a, const Due& b) {
      return a.time != b.time ? a.time < b.time : a.transfer < b.transfer;
    }
  };
  std::vector<Due> list_;  // the next one last
};

}  // namespace stowplan::sim
