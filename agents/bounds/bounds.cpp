// Critical path. Let issue(i,d) and end(i,d) be numbers such that whenever op i runs on device d, it is
// issued no earlier than issue(i,d) and ends no earlier than end(i,d). They are computed in topological
// order. For a dependency on p let d' be the device of p; it is not known, so the least over all d' is taken
// (d' = d alone where p and i share a colocation set). Native (docs/model.md 2 to 4):
//
//   - i starts after p has ended on d, or after a transfer that began after p ended and takes at least its
//   lone time;
//   - a GPU's host thread takes i up after p was issued, if d' = d, else after p's tensor arrived; a CPU's
//   after p ended
//     or its tensor arrived; then it spends dispatch(i,d) on it, and i cannot start before;
//   - i runs for at least cost(i,d) / r, r the largest rate at which an op of d can progress.
//
// Published rules (docs/model.md, section 8): i starts at least 5.7 us after the end of a p of non-zero cost
// on its own device, or bytes / 7600 us after the end of p on another one (for doubled producers the last
// named output counts, so the least is taken), and the run ends no earlier than 5.7 us after the end of an op
// of non-zero cost. By induction all numbers are right, and the run cannot end before max_i min_d end(i,d).
//
// Work. A device that makes progress at a total rate of at most t needs cost / t of time for an op, whatever
// runs beside it: t is the largest k * concurrency[k-1] over the k that its streams allow (1 where none is
// given). Under the published rules each op of non-zero cost also occupies its device for 5.7 us. A host thread needs
// the dispatch of each op and, where one thread serves the process, the whole duration of each op on a CPU.
// The rest is in work_bound.cpp; its items are the colocation sets.
//
// Window. Let tail(i,d) be the least time from the end of op i on d to the end of the run, by the same steps from behind. What of each op
// must fall between a time a and the last c of the run (window_bound.h) is work for all devices together, to be done in T - a - c. At a
// rate of r at most an op does cost (T - a - c) r / t for its device, t as above. a + c is at most a bound that is proven, so no more than T.
//
// Together. What is placed as one does all its work on one device d, at the total rate t, in the run's time without the least
// head and the least tail of any part of it (window_bound.h). The least over d holds for each set.
//
// Memory (native only). While op i runs on d, d holds the persistent bytes of i's colocation set, i's own
// outputs and workspace, and each output that i reads and that owns its storage (the original or a received
// copy), each rounded to the granularity. A set with an op for which that is more than the capacity cannot be
// on d in a placement that fits; and all persistent bytes together must keep within the capacities. Critical
// path and work are computed again under these.
//
// Classes. All of these numbers are the same for devices that are alike (device_classes.h): d and d' are classes here, and "the
// least over all d'" is that over d itself, where a class has it, and over each kind of route from another device.
#include "agents/bounds/bounds.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "agents/bounds/device_classes.h"
#include "agents/bounds/window_bound.h"
#include "agents/bounds/work_bound.h"
#include "agents/timing.h"

namespace stowplan::agents {
namespace {

using sim::Bytes;
using sim::DeviceIndex;
using sim::OpIndex;
using sim::Picos;

__extension__ using Wide = __int128;

constexpr Picos kNever = std::numeric_limits<Picos>::max() / 4;  // sums of two stay in range

struct BoundDependency {
  OpIndex producer = -1;
  Bytes bytes = 0;
  std::vector<Picos> transfer;  // [from * classes + to]: the least to another device
};

// The largest rate of a single op, and of all ops together, in parts per million.
struct Rates {
  std::int64_t one = sim::kPpm;
  std::int64_t all = sim::kPpm;
};

Rates RatesOf(const sim::Cluster& cluster, const sim::Device& device) {
  if (cluster.rules == sim::Rules::kPublished) return {};
  const auto given = static_cast<std::int64_t>(device.concurrency_ppm.size());
  Rates rates{0, 0};
  for (std::int64_t k = 1; k <= device.streams; ++k) {
    const bool is_given = k <= given;
    const std::int64_t rate =
        is_given ? device.concurrency_ppm[static_cast<std::size_t>(k - 1)] : (sim::kPpm + k - 1) / k;
    rates.one = std::max(rates.one, rate);
    rates.all = std::max(rates.all, is_given ? k * rate : sim::kPpm);
  }
  return rates;
}

// cost / rate, rounded down: a bound rounded down is still one.
Picos AtRate(Picos cost, std::int64_t ppm) {
  if (cost > std::numeric_limits<Picos>::max() / sim::kPpm) return cost / ppm * sim::kPpm;
  return cost * sim::kPpm / ppm;
}

Bytes RoundUp(Bytes bytes, Bytes granularity) {
  return (bytes + granularity - 1) / granularity * granularity;
}

// By device, of all but routes that any of the numbers above depends on.
std::vector<std::int32_t> ColoursOf(const sim::Problem& problem, const std::vector<DeviceIndex>& devices) {
  using Colour =
      std::tuple<DeviceIndex, sim::DeviceClass, Picos, Bytes, Bytes, int, std::vector<std::int64_t>>;
  std::map<Colour, std::int32_t> known;
  std::vector<std::int32_t> colours;
  for (const DeviceIndex d : devices) {
    const sim::Device& device = problem.cluster().devices[static_cast<std::size_t>(d)];
    const Colour colour(problem.costs().ColumnOf(d), device.device_class, device.launch_cost,
                        device.capacity(), device.granularity, device.streams, device.concurrency_ppm);
    colours.push_back(known.try_emplace(colour, static_cast<std::int32_t>(known.size())).first->second);
  }
  return colours;
}

class Bounds {
 public:
  Bounds(const sim::Problem& problem, const std::vector<DeviceIndex>& devices,
         std::span<const std::int32_t> set_of_op)
      : problem_(problem),
        graph_(problem.graph()),
        set_of_op_(set_of_op),
        sets_(1 + static_cast<std::size_t>(std::ranges::max(set_of_op))),
        cluster_(problem.cluster()),
        routes_(cluster_, devices),
        classes_(routes_, ColoursOf(problem, devices)),
        count_(static_cast<double>(devices.size())),
        published_(cluster_.rules == sim::Rules::kPublished) {
    for (const DeviceClasses::Class& one : classes_.classes()) {
      devices_.push_back(devices[one.first]);
      rates_.push_back(RatesOf(cluster_, DeviceAt(devices_.back())));
    }
    allowed_.assign(sets_ * devices_.size(), true);
  }

  LowerBound Compute() {
    LowerBound bound;
    bound.critical_path = CriticalPath();
    bound.work = WorkBound(Work(false));
    bound.window = WindowBound(bound.work, std::max(bound.critical_path, bound.work));
    if (bound.window <= std::max(bound.critical_path, bound.work)) bound.window = 0;
    bound.together = TogetherBound();
    if (bound.together <= std::max({bound.critical_path, bound.work, bound.window})) bound.together = 0;
    if (published_) return bound;
    const bool ruled_out = RuleOut(bound);
    if (bound.nothing_fits) return bound;
    bound.memory = WorkBound(Work(true));
    if (ruled_out) bound.memory = std::max(bound.memory, CriticalPath());
    if (bound.memory <= std::max({bound.critical_path, bound.work, bound.window, bound.together}))
      bound.memory = 0;
    return bound;
  }

 private:
  const sim::Device& DeviceAt(DeviceIndex d) const { return cluster_.devices[static_cast<std::size_t>(d)]; }
  const sim::Op& OpAt(OpIndex op) const { return graph_.ops[static_cast<std::size_t>(op)]; }
  std::size_t SetOf(OpIndex op) const {
    return static_cast<std::size_t>(set_of_op_[static_cast<std::size_t>(op)]);
  }
  std::size_t At(OpIndex op, std::size_t d) const {
    return static_cast<std::size_t>(op) * devices_.size() + d;
  }
  bool Allowed(OpIndex op, std::size_t d) const { return allowed_[SetOf(op) * devices_.size() + d]; }
  Bytes OutputBytes(OpIndex op, std::int32_t output) const {
    const auto& outputs = OpAt(op).outputs;
    return static_cast<std::size_t>(output) < outputs.size() ? outputs[static_cast<std::size_t>(output)].bytes
                                                             : 0;
  }
  Picos Duration(OpIndex op, std::size_t d) const {
    return std::min(kNever, AtRate(problem_.costs().at(op, devices_[d]), rates_[d].one));
  }
  Picos Dispatch(OpIndex op, std::size_t d) const {
    return std::min(kNever, DispatchCost(cluster_, OpAt(op), devices_[d]));
  }
  Picos Gap(OpIndex op, std::size_t d) const {
    return published_ && problem_.costs().at(op, devices_[d]) > 0 ? kPublishedGap : 0;
  }
  bool IsGpu(std::size_t d) const { return DeviceAt(devices_[d]).device_class == sim::DeviceClass::kGpu; }

  // ---- critical path --------------------------------------------------------------------------------------

  std::vector<BoundDependency> DependenciesOf(OpIndex index) const {
    const sim::Op& op = OpAt(index);
    std::vector<BoundDependency> result;
    for (const sim::TensorRef& input : op.inputs)
      result.push_back({input.op, OutputBytes(input.op, input.output), {}});
    for (const OpIndex producer : op.control)
      result.push_back({producer, published_ ? OutputBytes(producer, 0) : 0, {}});
    if (published_) KeepLastNamed(result);
    for (BoundDependency& dependency : result) dependency.transfer = LeastTransfers(dependency.bytes);
    return result;
  }

  static void KeepLastNamed(std::vector<BoundDependency>& result) {
    std::sort(result.begin(), result.end(), [](const BoundDependency& a, const BoundDependency& b) {
      return a.producer != b.producer ? a.producer < b.producer : a.bytes < b.bytes;
    });
    const auto same = [](const BoundDependency& a, const BoundDependency& b) {
      return a.producer == b.producer;
    };
    result.erase(std::unique(result.begin(), result.end(), same), result.end());
  }

  // From a device of one class to another device of one; kNever where there is none. [from * classes + to]
  std::vector<Picos> LeastTransfers(Bytes bytes) const {
    std::vector<Picos> by_kind, least(classes_.size() * classes_.size(), kNever);
    for (const RouteKinds::Kind& kind : routes_.kinds())
      by_kind.push_back(LoneTransferTime(cluster_, bytes, kind.from, kind.to));
    for (std::size_t pair = 0; pair < least.size(); ++pair) {
      for (const std::int32_t kind : classes_.Between(pair / classes_.size(), pair % classes_.size()))
        least[pair] = std::min(least[pair], by_kind[static_cast<std::size_t>(kind)]);
    }
    return least;
  }

  Picos CriticalPath() {
    issue_.assign(static_cast<std::size_t>(graph_.size()) * devices_.size(), kNever);
    end_.assign(issue_.size(), kNever);
    Picos longest = 0;
    for (const OpIndex op : graph_.topological_order()) {
      const std::vector<BoundDependency> dependencies = DependenciesOf(op);
      Picos earliest = kNever;
      for (std::size_t d = 0; d < devices_.size(); ++d) {
        if (!Allowed(op, d)) continue;
        SetTimes(op, d, dependencies);
        earliest = std::min(earliest, end_[At(op, d)] + Gap(op, d));
      }
      longest = std::max(longest, earliest);
    }
    return longest;
  }

  void SetTimes(OpIndex op, std::size_t d, const std::vector<BoundDependency>& dependencies) {
    Picos taken_up = 0;
    Picos ready = 0;
    for (const BoundDependency& dependency : dependencies) {
      const bool together = SetOf(dependency.producer) == SetOf(op);
      Picos least_taken_up = kNever;
      Picos least_ready = kNever;
      const auto arrives = [&](Picos arrival, Picos could_take_up) {
        least_ready = std::min(least_ready, arrival);
        least_taken_up = std::min(least_taken_up, could_take_up);
      };
      if (Allowed(dependency.producer, d)) {
        const Picos here = end_[At(dependency.producer, d)] + Gap(dependency.producer, d);
        arrives(here, IsGpu(d) ? issue_[At(dependency.producer, d)] : here);
      }
      for (std::size_t from = 0; from < devices_.size() && !together; ++from) {
        if (!Allowed(dependency.producer, from)) continue;
        const Picos arrival =
            end_[At(dependency.producer, from)] + dependency.transfer[from * devices_.size() + d];
        arrives(arrival, arrival);
      }
      taken_up = std::max(taken_up, least_taken_up);
      ready = std::max(ready, least_ready);
    }
    issue_[At(op, d)] = std::min(kNever, taken_up + Dispatch(op, d));
    end_[At(op, d)] = std::min(kNever, std::max(ready, issue_[At(op, d)]) + Duration(op, d));
  }

  // ---- work -----------------------------------------------------------------------------------------------

  WorkProblem Work(bool with_memory) const {
    WorkProblem work;
    work.items = sets_;
    work.one_host = !published_ && cluster_.dispatch.per == sim::Dispatch::Per::kProcess;
    const std::size_t count = devices_.size();
    std::vector<WorkProblem::Load> loads(work.items * count);
    for (OpIndex op = 0; op < graph_.size(); ++op) {
      for (std::size_t d = 0; d < count; ++d) AddLoad(op, d, with_memory, loads[SetOf(op) * count + d]);
    }
    SetClasses(loads, with_memory, work);
    return work;
  }

  void SetClasses(const std::vector<WorkProblem::Load>& loads, bool with_memory, WorkProblem& work) const {
    const std::size_t count = devices_.size();
    // Devices with equal columns and capacities are one class.
    std::vector<std::size_t> first;
    for (std::size_t d = 0; d < count; ++d) {
      const auto alike = std::find_if(first.begin(), first.end(),
                                      [&](std::size_t f) { return Alike(loads, f, d, with_memory); });
      if (alike != first.end()) {
        work.devices[static_cast<std::size_t>(alike - first.begin())] += classes_.classes()[d].devices;
        continue;
      }
      first.push_back(d);
      work.devices.push_back(classes_.classes()[d].devices);
      if (with_memory) work.capacity.push_back(DeviceAt(devices_[d]).capacity());
    }
    for (std::size_t item = 0; item < work.items; ++item) {
      for (const std::size_t d : first) work.loads.push_back(loads[item * count + d]);
    }
  }

  void AddLoad(OpIndex op, std::size_t d, bool with_memory, WorkProblem::Load& load) const {
    const Picos cost = problem_.costs().at(op, devices_[d]);
    load.compute =
        std::min(kNever, load.compute + std::min(kNever, AtRate(cost, rates_[d].all) + Gap(op, d)));
    Picos host = Dispatch(op, d);
    if (!published_ && cluster_.dispatch.per == sim::Dispatch::Per::kProcess && !IsGpu(d)) {
      host = std::min(kNever, host + Duration(op, d));
    }
    load.host = std::min(kNever, load.host + host);
    if (!with_memory) return;
    load.persistent += RoundUp(OpAt(op).persistent_bytes, DeviceAt(devices_[d]).granularity);
    load.allowed = Allowed(op, d);
  }

  bool Alike(const std::vector<WorkProblem::Load>& loads, std::size_t a, std::size_t b,
             bool with_memory) const {
    if (with_memory && DeviceAt(devices_[a]).capacity() != DeviceAt(devices_[b]).capacity()) return false;
    for (std::size_t row = 0; row < loads.size(); row += devices_.size()) {
      const WorkProblem::Load& x = loads[row + a];
      const WorkProblem::Load& y = loads[row + b];
      if (x.compute != y.compute || x.host != y.host || x.persistent != y.persistent ||
          x.allowed != y.allowed) {
        return false;
      }
    }
    return true;
  }

  // ---- window ---------------------------------------------------------------------------------------------

  // While the op is on d: with what it keeps the device busy behind its end.
  Span SpanOf(OpIndex op, std::size_t d) const {
    const Picos gap = Gap(op, d);
    return {end_[At(op, d)] - Duration(op, d), Duration(op, d) + gap, tail_[At(op, d)] - gap};
  }

  // Where it is fastest.
  Span FastestSpanOf(OpIndex op) const {
    Span fastest = SpanOf(op, 0);
    for (std::size_t d = 1; d < devices_.size(); ++d) {
      if (const Span span = SpanOf(op, d); span.length < fastest.length) fastest = span;
    }
    return fastest;
  }

  void SetTails() {
    tail_.assign(end_.size(), 0);
    const std::vector<OpIndex>& order = graph_.topological_order();
    for (auto op = order.rbegin(); op != order.rend(); ++op) {
      for (std::size_t d = 0; d < devices_.size(); ++d)
        tail_[At(*op, d)] = std::max(tail_[At(*op, d)], Gap(*op, d));
      for (const BoundDependency& dependency : DependenciesOf(*op)) {
        for (std::size_t from = 0; from < devices_.size(); ++from) {
          Picos& tail = tail_[At(dependency.producer, from)];
          tail = std::max(tail, LeastBehind(dependency, from, *op));
        }
      }
    }
  }

  // From the end of the producer there to the end of the run.
  Picos LeastBehind(const BoundDependency& dependency, std::size_t from, OpIndex op) const {
    const bool together = SetOf(dependency.producer) == SetOf(op);
    const auto behind = [&](std::size_t d) { return std::min(kNever, Duration(op, d) + tail_[At(op, d)]); };
    Picos least = std::min(kNever, Gap(dependency.producer, from)) + behind(from);
    for (std::size_t d = 0; d < devices_.size() && !together; ++d)
      least = std::min(least, dependency.transfer[from * devices_.size() + d] + behind(d));
    return std::min(kNever, least);
  }

  // No run takes less than `known`, nor than `work_bound`, that of all work.
  Picos WindowBound(Picos work_bound, Picos known) {
    SetTails();
    std::vector<Span> spans;
    double all = 0;
    for (OpIndex op = 0; op < graph_.size(); ++op) {
      spans.push_back(FastestSpanOf(op));
      all += static_cast<double>(spans.back().length);
    }
    // As many of the fastest devices do all work in the time that all devices take for it at least.
    const double devices = std::min(count_, all / static_cast<double>(std::max<Picos>(1, work_bound)));
    const Window window = BusiestWindow(spans, std::max(1.0, devices), known);
    WorkProblem work;
    work.items = sets_;
    const std::size_t count = devices_.size();
    std::vector<WorkProblem::Load> loads(work.items * count);
    for (OpIndex op = 0; op < graph_.size(); ++op) {
      for (std::size_t d = 0; d < count; ++d) {
        const Picos within = SpanOf(op, d).Within(window.before, window.behind);
        Picos& load = loads[SetOf(op) * count + d].compute;
        load = std::min(kNever,
                        load + static_cast<Picos>(static_cast<Wide>(within) * rates_[d].one / rates_[d].all));
      }
    }
    SetClasses(loads, false, work);
    return std::min(kNever, window.before + window.behind + WorkBound(work));
  }

  // ---- together -------------------------------------------------------------------------------------------

  // Behind WindowBound(), which sets heads and tails.
  Picos TogetherBound() const {
    std::vector<Picos> least(sets_, kNever);
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      std::vector<std::vector<Span>> spans(sets_);
      std::vector<Picos> work(sets_, 0);
      for (OpIndex op = 0; op < graph_.size(); ++op) {
        Span span = SpanOf(op, d);
        span.length = static_cast<Picos>(static_cast<Wide>(span.length) * rates_[d].one / rates_[d].all);
        work[SetOf(op)] = std::min(kNever, work[SetOf(op)] + span.length);
        spans[SetOf(op)].push_back(span);
      }
      for (std::size_t set = 0; set < sets_; ++set) {
        if (work[set] < kNever) least[set] = std::min(least[set], OneDeviceBound(std::move(spans[set])));
      }
    }
    return std::ranges::max(least);
  }

  // ---- memory ---------------------------------------------------------------------------------------------

  // What is live on a device while the op runs there, without the persistent bytes.
  Bytes LiveBytes(OpIndex index, Bytes granularity) const {
    const sim::Op& op = OpAt(index);
    Bytes live = RoundUp(op.workspace_bytes, granularity);
    for (const sim::Output& output : op.outputs) {
      if (output.storage == sim::Output::Storage::kOwn) live += RoundUp(output.bytes, granularity);
    }
    std::vector<sim::TensorRef> read = op.inputs;
    std::sort(read.begin(), read.end());
    read.erase(std::unique(read.begin(), read.end()), read.end());
    for (const sim::TensorRef& input : read) {
      const sim::Output& output = OpAt(input.op).outputs[static_cast<std::size_t>(input.output)];
      if (output.storage == sim::Output::Storage::kOwn) live += RoundUp(output.bytes, granularity);
    }
    return live;
  }

  // True if some set cannot be somewhere.
  bool RuleOut(LowerBound& bound) {
    const std::size_t count = devices_.size();
    std::vector<Bytes> persistent(allowed_.size(), 0);
    std::vector<Bytes> live(allowed_.size(), 0);
    for (OpIndex op = 0; op < graph_.size(); ++op) {
      for (std::size_t d = 0; d < count; ++d) {
        const Bytes granularity = DeviceAt(devices_[d]).granularity;
        persistent[SetOf(op) * count + d] += RoundUp(OpAt(op).persistent_bytes, granularity);
        live[SetOf(op) * count + d] = std::max(live[SetOf(op) * count + d], LiveBytes(op, granularity));
      }
    }
    bool ruled_out = false;
    double least_bytes = 0;
    double capacity = 0;
    for (std::size_t d = 0; d < count; ++d) {
      capacity += static_cast<double>(classes_.classes()[d].devices) *
                  static_cast<double>(DeviceAt(devices_[d]).capacity());
    }
    for (std::size_t set = 0; set < sets_; ++set) {
      bool fits = false;
      Bytes least = std::numeric_limits<Bytes>::max();
      for (std::size_t d = 0; d < count; ++d) {
        const std::size_t at = set * count + d;
        allowed_[at] = persistent[at] + live[at] <= DeviceAt(devices_[d]).capacity();
        fits |= allowed_[at];
        ruled_out |= !allowed_[at];
        least = std::min(least, persistent[at]);
      }
      bound.nothing_fits |= !fits;
      least_bytes += static_cast<double>(least);
    }
    bound.nothing_fits |= least_bytes > capacity * (1 + 1e-9);
    return ruled_out;
  }

  const sim::Problem& problem_;
  const sim::OpGraph& graph_;
  const std::span<const std::int32_t> set_of_op_;  // ops of one set are on one device
  const std::size_t sets_;
  const sim::Cluster& cluster_;
  const RouteKinds routes_;
  const DeviceClasses classes_;
  const double count_;  // of devices
  const bool published_;
  std::vector<DeviceIndex> devices_;  // the first of each class
  std::vector<Rates> rates_;          // by class, as all that follows calls devices
  std::vector<bool> allowed_;         // [set * devices + device]
  std::vector<Picos> issue_;          // [op * devices + device]
  std::vector<Picos> end_;
  std::vector<Picos> tail_;  // from the end of the op there to the end of the run
};

}  // namespace

LowerBound ComputeLowerBound(const sim::Problem& problem, const std::vector<DeviceIndex>& devices,
                             std::span<const std::int32_t> unit_of_op) {
  std::vector<DeviceIndex> all(problem.cluster().devices.size());
  std::iota(all.begin(), all.end(), 0);
  if (unit_of_op.empty()) unit_of_op = problem.graph().colocation_set();
  return Bounds(problem, devices.empty() ? all : devices, unit_of_op).Compute();
}

}  // namespace stowplan::agents
