#include "sim/analysis/explain.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "sim/base/error.h"
#include "sim/compiled.h"

namespace stowplan::sim {
namespace {

class PathFinder {
 public:
  PathFinder(const Problem& problem, const Placement& placement, const Outcome& outcome)
      : graph_(problem.graph()),
        placed_(ProblemOfPlacement(problem, placement)),
        c_((placed_ != nullptr ? *placed_ : problem).compiled()),
        placement_(placement),
        outcome_(outcome) {
    for (OpIndex op = 0; op < c_.ops; ++op) {
      by_end_.push_back({OpEnd(op), CriticalStep::Kind::kOp, op});
      by_issue_.push_back({Times(op).issue, op});
    }
    for (std::size_t t = 0; t < outcome.transfers.size(); ++t) {
      by_end_.push_back(
          {outcome.transfers[t].end, CriticalStep::Kind::kTransfer, static_cast<std::int32_t>(t)});
      incoming_[{outcome.transfers[t].tensor.op, outcome.transfers[t].to}].push_back(
          static_cast<std::int32_t>(t));
    }
    std::sort(by_end_.begin(), by_end_.end());
    std::sort(by_issue_.begin(), by_issue_.end());
  }

  std::vector<CriticalStep> Find() {
    std::vector<CriticalStep> path;
    for (std::optional<Event> at = LatestEndUntil(kNever); at;) {
      visited_.insert(*at);
      at = StepBack(*at, path);
    }
    std::reverse(path.begin(), path.end());
    return path;
  }

  bool IsMember(OpIndex op) const { return graph_.ops[static_cast<std::size_t>(op)].collective >= 0; }
  // The last member of a collective on its own device that an op waits for; -1 = none.
  OpIndex LastMember(OpIndex op) const {
    OpIndex last = -1;
    ForEachProducer(op, [&](OpIndex producer, Compiled::Id) {
      if (Device(producer) == Device(op) && IsMember(producer) && (last < 0 || OpEnd(producer) > OpEnd(last)))
        last = producer;
    });
    return last;
  }

  // Transfers that bring an op what it reads, by position in Outcome::transfers.
  template <typename Visit>
  void ForEachArrival(OpIndex op, const Visit& visit) const {
    ForEachProducer(op, [&](OpIndex producer, Compiled::Id output) {
      if (Device(producer) == Device(op)) return;
      const auto found = incoming_.find({producer, Device(op)});
      if (found == incoming_.end()) return;
      const std::int32_t number = output == Compiled::kNone ? -1 : output - c_.rows[producer].output;
      for (const std::int32_t t : found->second) {
        if (Transfer(t).tensor.output == number) visit(t);
      }
    });
  }

 private:
  struct Event {
    Picos end;
    CriticalStep::Kind kind;
    std::int32_t index;
    friend auto operator<=>(const Event&, const Event&) = default;
  };

  const OpTimes& Times(OpIndex op) const { return outcome_.ops[static_cast<std::size_t>(op)]; }
  const TransferTimes& Transfer(std::int32_t t) const {
    return outcome_.transfers[static_cast<std::size_t>(t)];
  }
  // Of all members: one that could not have started before.
  OpIndex LastReady(OpIndex member) const {
    const Collective& collective = c_.collectives[static_cast<std::size_t>(c_.collective_of[member])];
    const Picos start = Times(member).start;
    for (const OpIndex of : collective.members)
      if (EndingAt(of, start, /*same_device=*/false)) return of;
    return *std::ranges::max_element(collective.members, {}, [&](OpIndex of) { return Times(of).issue; });
  }
  Picos OpEnd(OpIndex op) const { return Times(op).end; }
  DeviceIndex Device(OpIndex op) const { return placement_.device[static_cast<std::size_t>(op)]; }

  template <typename Visit>
  void ForEachProducer(OpIndex op, const Visit& visit) const {
    const Op& current = graph_.ops[static_cast<std::size_t>(op)];
    for (const TensorRef& input : current.inputs) {
      visit(input.op, c_.rows[input.op].output + input.output);
    }
    for (const OpIndex control : current.control) visit(control, Compiled::kNone);
  }

  // Things that take no time could otherwise be each other's cause.
  bool New(const Event& event) const { return !visited_.contains(event); }

  // Appends what `event` did and returns what it waited for.
  std::optional<Event> StepBack(const Event& event, std::vector<CriticalStep>& path) const {
    const bool op = event.kind == CriticalStep::Kind::kOp;
    const Picos start = op ? Times(event.index).start : Transfer(event.index).start;
    const bool joined = op && IsMember(event.index);
    const std::int32_t index = joined ? LastReady(event.index) : event.index;
    path.push_back({joined ? CriticalStep::Kind::kCollective : event.kind, index, start, event.end});
    if (start == 0) return std::nullopt;
    auto cause = op ? CauseOfOp(index, start, path) : CauseOfTransfer(index, start);
    const Picos reached = path.back().start;
    if (!cause && reached > 0) cause = LatestEndUntil(reached);
    if (cause && cause->end < reached)
      path.push_back({CriticalStep::Kind::kWait, event.index, cause->end, reached});
    if (!cause && reached > 0) path.push_back({CriticalStep::Kind::kWait, event.index, 0, reached});
    return cause;
  }

  std::optional<Event> CauseOfOp(OpIndex op, Picos start, std::vector<CriticalStep>& path) const {
    const Picos cost = DispatchCost(op);
    if (Times(op).issue < start || cost == 0) return EndingAt(op, start, /*same_device=*/true);
    // The host was the last to be ready: go back through the ops it issued one after another.
    Picos at = start;
    OpIndex issued = op;
    while (at > 0) {
      const Picos began = at - DispatchCost(issued);
      path.push_back({CriticalStep::Kind::kDispatch, issued, began, at});
      at = began;
      if (at == 0) return std::nullopt;
      if (const auto cause = EndingAt(issued, at, /*same_device=*/false)) return cause;
      const auto previous = IssuedAt(at, issued);
      if (!previous) return std::nullopt;
      issued = *previous;
    }
    return std::nullopt;
  }

  // What ends at `at` and satisfies a dependency of `op`, transfers before ops; else, if asked for, what left
  // the device.
  std::optional<Event> EndingAt(OpIndex op, Picos at, bool same_device) const {
    std::optional<Event> cause;
    ForEachArrival(op, [&](std::int32_t t) {
      const Event event{at, CriticalStep::Kind::kTransfer, t};
      if (Transfer(t).end == at && !cause && New(event)) cause = event;
    });
    if (cause) return cause;
    ForEachProducer(op, [&](OpIndex producer, Compiled::Id) {
      const Event event{at, CriticalStep::Kind::kOp, producer};
      if (Device(producer) == Device(op) && OpEnd(producer) == at && !cause && New(event)) cause = event;
    });
    if (cause || !same_device) return cause;
    ForEachEndingAt(at, [&](const Event& event) {
      if (!cause && event.kind == CriticalStep::Kind::kOp && event.index != op &&
          (IsMember(op) ? ShareDevice(op, event.index) : Device(event.index) == Device(op)))
        cause = event;
    });
    return cause;
  }

  // Of a member: whether another one's collective has held it up.
  bool ShareDevice(OpIndex member, OpIndex other) const {
    if (!IsMember(other)) return false;
    const std::vector<OpIndex>& members =
        c_.collectives[static_cast<std::size_t>(c_.collective_of[member])].members;
    return std::ranges::any_of(members, [&](OpIndex of) { return Device(of) == Device(other); });
  }

  std::optional<Event> CauseOfTransfer(std::int32_t t, Picos start) const {
    const TransferTimes& transfer = Transfer(t);
    const Event producer{start, CriticalStep::Kind::kOp, transfer.tensor.op};
    if (OpEnd(transfer.tensor.op) == start && New(producer)) return producer;
    std::optional<Event> cause;
    ForEachEndingAt(start, [&](const Event& event) {
      if (!cause && event.kind == CriticalStep::Kind::kTransfer && event.index != t &&
          Share(transfer, Transfer(event.index))) {
        cause = event;
      }
    });
    return cause;
  }

  // Whether two transfers need a common engine or link direction.
  bool Share(const TransferTimes& a, const TransferTimes& b) const {
    const auto& x = c_.route(a.from, a.to);
    const auto& y = c_.route(b.from, b.to);
    if (x.engine != Compiled::kNone && x.engine == y.engine) return true;
    const auto* directions = c_.route_directions.data();
    return std::find_first_of(directions + x.first, directions + x.last, directions + y.first,
                              directions + y.last) != directions + x.last;
  }

  template <typename Visit>
  void ForEachEndingAt(Picos at, const Visit& visit) const {
    auto it = std::lower_bound(by_end_.begin(), by_end_.end(), Event{at, CriticalStep::Kind::kOp, -1});
    for (; it != by_end_.end() && it->end == at; ++it) {
      if (New(*it)) visit(*it);
    }
  }

  // For what has no recorded cause (a fixed gap, an order that was asked for): the last thing that had ended.
  std::optional<Event> LatestEndUntil(Picos at) const {
    auto it = std::upper_bound(by_end_.begin(), by_end_.end(), at,
                               [](Picos time, const Event& event) { return time < event.end; });
    while (it != by_end_.begin()) {
      --it;
      if (New(*it)) return *it;
    }
    return std::nullopt;
  }

  std::optional<OpIndex> IssuedAt(Picos at, OpIndex op) const {
    const bool shared = c_.cluster->dispatch.per == Dispatch::Per::kProcess;
    auto it = std::lower_bound(by_issue_.begin(), by_issue_.end(), std::pair(at, OpIndex{-1}));
    for (; it != by_issue_.end() && it->first == at; ++it) {
      const bool thread = shared || Device(it->second) == Device(op);
      if (it->second != op && thread && DispatchCost(it->second) > 0) return it->second;
    }
    return std::nullopt;
  }
  Picos DispatchCost(OpIndex op) const {
    if (c_.cluster->rules == Rules::kPublished) return 0;
    return c_.dispatch_cost[Device(op)] * c_.rows[op].dispatch_ops;
  }

  const OpGraph& graph_;
  const std::unique_ptr<const Problem> placed_;
  const Compiled& c_;
  const Placement& placement_;
  const Outcome& outcome_;
  std::vector<Event> by_end_;
  std::set<Event> visited_;
  std::vector<std::pair<Picos, OpIndex>> by_issue_;
  std::map<std::pair<OpIndex, DeviceIndex>, std::vector<std::int32_t>> incoming_;
};

Picos Overlap(Picos a, Picos b, Picos from, Picos to) {
  return std::max<Picos>(0, std::min(b, to) - std::max(a, from));
}

// Charges [a, b), in which `next` is awaited, to what it waited for last.
void Charge(IdleTime& idle, Picos a, Picos b, OpIndex next, const PathFinder& finder,
            const Outcome& outcome) {
  const TransferTimes none;  // all its times are 0
  const TransferTimes* last = &none;
  finder.ForEachArrival(next, [&](std::int32_t t) {
    const TransferTimes& transfer = outcome.transfers[static_cast<std::size_t>(t)];
    if (last == &none || transfer.end > last->end) last = &transfer;
  });
  const OpIndex member = finder.LastMember(next);
  if (member >= 0 && outcome.ops[static_cast<std::size_t>(member)].end >= last->end) {
    const OpTimes& times = outcome.ops[static_cast<std::size_t>(member)];
    idle.upstream += Overlap(a, b, 0, times.start);
    idle.collective += Overlap(a, b, times.start, times.end);
    idle.dispatch += Overlap(a, b, times.end, b);
    return;
  }
  idle.upstream += Overlap(a, b, 0, last->queued);
  idle.queued += Overlap(a, b, last->queued, last->start);
  idle.transfer += Overlap(a, b, last->start, last->end);
  idle.dispatch += Overlap(a, b, last->end, b);
}

std::vector<IdleTime> FindIdle(const Problem& problem, const Placement& placement, const Outcome& outcome,
                               const PathFinder& finder) {
  std::vector<std::vector<OpIndex>> ops(problem.cluster().devices.size());
  for (OpIndex op = 0; op < problem.graph().size(); ++op) {
    ops[static_cast<std::size_t>(placement.device[static_cast<std::size_t>(op)])].push_back(op);
  }
  std::vector<IdleTime> idle(ops.size());
  for (std::size_t d = 0; d < ops.size(); ++d) {
    std::sort(ops[d].begin(), ops[d].end(), [&](OpIndex a, OpIndex b) {
      const OpTimes& x = outcome.ops[static_cast<std::size_t>(a)];
      const OpTimes& y = outcome.ops[static_cast<std::size_t>(b)];
      return std::tuple(x.start, x.end, a) < std::tuple(y.start, y.end, b);
    });
    Picos until = 0;
    for (const OpIndex op : ops[d]) {
      if (finder.IsMember(op)) continue;  // a collective keeps no stream
      const OpTimes& times = outcome.ops[static_cast<std::size_t>(op)];
      if (times.start > until) Charge(idle[d], until, times.start, op, finder, outcome);
      until = std::max(until, times.end);
    }
    idle[d].finished = outcome.runtime - until;
    for (const OpIndex op : ops[d]) {
      const OpTimes& times = outcome.ops[static_cast<std::size_t>(op)];
      if (!finder.IsMember(op) || times.end <= until) continue;
      const Picos runs = times.end - std::max(until, times.start);
      idle[d].collective += runs;
      idle[d].finished -= runs;
      until = times.end;
    }
  }
  return idle;
}

void FindPeaks(const Outcome& outcome, Explanation& explanation) {
  const std::size_t devices = outcome.devices.size();
  explanation.peak_time.assign(devices, 0);
  explanation.peak.assign(devices, {});
  std::vector<std::map<std::pair<OpIndex, OutOfMemory::What>, Bytes>> live(devices);
  std::vector<bool> reached(devices, false);
  for (const MemoryPoint& point : outcome.memory) {
    const auto d = static_cast<std::size_t>(point.device);
    if (reached[d]) continue;
    live[d][{point.op, point.what}] += point.change;
    if (point.live != outcome.devices[d].peak) continue;
    reached[d] = true;
    explanation.peak_time[d] = point.time;
    for (const auto& [who, bytes] : live[d]) {
      if (bytes > 0) explanation.peak[d].push_back({who.first, who.second, bytes});
    }
    std::stable_sort(explanation.peak[d].begin(), explanation.peak[d].end(),
                     [](const PeakItem& a, const PeakItem& b) { return a.bytes > b.bytes; });
  }
}

}  // namespace

Explanation Explain(const Problem& problem, const Placement& placement, const Outcome& outcome) {
  STOWPLAN_CHECK_EQ(outcome.ops.size(), problem.graph().ops.size());
  PathFinder finder(problem, placement, outcome);
  Explanation explanation;
  explanation.critical_path = finder.Find();
  explanation.idle = FindIdle(problem, placement, outcome, finder);
  FindPeaks(outcome, explanation);
  return explanation;
}

}  // namespace stowplan::sim
