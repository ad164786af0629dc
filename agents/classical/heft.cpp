// Heterogeneous earliest finish time (Topcuoglu, Hariri, Wu, IEEE TPDS 2002): ops in the order of falling
// upward rank (mean cost plus mean transfer along the heaviest path to the end), each on the device where it
// would finish first, filling gaps between what is already there.
//
// Beyond the paper: units, sources and memory as list_schedule.h says, a unit judged by its first op's finish
// plus the rest of the unit's work. The share of the outputs that counts as memory is 0 at first and grows
// until the placement fits: up to five samples, with memory=no one. Links are taken as idle: fails
// where transfers compete.
#include <algorithm>
#include <limits>

#include "agents/agents.h"
#include "agents/classical/list_schedule.h"

namespace stowplan::agents {
namespace {

using sim::DeviceIndex;
using sim::OpIndex;
using sim::Picos;

// Busy intervals of one device, in time order.
class Timetable {
 public:
  // The earliest start not before `ready` of a gap of `length`.
  Picos EarliestStart(Picos ready, Picos length) const {
    if (length == 0) return ready;
    auto next = std::upper_bound(busy_.begin(), busy_.end(), ready,
                                 [](Picos time, const Interval& interval) { return time < interval.end; });
    Picos start = ready;
    for (; next != busy_.end() && next->start < start + length; ++next) start = std::max(start, next->end);
    return start;
  }

  void Take(Picos start, Picos length) {
    if (length == 0) return;
    const auto place =
        std::upper_bound(busy_.begin(), busy_.end(), start,
                         [](Picos time, const Interval& interval) { return time < interval.start; });
    busy_.insert(place, {start, start + length});
  }

 private:
  struct Interval {
    Picos start;
    Picos end;
  };
  std::vector<Interval> busy_;
};

class HeftSchedule {
 public:
  explicit HeftSchedule(const Task& task) : task_(task), list_(task, task.devices) { Rank(); }

  UnitPlacement Place(double share) {
    list_.Start(share);
    end_.assign(order_.size(), 0);
    timetable_.assign(task_.problem->cluster().devices.size(), {});
    const sim::OpGraph& graph = task_.problem->graph();
    for (const OpIndex op : order_) {
      const UnitIndex unit = list_.UnitOf(op);
      if (list_.DeviceOf(unit) < 0) {
        if (graph.ops[static_cast<std::size_t>(op)].IsSource()) continue;  // with its first consumer
        list_.Assign(unit, BestDevice(op));
      }
      Run(op);
    }
    return list_.Finish();
  }

 private:
  void Rank() {
    const std::vector<OpIndex>& topological = task_.problem->graph().topological_order();
    std::vector<Picos> rank(topological.size(), 0);
    for (auto op = topological.rbegin(); op != topological.rend(); ++op) {
      Picos& own = rank[static_cast<std::size_t>(*op)];  // by now the heaviest path behind the op
      own += list_.MeanLength(*op);
      for (const Dependency& dependency : list_.DependenciesOf(*op)) {
        Picos& before = rank[static_cast<std::size_t>(dependency.producer)];
        before = std::max(before, own + list_.MeanTransfer(dependency.bytes));
      }
    }
    // Stable over the topological order, so that producers of equal rank still come first.
    order_ = topological;
    std::stable_sort(order_.begin(), order_.end(), [&](OpIndex a, OpIndex b) {
      return rank[static_cast<std::size_t>(a)] > rank[static_cast<std::size_t>(b)];
    });
  }

  Picos Ready(OpIndex op, DeviceIndex d) const {
    Picos ready = 0;
    for (const Dependency& dependency : list_.DependenciesOf(op)) {
      const DeviceIndex there = list_.DeviceOf(list_.UnitOf(dependency.producer));
      const Picos transfer = there < 0 ? 0 : task_.TransferEstimate(dependency.bytes, there, d);
      ready = std::max(ready, end_[static_cast<std::size_t>(dependency.producer)] + transfer);
    }
    return ready;
  }

  DeviceIndex BestDevice(OpIndex op) const {
    const sim::Bytes needed = list_.NeededWithSources(op);
    DeviceIndex best = -1;
    Picos best_finish = std::numeric_limits<Picos>::max();
    for (const DeviceIndex d : list_.devices()) {
      if (!list_.HasRoom(d, needed)) continue;
      const Picos length = list_.Length(op, d);
      const Picos start = timetable_[static_cast<std::size_t>(d)].EarliestStart(Ready(op, d), length);
      const Picos rest = task_.unit_cost(list_.UnitOf(op), d) - task_.problem->costs().at(op, d);
      const Picos finish = start + length + rest;
      if (finish < best_finish) {
        best_finish = finish;
        best = d;
      }
    }
    return best >= 0 ? best : list_.Roomiest();
  }

  void Run(OpIndex op) {
    list_.BringSources(op);
    const DeviceIndex d = list_.DeviceOf(list_.UnitOf(op));
    const Picos length = list_.Length(op, d);
    const Picos start = timetable_[static_cast<std::size_t>(d)].EarliestStart(Ready(op, d), length);
    timetable_[static_cast<std::size_t>(d)].Take(start, length);
    end_[static_cast<std::size_t>(op)] = start + task_.problem->costs().at(op, d);
  }

  const Task& task_;
  ListSchedule list_;
  std::vector<OpIndex> order_;        // falling upward rank
  std::vector<Picos> end_;            // by op
  std::vector<Timetable> timetable_;  // by device
};

class Heft final : public Agent {
 public:
  explicit Heft(const Settings& read) : Agent(read.Canonical()), memory_(read.Bool("memory")) {}

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& /*options*/) override {
    HeftSchedule schedule(task);
    PlaceWithinMemory(evaluator, memory_, [&](double share) { return schedule.Place(share); });
  }

 private:
  bool memory_ = true;
};

}  // namespace

std::unique_ptr<Agent> MakeHeft(const Settings& read) {
  return std::make_unique<Heft>(read);
}

}  // namespace stowplan::agents
