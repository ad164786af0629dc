#include "agents/classical/earliest_first.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <utility>

#include "agents/classical/live_outputs.h"
#include "agents/classical/ready_queue.h"

namespace stowplan::agents {
namespace {

using sim::DeviceIndex;
using sim::OpIndex;
using sim::Picos;

class EarliestFirst {
 public:
  EarliestFirst(ListSchedule& list, const std::vector<OpIndex>& favourite)
      : list_(list), live_(list), graph_(list.task().problem->graph()), favourite_(favourite) {
    const std::size_t ops = graph_.ops.size();
    const std::size_t devices = list.task().problem->cluster().devices.size();
    machines_.resize(devices);
    end_.resize(ops);
    done_.resize(ops);
    position_.resize(ops);
    missing_.resize(ops);
    first_tensor_.resize(ops);
    std::size_t tensors = 0;
    std::int32_t position = 0;
    for (const OpIndex op : graph_.topological_order()) {
      position_[Index(op)] = position++;
      for (const OpIndex consumer : graph_.consumers(op)) ++missing_[Index(consumer)];
      first_tensor_[Index(op)] = tensors;
      tensors += graph_.ops[Index(op)].outputs.size() + 1;  // and that it has ended
    }
    arrival_.assign(tensors * devices, kNever);
  }

  void PlaceAll() {
    std::vector<OpIndex> first;
    for (const OpIndex op : graph_.topological_order()) {
      if (missing_[Index(op)] == 0) first.push_back(op);
    }
    Release(std::move(first));
    while (true) {
      Candidate best;
      DeviceIndex device = -1;
      for (const DeviceIndex d : list_.devices()) {
        const Candidate candidate = BestOn(d);
        if (!candidate.Before(best)) continue;
        best = candidate;
        device = d;
      }
      if (best.op >= 0) {
        Run(best.op, device);
      } else if (!ForceOne()) {
        return;
      }
    }
  }

 private:
  static constexpr Picos kNever = -1;
  struct Parked {
    sim::Bytes needed;
    std::int32_t position;
    OpIndex op;
    auto operator<=>(const Parked&) const = default;
  };
  struct Machine {
    Picos free = 0;
    Picos channel_free = 0;
    OpIndex last = -1;
    ReadyQueue bound;  // ops whose unit is here
    ReadyQueue open;   // ops whose unit has no device yet
    // Open ops that there was no room for, the smallest first.
    std::priority_queue<Parked, std::vector<Parked>, std::greater<>> parked;
  };

  static std::size_t Index(OpIndex op) { return static_cast<std::size_t>(op); }
  Machine& At(DeviceIndex d) { return machines_[static_cast<std::size_t>(d)]; }
  DeviceIndex DeviceOf(OpIndex op) const { return list_.DeviceOf(list_.UnitOf(op)); }
  bool IsOpen(OpIndex op) const { return DeviceOf(op) < 0; }

  // Memory for the unit, the op while it runs, and copies of what it reads.
  sim::Bytes Needed(OpIndex op, DeviceIndex d) {
    sim::Bytes needed = list_.NeededWithSources(op) + OwnOutputBytes(graph_.ops[Index(op)]) +
                        graph_.ops[Index(op)].workspace_bytes;
    for (const Dependency& dependency : list_.DependenciesOf(op)) {
      const DeviceIndex from = DeviceOf(dependency.producer);
      if (from < 0) needed += OwnOutputBytes(graph_.ops[Index(dependency.producer)]);
      if (from >= 0 && from != d && Arrival(dependency, d) == kNever) needed += dependency.bytes;
    }
    return needed;
  }

  bool HasRoom(OpIndex op, DeviceIndex d) { return list_.HasRoom(d, Needed(op, d)); }

  // When the output was or will be on the device; kNever = it was not sent.
  Picos& Arrival(const Dependency& dependency, DeviceIndex d) {
    const std::size_t tensor =
        first_tensor_[Index(dependency.producer)] + static_cast<std::size_t>(dependency.output + 1);
    return arrival_[tensor * machines_.size() + static_cast<std::size_t>(d)];
  }

  // When all that the op waits for would be on the device, with the channels as they are.
  Picos Ready(OpIndex op, DeviceIndex d) {
    Picos ready = 0;
    Picos sending = 0;  // for all tensors from the producer at hand
    OpIndex producer = -1;
    for (const Dependency& dependency : list_.DependenciesOf(op)) {
      if (dependency.producer != producer) sending = 0;
      producer = dependency.producer;
      const DeviceIndex from = DeviceOf(producer);
      Picos here = end_[Index(producer)];
      if (from >= 0 && from != d) {
        const Picos known = Arrival(dependency, d);
        const Picos transfer = list_.task().TransferEstimate(dependency.bytes, from, d);
        if (known != kNever) {
          here = known;
        } else if (dependency.bytes == 0) {
          here += transfer;
        } else {
          sending += transfer;
          here = std::max({here, At(from).channel_free, At(d).channel_free}) + sending;
        }
      }
      ready = std::max(ready, here);
    }
    return ready;
  }

  Picos ReadyEverywhere(OpIndex op) {
    Picos ready = 0;
    for (const DeviceIndex d : list_.devices()) ready = std::max(ready, Ready(op, d));
    return ready;
  }

  // The ops wait for nothing that has no end.
  void Release(std::vector<OpIndex> released) {
    while (!released.empty()) {
      const OpIndex op = released.back();
      released.pop_back();
      if (graph_.ops[Index(op)].IsSource() && IsOpen(op)) {
        Complete(op, ProducersEnd(op), released);  // it goes with its first consumer
      } else if (IsOpen(op)) {
        for (const DeviceIndex d : list_.devices()) At(d).open.Push(op, Ready(op, d), position_[Index(op)]);
        EnqueueUrgent(op);
      } else {
        EnqueueOn(op, DeviceOf(op));
      }
    }
  }

  void EnqueueOn(OpIndex op, DeviceIndex d) {
    const bool open = IsOpen(op);
    (open ? At(d).open : At(d).bound).Push(op, Ready(op, d), position_[Index(op)]);
    if (open) EnqueueUrgent(op);
  }

  void EnqueueUrgent(OpIndex op) {
    if (!favourite_.empty()) urgent_.Push(op, ReadyEverywhere(op), position_[Index(op)]);
  }

  void Complete(OpIndex op, Picos end, std::vector<OpIndex>& released) {
    done_[Index(op)] = true;
    end_[Index(op)] = end;
    for (const OpIndex consumer : graph_.consumers(op)) {
      if (--missing_[Index(consumer)] == 0) released.push_back(consumer);
    }
  }

  Picos ProducersEnd(OpIndex op) const {
    Picos end = 0;
    for (const Dependency& dependency : list_.DependenciesOf(op))
      end = std::max(end, end_[Index(dependency.producer)]);
    return end;
  }

  bool IsReady(OpIndex op) const { return missing_[Index(op)] == 0 && !done_[Index(op)]; }

  Candidate BestBound(DeviceIndex d) {
    return At(d).bound.Best(At(d).free, [&](OpIndex op) -> std::optional<Picos> {
      if (done_[Index(op)]) return std::nullopt;
      return Ready(op, d);
    });
  }

  Candidate BestOpen(DeviceIndex d) {
    return At(d).open.Best(At(d).free, [&](OpIndex op) -> std::optional<Picos> {
      if (done_[Index(op)] || !IsOpen(op)) return std::nullopt;
      const sim::Bytes needed = Needed(op, d);
      if (list_.HasRoom(d, needed)) return Ready(op, d);
      At(d).parked.push({needed, position_[Index(op)], op});
      return std::nullopt;
    });
  }

  // Of the ops that could by then start on any device.
  Candidate BestUrgent(DeviceIndex d) {
    Picos all_free = 0;
    for (const DeviceIndex other : list_.devices()) all_free = std::max(all_free, At(other).free);
    const Candidate best = urgent_.Best(all_free, [&](OpIndex op) -> std::optional<Picos> {
      if (done_[Index(op)] || !IsOpen(op)) return std::nullopt;
      return ReadyEverywhere(op);
    });
    return best.op >= 0 && HasRoom(best.op, d) ? best : Candidate{};
  }

  // The favourite child that the device is kept for at a time.
  Candidate Favourite(DeviceIndex d, Picos at) {
    if (favourite_.empty() || At(d).last < 0) return {};
    const OpIndex child = favourite_[Index(At(d).last)];
    if (child < 0 || !IsReady(child) || !IsOpen(child) || ProducersEnd(child) > at || !HasRoom(child, d))
      return {};
    const auto start = [&](DeviceIndex device) { return std::max(Ready(child, device), At(device).free); };
    const Picos here = start(d);
    for (const DeviceIndex other : list_.devices()) {
      if (other != d && start(other) < here && HasRoom(child, other)) return {};
    }
    return {child, here, position_[Index(child)]};
  }

  Candidate BestOn(DeviceIndex d) {
    const Candidate bound = BestBound(d);
    const Candidate open = BestOpen(d);
    const Candidate best = open.Before(bound) ? open : bound;
    if (best.op < 0) return {};
    const Candidate child = Favourite(d, best.start);
    if (child.op < 0 || child.op == best.op) return best;
    const Candidate urgent = BestUrgent(d);
    const Candidate other = urgent.Before(bound) ? urgent : bound;
    return other.op >= 0 && other.start <= child.start ? other : child;
  }

  // The smallest open op of those that no device has room for.
  const Parked* SmallestParked() {
    const Parked* smallest = nullptr;
    for (const DeviceIndex d : list_.devices()) {
      auto& parked = At(d).parked;
      while (!parked.empty() && !(IsReady(parked.top().op) && IsOpen(parked.top().op))) parked.pop();
      if (!parked.empty() && (smallest == nullptr || parked.top() < *smallest)) smallest = &parked.top();
    }
    return smallest;
  }

  // Nothing can go on within memory: one unit goes where most is left. False: nothing is left to do.
  bool ForceOne() {
    const Parked* parked = SmallestParked();
    if (parked == nullptr) return false;
    Bind(list_.UnitOf(parked->op), list_.Roomiest());
    return true;
  }

  // Those that the device may have room for by now are asked again.
  void Unpark(DeviceIndex d) {
    auto& parked = At(d).parked;
    for (; !parked.empty() && list_.HasRoom(d, parked.top().needed); parked.pop()) {
      const OpIndex op = parked.top().op;
      if (IsReady(op) && IsOpen(op)) At(d).open.Push(op, Ready(op, d), position_[Index(op)]);
    }
  }

  void Bind(UnitIndex unit, DeviceIndex d) {
    list_.Assign(unit, d);
    EnqueueBound(unit);
  }

  void EnqueueBound(UnitIndex unit) {
    for (const OpIndex op : list_.task().units.ops[static_cast<std::size_t>(unit)]) {
      if (IsReady(op)) EnqueueOn(op, list_.DeviceOf(unit));
      if (!done_[Index(op)]) continue;
      live_.Hold(op);  // a source, until now nowhere
      live_.LetGo(op);
    }
  }

  // Sends what the op reads and is not there yet. When all of it will be there.
  Picos Receive(OpIndex op, DeviceIndex d) {
    Picos ready = 0;
    for (const Dependency& dependency : list_.DependenciesOf(op)) {
      const DeviceIndex from = DeviceOf(dependency.producer);
      const Picos end = end_[Index(dependency.producer)];
      if (from == d) {
        ready = std::max(ready, end);
        continue;
      }
      Picos& arrival = Arrival(dependency, d);
      if (arrival == kNever) {
        const Picos transfer = list_.task().TransferEstimate(dependency.bytes, from, d);
        if (dependency.bytes == 0) {
          arrival = end + transfer;
        } else {
          const Picos sent = std::max(end, At(from).channel_free);
          const Picos received = std::max(sent, At(d).channel_free);
          At(from).channel_free = sent + transfer;
          At(d).channel_free = arrival = received + transfer;
          live_.Copy(dependency.producer, d, dependency.bytes);
        }
        for (const OpIndex consumer : graph_.consumers(dependency.producer)) {
          // It may be ready here sooner than it was.
          if (IsReady(consumer) && (IsOpen(consumer) || DeviceOf(consumer) == d)) EnqueueOn(consumer, d);
        }
      }
      ready = std::max(ready, arrival);
    }
    return ready;
  }

  void Run(OpIndex op, DeviceIndex d) {
    if (IsOpen(op)) Bind(list_.UnitOf(op), d);
    for (const UnitIndex unit : list_.BringSources(op)) EnqueueBound(unit);
    const Picos start = std::max(Receive(op, d), At(d).free);
    At(d).free = start + list_.Length(op, d);
    At(d).last = op;
    live_.Hold(op);
    std::vector<OpIndex> released;
    Complete(op, start + list_.task().problem->costs().at(op, d), released);
    Release(std::move(released));
    live_.LetGo(op);
    OpIndex last = -1;
    for (const Dependency& dependency : list_.DependenciesOf(op)) {
      if (dependency.producer != last) live_.LetGo(dependency.producer);
      last = dependency.producer;
    }
    for (const DeviceIndex device : list_.devices()) Unpark(device);
  }

  ListSchedule& list_;
  LiveOutputs live_;
  const sim::OpGraph& graph_;
  const std::vector<OpIndex>& favourite_;
  std::vector<Machine> machines_;          // by device
  ReadyQueue urgent_;                      // open ops by when they are ready on all devices
  std::vector<std::int32_t> position_;     // by op: in topological order
  std::vector<std::int32_t> missing_;      // by op: producers without an end
  std::vector<Picos> end_;                 // by op
  std::vector<bool> done_;                 // by op
  std::vector<std::size_t> first_tensor_;  // by op
  std::vector<Picos> arrival_;             // [tensor * devices + device]
};

}  // namespace

UnitPlacement PlaceEarliestFirst(ListSchedule& list, const std::vector<OpIndex>& favourite, double reserve) {
  list.Start(reserve < 0 ? -1 : 0, std::max(reserve, 0.0));
  EarliestFirst(list, favourite).PlaceAll();
  return list.Finish();
}

}  // namespace stowplan::agents
