// Heterogeneous earliest finish time (Topcuoglu, Hariri, Wu, IEEE TPDS 2002): ops in the order of falling
// upward rank (mean cost plus mean transfer along the heaviest path to the end), each on the device where it
// would finish first, filling gaps between what is already there.
//
// Beyond the paper: a unit goes where its first op goes, judged by that op's finish plus the rest of the
// unit's work; variables, constants and placeholders go with their first consumer, with all of their unit.
// Memory: a device takes a unit only while the persistent bytes and a share of the outputs there fit. The
// share is 0 at first; where the placement turns out not to fit, the schedule is made anew with 1/4, 1/2, 3/4
// and all of the outputs, one sample each, until one fits (memory=no: one sample, no limits). Links are taken
// as idle: fails where transfers compete.
#include <algorithm>
#include <limits>
#include <unordered_map>

#include "agents/agents.h"
#include "agents/timing.h"

namespace berth::agents {
namespace {

using sim::DeviceIndex;
using sim::OpIndex;
using sim::Picos;

struct Dependency {
  OpIndex producer;
  sim::Bytes bytes;
};

// What each op reads or waits for, each output once.
std::vector<std::vector<Dependency>> Dependencies(const sim::OpGraph& graph) {
  std::vector<std::vector<Dependency>> result(graph.ops.size());
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    std::vector<sim::TensorRef> read = graph.ops[op].inputs;
    for (const OpIndex producer : graph.ops[op].control) read.push_back({producer, -1});
    std::sort(read.begin(), read.end());
    read.erase(std::unique(read.begin(), read.end()), read.end());
    for (const sim::TensorRef& tensor : read) {
      const auto& outputs = graph.ops[static_cast<std::size_t>(tensor.op)].outputs;
      const sim::Bytes bytes = tensor.output < 0 ? 0 : outputs[static_cast<std::size_t>(tensor.output)].bytes;
      result[op].push_back({tensor.op, bytes});
    }
  }
  return result;
}

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

class Schedule {
 public:
  explicit Schedule(const Task& task) : task_(task), dependencies_(Dependencies(task.problem->graph())) {
    Rank();
  }

  // `share` of the outputs counts as memory; below zero nothing does.
  UnitPlacement Place(double share) {
    unit_device_.assign(task_.units.ops.size(), -1);
    end_.assign(dependencies_.size(), 0);
    timetable_.assign(task_.problem->cluster().devices.size(), {});
    free_bytes_.clear();
    for (const sim::Device& device : task_.problem->cluster().devices)
      free_bytes_.push_back(device.capacity());
    share_ = share;
    const sim::OpGraph& graph = task_.problem->graph();
    for (const OpIndex op : order_) {
      const UnitIndex unit = UnitOf(op);
      if (DeviceOf(unit) < 0) {
        if (graph.ops[static_cast<std::size_t>(op)].IsSource()) continue;  // with its first consumer
        Assign(unit, BestDevice(op));
      }
      Run(op);
    }
    for (UnitIndex unit = 0; unit < task_.units.size(); ++unit) {
      if (DeviceOf(unit) < 0) Assign(unit, Roomiest());  // read by nobody
    }
    return unit_device_;
  }

 private:
  UnitIndex UnitOf(OpIndex op) const { return task_.units.unit_of_op[static_cast<std::size_t>(op)]; }
  DeviceIndex DeviceOf(UnitIndex unit) const { return unit_device_[static_cast<std::size_t>(unit)]; }

  // What the op takes of a device's time: its cost or, where that is longer, its dispatch.
  Picos Length(OpIndex op, DeviceIndex d) const {
    const sim::Cluster& cluster = task_.problem->cluster();
    const Picos cost = task_.problem->costs().at(op, d);
    if (cluster.preset == sim::Preset::kPlaceto) return cost > 0 ? cost + kPlacetoGap : 0;
    return std::max(cost, DispatchCost(cluster, task_.problem->graph().ops[static_cast<std::size_t>(op)], d));
  }

  Picos MeanTransfer(sim::Bytes bytes) {
    const auto devices = static_cast<Picos>(task_.devices.size());
    if (devices < 2) return 0;
    const auto [known, is_new] = mean_transfer_.try_emplace(bytes, 0);
    if (!is_new) return known->second;
    Picos sum = 0;
    for (const DeviceIndex from : task_.devices) {
      for (const DeviceIndex to : task_.devices) sum += task_.TransferEstimate(bytes, from, to);
    }
    return known->second = sum / (devices * (devices - 1));
  }

  void Rank() {
    const std::vector<OpIndex>& topological = task_.problem->graph().topological_order();
    std::vector<Picos> rank(dependencies_.size(), 0);
    for (auto op = topological.rbegin(); op != topological.rend(); ++op) {
      Picos sum = 0;
      for (const DeviceIndex d : task_.devices) sum += Length(*op, d);
      Picos& own = rank[static_cast<std::size_t>(*op)];  // by now the heaviest path behind the op
      own += sum / static_cast<Picos>(task_.devices.size());
      for (const Dependency& dependency : dependencies_[static_cast<std::size_t>(*op)]) {
        Picos& before = rank[static_cast<std::size_t>(dependency.producer)];
        before = std::max(before, own + MeanTransfer(dependency.bytes));
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
    for (const Dependency& dependency : dependencies_[static_cast<std::size_t>(op)]) {
      const DeviceIndex there = DeviceOf(UnitOf(dependency.producer));
      const Picos transfer = there < 0 ? 0 : task_.TransferEstimate(dependency.bytes, there, d);
      ready = std::max(ready, end_[static_cast<std::size_t>(dependency.producer)] + transfer);
    }
    return ready;
  }

  sim::Bytes Needed(UnitIndex unit) const {
    const auto u = static_cast<std::size_t>(unit);
    return task_.persistent[u] + static_cast<sim::Bytes>(share_ * static_cast<double>(task_.output[u]));
  }

  // Of the unit and of the sources that will come along with the op.
  sim::Bytes NeededWithSources(OpIndex op) const {
    sim::Bytes needed = Needed(UnitOf(op));
    std::vector<UnitIndex> along;
    for (const Dependency& dependency : dependencies_[static_cast<std::size_t>(op)]) {
      const UnitIndex unit = UnitOf(dependency.producer);
      if (DeviceOf(unit) >= 0 || unit == UnitOf(op)) continue;
      if (std::find(along.begin(), along.end(), unit) != along.end()) continue;
      along.push_back(unit);
      needed += Needed(unit);
    }
    return needed;
  }

  DeviceIndex BestDevice(OpIndex op) const {
    const sim::Bytes needed = share_ < 0 ? 0 : NeededWithSources(op);
    DeviceIndex best = -1;
    Picos best_finish = std::numeric_limits<Picos>::max();
    for (const DeviceIndex d : task_.devices) {
      if (share_ >= 0 && free_bytes_[static_cast<std::size_t>(d)] < needed) continue;
      const Picos length = Length(op, d);
      const Picos start = timetable_[static_cast<std::size_t>(d)].EarliestStart(Ready(op, d), length);
      const Picos rest = task_.unit_cost(UnitOf(op), d) - task_.problem->costs().at(op, d);
      const Picos finish = start + length + rest;
      if (finish < best_finish) {
        best_finish = finish;
        best = d;
      }
    }
    return best >= 0 ? best : Roomiest();
  }

  DeviceIndex Roomiest() const {
    return *std::max_element(
        task_.devices.begin(), task_.devices.end(), [this](DeviceIndex a, DeviceIndex b) {
          return free_bytes_[static_cast<std::size_t>(a)] < free_bytes_[static_cast<std::size_t>(b)];
        });
  }

  void Assign(UnitIndex unit, DeviceIndex d) {
    unit_device_[static_cast<std::size_t>(unit)] = d;
    if (share_ >= 0) free_bytes_[static_cast<std::size_t>(d)] -= Needed(unit);
  }

  void Run(OpIndex op) {
    const DeviceIndex d = DeviceOf(UnitOf(op));
    for (const Dependency& dependency : dependencies_[static_cast<std::size_t>(op)]) {
      const UnitIndex unit = UnitOf(dependency.producer);
      if (DeviceOf(unit) < 0) Assign(unit, d);
    }
    const Picos length = Length(op, d);
    const Picos start = timetable_[static_cast<std::size_t>(d)].EarliestStart(Ready(op, d), length);
    timetable_[static_cast<std::size_t>(d)].Take(start, length);
    end_[static_cast<std::size_t>(op)] = start + task_.problem->costs().at(op, d);
  }

  const Task& task_;
  const std::vector<std::vector<Dependency>> dependencies_;
  std::unordered_map<sim::Bytes, Picos> mean_transfer_;
  std::vector<OpIndex> order_;  // falling upward rank
  double share_ = 0;
  UnitPlacement unit_device_;         // -1 = not yet
  std::vector<Picos> end_;            // by op
  std::vector<Timetable> timetable_;  // by device
  std::vector<sim::Bytes> free_bytes_;
};

class Heft final : public Agent {
 public:
  explicit Heft(const Spec& spec) {
    ParameterReader parameters(spec);
    memory_ = parameters.Bool("memory", true);
    parameters.Finish();
    name_ = parameters.Canonical();
  }

  std::string name() const override { return name_; }

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& /*options*/) override {
    Schedule schedule(task);
    for (const double share :
         memory_ ? std::vector<double>{0, 0.25, 0.5, 0.75, 1} : std::vector<double>{-1}) {
      if (evaluator.remaining() == 0 || evaluator.stop_requested()) return;
      evaluator.CountProposal();
      if (evaluator.Evaluate(schedule.Place(share)).feasible) return;
    }
  }

 private:
  std::string name_;
  bool memory_ = true;
};

}  // namespace

std::unique_ptr<Agent> MakeHeft(const Spec& spec) {
  return std::make_unique<Heft>(spec);
}

}  // namespace berth::agents
