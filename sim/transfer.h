// One transfer of a run, and what the interconnects share. Internal to sim/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/compiled.h"

namespace berth::sim {

inline constexpr Picos kNever = std::numeric_limits<Picos>::max();

using TransferIndex = std::int32_t;  // = the queue number of docs/model.md

struct Transfer {
  Problem::Compiled::Id output = 0;  // output id, kNone for control
  OpIndex producer = 0;
  DeviceIndex from = 0;
  DeviceIndex to = 0;
  Bytes bytes = 0;
  const Problem::Compiled::Route* route = nullptr;
  Picos move = 0;  // M: time beyond the latency when nothing is shared
  Picos queued = 0;
  Picos start = 0;
  Picos end = 0;
  std::int32_t holders = 0;  // of the received copy: the arrival and its readers
  bool light = false;
};

// Transfers whose next due time is known when they are pushed; pops them by (time, queue number).
class DueHeap {
 public:
  void Clear() { heap_.clear(); }
  void Reserve(std::size_t count) { heap_.reserve(count); }
  Picos next() const { return heap_.empty() ? kNever : heap_.front().time; }
  void Push(Picos time, TransferIndex transfer) {
    heap_.push_back({time, transfer});
    std::push_heap(heap_.begin(), heap_.end(), Later{});
  }
  // Moves those due at `now` to the end of `due`, in order of queue numbers.
  void PopDue(Picos now, std::vector<TransferIndex>& due) {
    while (!heap_.empty() && heap_.front().time == now) {
      due.push_back(heap_.front().transfer);
      std::pop_heap(heap_.begin(), heap_.end(), Later{});
      heap_.pop_back();
    }
  }

 private:
  struct Entry {
    Picos time;
    TransferIndex transfer;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.time != b.time ? a.time > b.time : a.transfer > b.transfer;
    }
  };
  std::vector<Entry> heap_;
};

// Measures how long each link direction is in use and what it carries.
class LinkMeter {
 public:
  void Reset(std::size_t links) {
    active_.assign(2 * links, 0);
    since_.assign(2 * links, 0);
    use_.assign(links, {});
  }
  void Start(const Problem::Compiled& c, const Transfer& transfer, Picos now) {
    for (auto i = transfer.route->first; i < transfer.route->last; ++i) {
      const auto direction = static_cast<std::size_t>(c.route_directions[static_cast<std::size_t>(i)]);
      if (active_[direction]++ == 0) since_[direction] = now;
      use_[direction / 2].bytes += transfer.bytes;
    }
  }
  void End(const Problem::Compiled& c, const Transfer& transfer, Picos now) {
    for (auto i = transfer.route->first; i < transfer.route->last; ++i) {
      const auto direction = static_cast<std::size_t>(c.route_directions[static_cast<std::size_t>(i)]);
      if (--active_[direction] == 0) use_[direction / 2].busy += now - since_[direction];
    }
  }
  const std::vector<LinkUse>& use() const { return use_; }

 private:
  std::vector<std::int32_t> active_;
  std::vector<Picos> since_;
  std::vector<LinkUse> use_;
};

}  // namespace berth::sim
