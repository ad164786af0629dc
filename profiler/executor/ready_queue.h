// The ops of one device that may be issued, in the order that docs/model.md section 2 says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/cluster.h"
#include "sim/op_graph.h"
#include "sim/placement.h"

namespace stowplan::profiler {

class ReadyQueue {
 public:
  // Of the ops that `placement` gives to `device`, sources left out.
  ReadyQueue(const sim::OpGraph& graph, const sim::Cluster& cluster, const sim::Placement& placement,
             sim::DeviceIndex device)
      : priority_(&placement.priority) {
    const bool by_program = cluster.dispatch.order == sim::Dispatch::Order::kProgram && priority_->empty();
    if (placement.order.empty() && !by_program) return;
    for (const sim::OpIndex op : placement.order.empty() ? graph.topological_order() : placement.order) {
      const auto index = static_cast<std::size_t>(op);
      if (placement.device[index] == device && !graph.ops[index].IsSource()) list_.push_back(op);
    }
    issuable_.resize(graph.ops.size());
  }

  void Reset() {
    head_ = 0;
    ready_.clear();
    std::fill(issuable_.begin(), issuable_.end(), std::uint8_t{0});
  }

  void Add(sim::OpIndex op) {
    if (!list_.empty()) {
      issuable_[static_cast<std::size_t>(op)] = 1;
      return;
    }
    ready_.push_back(op);
    if (!priority_->empty()) std::push_heap(ready_.begin(), ready_.end(), Later{priority_});
  }

  // The op to issue next, or -1.
  sim::OpIndex Take() {
    if (!list_.empty()) {
      if (head_ == list_.size() || issuable_[static_cast<std::size_t>(list_[head_])] == 0) return -1;
      return list_[head_++];
    }
    if (!priority_->empty()) {
      if (ready_.empty()) return -1;
      std::pop_heap(ready_.begin(), ready_.end(), Later{priority_});
      const sim::OpIndex op = ready_.back();
      ready_.pop_back();
      return op;
    }
    return head_ == ready_.size() ? -1 : ready_[head_++];
  }

 private:
  // Of equal priorities the lower op goes first.
  struct Later {
    const std::vector<double>* priority;
    bool operator()(sim::OpIndex a, sim::OpIndex b) const {
      const double x = (*priority)[static_cast<std::size_t>(a)], y = (*priority)[static_cast<std::size_t>(b)];
      return x != y ? x < y : a > b;
    }
  };

  const std::vector<double>* priority_;
  std::vector<sim::OpIndex> list_;
  std::vector<std::uint8_t> issuable_;  // by op, where there is a list
  std::vector<sim::OpIndex> ready_;
  std::size_t head_ = 0;
};

}  // namespace stowplan::profiler
