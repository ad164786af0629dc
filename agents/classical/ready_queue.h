// Ready ops of one device in the order in which they could start there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <vector>

#include "sim/base/units.h"
#include "sim/op_graph.h"

namespace stowplan::agents {

struct Candidate {
  sim::OpIndex op = -1;  // -1 = there is none
  sim::Picos start = std::numeric_limits<sim::Picos>::max();
  std::int32_t position = 0;  // of the op; decides between equal starts

  bool Before(const Candidate& other) const {
    if (op < 0 || other.op < 0) return op >= 0 && other.op < 0;
    return start != other.start ? start < other.start : position < other.position;
  }
};

// Ready times are those of the push until Best() asks for today's: one that has grown is noticed when it
// matters, one that has shrunk wants a new push.
class ReadyQueue {
 public:
  void Push(sim::OpIndex op, sim::Picos ready, std::int32_t position) {
    waiting_.push({ready, position, op});
  }

  // The op that could start first on a device that is free from `free` on, which never falls from call to
  // call; stays in the queue. `refresh(op)`: its ready time today, or nothing: it is thrown out.
  template <typename Refresh>
  Candidate Best(sim::Picos free, const Refresh& refresh) {
    while (true) {
      for (; !waiting_.empty() && waiting_.top().ready <= free; waiting_.pop())
        startable_.push({0, waiting_.top().position, waiting_.top().op});
      Heap& heap = startable_.empty() ? waiting_ : startable_;
      if (heap.empty()) return {};
      const Entry entry = heap.top();
      const std::optional<sim::Picos> ready = refresh(entry.op);
      if (ready && *ready <= std::max(free, entry.ready))
        return {entry.op, std::max(free, *ready), entry.position};
      heap.pop();
      if (ready) Push(entry.op, *ready, entry.position);
    }
  }

 private:
  struct Entry {
    sim::Picos ready;  // 0 once the device waits for the op no more
    std::int32_t position;
    sim::OpIndex op;
    auto operator<=>(const Entry&) const = default;
  };
  using Heap = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

  Heap waiting_;    // by ready time, then position
  Heap startable_;  // by position
};

}  // namespace stowplan::agents
