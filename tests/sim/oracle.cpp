#include "tests/sim/oracle.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/base/error.h"
#include "sim/native/ring_prices.h"
#include "tests/sim/oracle_collectives.h"
#include "tests/sim/oracle_links.h"

namespace stowplan::sim {
namespace {

using Wide = OracleWide;

constexpr Picos kNever = OracleCollectives::kNever;
constexpr std::int64_t kRateUnit = 720720;  // S / 10^12 of section 3

// Section 1: an output of an op, or output -1: the op itself (control).
using Dependency = TensorRef;
constexpr std::int32_t kTurn = -3;                                   // that it has been issued (section 11)
using TransferKey = std::tuple<OpIndex, std::int32_t, DeviceIndex>;  // producer, output, destination
// Section 5: bytes of one output, where it was made or where it was received.
using StorageKey = std::pair<DeviceIndex, TensorRef>;
// What keeps a storage alive: an op (output -2) or a transfer that leaves the device.
using Holder = TransferKey;
using Pool = std::pair<DeviceIndex, int>;  // copy engines of a device: 0 out (or shared), 1 in

Holder OpHolder(OpIndex op) {
  return {op, -2, -1};
}
// When what is left is done, if nothing changes; beyond a time: never.
Picos EndAfter(Picos now, Wide left, Wide rate) {
  const Wide end = now + (left + rate - 1) / rate;
  return end < kNever ? static_cast<Picos>(end) : kNever;
}

struct Transfer {
  TransferTimes times;
  bool light = false;
  Picos latency = 0;           // L
  Picos moving = 0;            // M
  std::int64_t bandwidth = 0;  // B, the narrowest of the route
  bool started = false;
  bool ended = false;
  Picos flow_begin = kNever;
  Picos fixed_end = kNever;  // known at the start where nothing is shared
  bool flowing = false;
  Wide left = 0;  // [10^-15 B]
};

struct Thread {
  std::vector<OpIndex> issuable;  // in the order of becoming so
  std::vector<OpIndex> list;      // the order to keep, where one is given
  std::size_t next = 0;
  OpIndex op = -1;  // being issued, or a CPU op that the process waits for
  Picos due = kNever;
};

class Oracle {
 public:
  Oracle(const OpGraph& graph, const Cluster& cluster, const CostTable& costs, const Placement& placement,
         const CollectivePrices& prices)
      : graph_(graph),
        cluster_(cluster),
        costs_(costs),
        placement_(placement),
        collectives_(graph, cluster, placement, prices) {}

  Outcome Run() {
    Prepare();
    for (;;) {
      while (Pass()) {
      }
      const Picos next = NextInstant();
      if (next == kNever) break;
      Advance(next);
    }
    for (OpIndex op = 0; op < graph_.size(); ++op) {
      if (!ended_.contains(op)) throw InputError("collectives that wait for one another");
    }
    for (const Transfer& transfer : transfers_) {
      STOWPLAN_CHECK(transfer.ended);
      out_.transfers.push_back(transfer.times);
      out_.runtime = std::max(out_.runtime, transfer.times.end);
    }
    for (const OpTimes& op : out_.ops) out_.runtime = std::max(out_.runtime, op.end);
    return std::move(out_);
  }

 private:
  const Op& op(OpIndex i) const { return graph_.ops[static_cast<std::size_t>(i)]; }
  DeviceIndex Where(OpIndex i) const { return placement_.device[static_cast<std::size_t>(i)]; }
  const Device& device(DeviceIndex d) const { return cluster_.devices[static_cast<std::size_t>(d)]; }
  bool IsCpu(DeviceIndex d) const { return device(d).device_class == DeviceClass::kCpu; }
  const Link& link(std::int32_t l) const { return cluster_.links[static_cast<std::size_t>(l)]; }
  OpTimes& Times(OpIndex i) { return out_.ops[static_cast<std::size_t>(i)]; }
  const Output& output(const TensorRef& t) const {
    return op(t.op).outputs[static_cast<std::size_t>(t.output)];
  }
  bool IsLight(const Dependency& d) const { return d.output < 0 || output(d).bytes == 0; }
  bool PerProcess() const { return cluster_.dispatch.per == Dispatch::Per::kProcess; }
  Thread& ThreadOf(DeviceIndex d) { return threads_[PerProcess() ? 0 : static_cast<std::size_t>(d)]; }
  Bytes Rounded(Bytes bytes, DeviceIndex d) const {
    const Bytes unit = device(d).granularity;
    return (bytes + unit - 1) / unit * unit;
  }

  // ---- before time 0----

  void Prepare() {
    out_.devices.resize(cluster_.devices.size());
    out_.links.resize(cluster_.links.size());
    out_.ops.resize(graph_.ops.size());
    live_.resize(cluster_.devices.size());
    queue_.resize(cluster_.devices.size());
    threads_.resize(PerProcess() ? 1 : cluster_.devices.size());
    for (OpIndex i = 0; i < graph_.size(); ++i) {
      std::set<Dependency>& dependencies = missing_to_issue_[i];
      for (const TensorRef& input : op(i).inputs) dependencies.insert(input);
      for (const OpIndex producer : op(i).control) dependencies.insert({producer, -1});
      missing_to_start_[i] = dependencies;
      for (const Dependency& d : dependencies) {
        consumers_[d.op].insert(i);
        if (Where(d.op) != Where(i)) due_transfers_[d.op].insert({d.op, d.output, Where(i)});
      }
    }
    FindHolders();
    for (OpIndex i = 0; i < graph_.size(); ++i) {
      Allocate(Where(i), i, OutOfMemory::What::kPersistent, Rounded(op(i).persistent_bytes, Where(i)));
    }
    const bool listed = placement_.priority.empty() &&
                        (!placement_.order.empty() || cluster_.dispatch.order == Dispatch::Order::kProgram);
    if (listed) {
      const auto& order = placement_.order.empty() ? graph_.topological_order() : placement_.order;
      for (const OpIndex i : order) ThreadOf(Where(i)).list.push_back(i);
    } else {
      for (const auto& [before, after] : collectives_.Turns()) {  // one waits for the issue of the other
        next_member_[before] = after;
        missing_to_issue_[after].insert({before, kTurn});
      }
    }
    for (OpIndex i = 0; i < graph_.size(); ++i) {
      if (missing_to_issue_[i].empty()) ThreadOf(Where(i)).issuable.push_back(i);
    }
  }

  // Section 5: the storage that an output has on a device; false where it takes no bytes of its own there.
  bool FindStorage(const TensorRef& tensor, DeviceIndex d, StorageKey& key) const {
    if (Where(tensor.op) != d) {  // received
      key = {d, tensor};
      return !IsLight(tensor);
    }
    switch (output(tensor).storage) {
      case Output::Storage::kOwn:
        key = {d, tensor};
        return true;
      case Output::Storage::kPersistent:
        return false;
      case Output::Storage::kInput:
        return FindStorage(output(tensor).alias, d, key);
    }
    return false;
  }

  void Hold(const TensorRef& tensor, DeviceIndex d, const Holder& holder) {
    StorageKey key;
    if (!FindStorage(tensor, d, key)) return;
    holders_[key].insert(holder);
    held_[holder].insert(key);
  }

  void FindHolders() {
    for (OpIndex i = 0; i < graph_.size(); ++i) {
      for (const TensorRef& input : op(i).inputs) Hold(input, Where(i), OpHolder(i));
      for (std::int32_t o = 0; o < static_cast<std::int32_t>(op(i).outputs.size()); ++o) {
        if (output({i, o}).storage == Output::Storage::kOwn) Hold({i, o}, Where(i), OpHolder(i));
      }
      for (const TransferKey& t : due_transfers_[i]) {
        const TensorRef tensor{i, std::get<1>(t)};
        if (!IsLight(tensor)) Hold(tensor, Where(i), t);
      }
    }
  }

  // ---- memory (section 5)----

  void Change(DeviceIndex d, OpIndex who, OutOfMemory::What what, Bytes change) {
    if (change == 0) return;
    Bytes& live = live_[static_cast<std::size_t>(d)];
    live += change;
    Bytes& peak = out_.devices[static_cast<std::size_t>(d)].peak;
    peak = std::max(peak, live);
    out_.memory.push_back({now_, d, live, who, what, change});
  }

  void Allocate(DeviceIndex d, OpIndex who, OutOfMemory::What what, Bytes request) {
    const Bytes needed = live_[static_cast<std::size_t>(d)] + request;
    if (!out_.oom && needed > device(d).capacity()) {
      out_.oom = OutOfMemory{d, who, what, now_, needed, device(d).capacity()};
    }
    Change(d, who, what, request);
  }

  void Release(const Holder& holder, std::set<StorageKey>& empty) {
    for (const StorageKey& key : held_[holder]) {
      holders_[key].erase(holder);
      if (holders_[key].empty()) empty.insert(key);
    }
  }

  // ---- satisfied dependencies (sections 2 and 6)----

  void MayBecomeIssuable(OpIndex consumer, const Dependency& d) {
    if (missing_to_issue_[consumer].erase(d) == 0 || !missing_to_issue_[consumer].empty()) return;
    ThreadOf(Where(consumer)).issuable.push_back(consumer);
  }

  // The local consumers of an op learn that it has been issued (accelerators) or has ended.
  void VisitLocal(OpIndex producer, bool ended) {
    std::set<OpIndex> visited = consumers_[producer];
    if (!ended && next_member_.contains(producer)) visited.insert(next_member_[producer]);
    for (const OpIndex consumer : visited) {
      if (!ended) MayBecomeIssuable(consumer, {producer, kTurn});
      if (Where(consumer) != Where(producer)) continue;
      const std::set<Dependency> waiting = missing_to_start_[consumer];
      for (const Dependency& d : waiting) {
        if (d.op != producer) continue;
        if (ended) missing_to_start_[consumer].erase(d);
        if (ended || !IsCpu(Where(consumer))) MayBecomeIssuable(consumer, d);
      }
    }
  }

  // ---- one pass over the steps of section 6----

  bool Pass() {
    bool changed = false;
    std::vector<OpIndex> ended_ops;
    std::vector<TransferKey> ended_transfers;
    changed |= EndOps(ended_ops);
    changed |= EndTransfers(ended_transfers);
    Free(ended_ops, ended_transfers);
    changed |= Issue();
    changed |= Start();
    changed |= QueueTransfers(ended_ops);
    changed |= StartTransfers();
    return changed;
  }

  bool EndOps(std::vector<OpIndex>& ended_ops) {
    std::set<std::pair<DeviceIndex, OpIndex>> ending;  // by device, then op
    for (auto& [d, running] : running_) {
      for (const auto& [i, left] : running) {
        if (left <= 0) ending.insert({d, i});
      }
    }
    for (const OpIndex i : collectives_.End(now_)) ending.insert({Where(i), i});
    for (const auto& [d, i] : ending) {
      ended_ops.push_back(i);
      running_[d].erase(i);
      ended_.insert(i);
      Times(i).end = now_;
      Thread& thread = ThreadOf(Where(i));
      if (Waits(i) && thread.op == i) thread.op = -1;
      VisitLocal(i, /*ended=*/true);
    }
    return !ended_ops.empty();
  }

  bool EndTransfers(std::vector<TransferKey>& ended_transfers) {
    for (Transfer& t : transfers_) {
      if (!t.started || t.ended) continue;
      if (t.flowing ? t.left > 0 : t.fixed_end != now_) continue;
      t.ended = true;
      t.flowing = false;
      t.times.end = now_;
      ended_transfers.push_back({t.times.tensor.op, t.times.tensor.output, t.times.to});
      for (const OpIndex consumer : consumers_[t.times.tensor.op]) {
        if (Where(consumer) != t.times.to) continue;
        missing_to_start_[consumer].erase(t.times.tensor);
        MayBecomeIssuable(consumer, t.times.tensor);
      }
    }
    return !ended_transfers.empty();
  }

  void Free(const std::vector<OpIndex>& ended_ops, const std::vector<TransferKey>& ended_transfers) {
    std::set<StorageKey> empty;
    for (const OpIndex i : ended_ops) {
      Change(Where(i), i, OutOfMemory::What::kOutput, -Rounded(op(i).workspace_bytes, Where(i)));
      Release(OpHolder(i), empty);
    }
    for (const TransferKey& t : ended_transfers) Release(t, empty);
    for (const auto& [d, tensor] : empty) {
      const bool copy = Where(tensor.op) != d;
      Change(d, tensor.op, copy ? OutOfMemory::What::kCopy : OutOfMemory::What::kOutput,
             -Rounded(output(tensor).bytes, d));
    }
  }

  // Section 2: the thread is busy until it has ended.
  bool Waits(OpIndex i) const {
    return (PerProcess() && IsCpu(Where(i)) && !collectives_.IsMember(i)) || op(i).HostWaits();
  }

  Picos IssueTime(OpIndex i) const {
    const Dispatch& dispatch = cluster_.dispatch;
    return (dispatch.automatic ? device(Where(i)).launch_cost : dispatch.cost) *
           (op(i).IsSource() ? 0 : op(i).host_units.value_or(op(i).framework_ops));
  }

  // The op that an idle thread takes next; -1 if none.
  OpIndex Take(Thread& thread) {
    auto& issuable = thread.issuable;
    if (issuable.empty()) return -1;
    auto chosen = issuable.begin();
    if (!thread.list.empty()) {
      chosen = std::find(issuable.begin(), issuable.end(), thread.list[thread.next]);
      if (chosen == issuable.end()) return -1;
      ++thread.next;
    } else if (!placement_.priority.empty()) {
      for (auto it = issuable.begin(); it != issuable.end(); ++it) {
        if (Priority(*it) > Priority(*chosen)) chosen = it;
      }
    }
    const OpIndex taken = *chosen;
    issuable.erase(chosen);
    return taken;
  }
  double Priority(OpIndex i) const { return placement_.priority[static_cast<std::size_t>(i)]; }

  bool Issue() {
    bool changed = false;
    for (Thread& thread : threads_) {
      for (;;) {
        if (thread.due == now_) {
          const OpIndex i = thread.op;
          thread.due = kNever;
          if (!Waits(i)) thread.op = -1;
          Times(i).issue = now_;
          issued_.insert(i);
          if (collectives_.IsMember(i))
            collectives_.Issue(i);
          else
            queue_[static_cast<std::size_t>(Where(i))].push_back(i);
          VisitLocal(i, /*ended=*/false);
          changed = true;
        }
        if (thread.op >= 0) break;
        thread.op = Take(thread);
        if (thread.op < 0) break;
        thread.due = now_ + IssueTime(thread.op);
        changed = true;
      }
    }
    return changed;
  }

  bool Start() {
    std::set<OpIndex> starting;
    for (DeviceIndex d = 0; d < cluster_.size(); ++d) {
      auto& queue = queue_[static_cast<std::size_t>(d)];
      auto& running = running_[d];
      while (!queue.empty() && missing_to_start_[queue.front()].empty() &&
             static_cast<int>(running.size()) < device(d).streams) {
        const OpIndex i = queue.front();
        queue.erase(queue.begin());
        running[i] = Wide{costs_.at(i, d)} * kRateUnit * 1'000'000'000'000;
        Times(i).start = now_;
        starting.insert(i);
      }
    }
    const auto ready = [&](OpIndex i) { return issued_.contains(i) && missing_to_start_[i].empty(); };
    for (const OpIndex i : collectives_.Start(now_, ready)) {
      Times(i).start = now_;
      starting.insert(i);
    }
    for (const OpIndex i : starting) {
      Bytes request = Rounded(op(i).workspace_bytes, Where(i));
      for (const Output& o : op(i).outputs) {
        if (o.storage == Output::Storage::kOwn) request += Rounded(o.bytes, Where(i));
      }
      Allocate(Where(i), i, OutOfMemory::What::kOutput, request);
    }
    return !starting.empty();
  }

  bool QueueTransfers(const std::vector<OpIndex>& ended_ops) {
    std::set<TransferKey> due;
    for (const OpIndex i : ended_ops) due.insert(due_transfers_[i].begin(), due_transfers_[i].end());
    for (const auto& [producer, out, to] : due) {
      Transfer t;
      t.times = {{producer, out}, Where(producer), to, 0, now_, now_, now_};
      t.light = IsLight(t.times.tensor);
      if (!t.light) t.times.bytes = output(t.times.tensor).bytes;
      t.bandwidth = std::numeric_limits<std::int64_t>::max();
      for (const Cluster::Hop& hop : Route(t)) {
        t.latency += OracleLoneTime(link(hop.link), 0);
        t.moving = std::max(
            t.moving, OracleLoneTime(link(hop.link), t.times.bytes) - OracleLoneTime(link(hop.link), 0));
        t.bandwidth = std::min(t.bandwidth, link(hop.link).bandwidth);
      }
      if (t.light) {
        t.started = true;
        t.fixed_end = now_ + t.latency;
      }
      transfers_.push_back(t);
    }
    return !due.empty();
  }

  // ---- transfers (section 4)----

  std::span<const Cluster::Hop> Route(const Transfer& t) const {
    return cluster_.route(t.times.from, t.times.to);
  }
  OracleDirection DirectionOf(const Cluster::Hop& hop) const { return OracleDirectionOf(cluster_, hop); }
  static bool IsMoving(const Transfer& t) { return t.started && !t.ended && !t.light; }
  bool Shares() const { return cluster_.interconnect != "ideal" && !cluster_.links.empty(); }

  bool FindPool(const Transfer& t, Pool& pool) const {
    if (!Shares()) return false;
    const bool from_cpu = IsCpu(t.times.from);
    if (from_cpu && IsCpu(t.times.to)) return false;
    const DeviceIndex d = from_cpu ? t.times.to : t.times.from;
    pool = {d, from_cpu && device(d).copy_engines > 1 ? 1 : 0};
    return true;
  }
  int PoolSize(const Pool& pool) const {
    const int engines = device(pool.first).copy_engines;
    return pool.second == 1 ? engines / 2 : (engines + 1) / 2;  // a single engine: one, shared
  }

  bool StartTransfers() {
    bool changed = false;
    std::map<Pool, int> engines_in_use;
    std::set<OracleDirection> links_in_use;
    std::set<Pool> pools_waited_for;  // by a transfer with a lower queue number
    std::set<OracleDirection> links_waited_for;
    Pool pool;
    for (const Transfer& t : transfers_) {
      if (!IsMoving(t)) continue;
      if (FindPool(t, pool)) ++engines_in_use[pool];
      for (const Cluster::Hop& hop : Route(t)) links_in_use.insert(DirectionOf(hop));
    }
    for (Transfer& t : transfers_) {
      if (t.started) continue;
      const bool needs_engine = FindPool(t, pool);
      bool may = !needs_engine || (!pools_waited_for.contains(pool) && engines_in_use[pool] < PoolSize(pool));
      if (cluster_.interconnect == "fifo") {
        for (const Cluster::Hop& hop : Route(t)) {
          may =
              may && !links_in_use.contains(DirectionOf(hop)) && !links_waited_for.contains(DirectionOf(hop));
        }
      }
      if (may) {
        Begin(t);
        changed = true;
        if (needs_engine) ++engines_in_use[pool];
      } else if (needs_engine) {
        pools_waited_for.insert(pool);
      }
      for (const Cluster::Hop& hop : Route(t))
        (may ? links_in_use : links_waited_for).insert(DirectionOf(hop));
    }
    for (Transfer& t : transfers_) {
      if (t.flow_begin != now_) continue;
      t.flow_begin = kNever;
      t.flowing = true;
      t.left = Wide{t.moving} * t.bandwidth * 1000;
      changed = true;
    }
    return changed;
  }

  void Begin(Transfer& t) {
    t.started = true;
    t.times.start = now_;
    if (!Shares() || t.moving == 0) {
      t.fixed_end = now_ + t.latency + t.moving;
    } else {
      t.flow_begin = now_ + t.latency;
    }
    for (const Cluster::Hop& hop : Route(t))
      out_.links[static_cast<std::size_t>(hop.link)].bytes += t.times.bytes;
    Allocate(t.times.to, t.times.tensor.op, OutOfMemory::What::kCopy, Rounded(t.times.bytes, t.times.to));
  }

  std::map<std::size_t, Wide> FlowRates() const {
    std::vector<OracleFlow> flows;
    for (std::size_t i = 0; i < transfers_.size(); ++i) {
      if (transfers_[i].flowing) flows.push_back({i, transfers_[i].bandwidth, Route(transfers_[i])});
    }
    return OracleRates(cluster_, flows);
  }

  // ---- time----

  // Section 3: work done by each op of a device in a picosecond, in units of 1/S ps.
  Wide OpRate(DeviceIndex d) const {
    const std::size_t k = running_.at(d).size();
    const auto& table = device(d).concurrency_ppm;
    const Wide alone =
        k <= table.size() ? Wide{table[k - 1]} * kRateUnit : Wide{kRateUnit} * kPpm / static_cast<Wide>(k);
    const bool copying = std::any_of(transfers_.begin(), transfers_.end(), [&](const Transfer& t) {
      return IsMoving(t) && t.latency + t.moving > 0 && (t.times.from == d || t.times.to == d);
    });
    return alone * std::min(copying ? device(d).overlap_copy_ppm : kPpm,
                            collectives_.RunsOn(d) ? device(d).overlap_collective_ppm : kPpm);
  }

  Picos NextInstant() const {
    Picos next = kNever;
    for (const auto& [d, running] : running_) {
      if (running.empty()) continue;
      const Wide rate = OpRate(d);
      for (const auto& [i, left] : running) {
        if (rate > 0) next = std::min(next, EndAfter(now_, left, rate));
      }
    }
    for (const auto& [i, rate] : FlowRates()) next = std::min(next, EndAfter(now_, transfers_[i].left, rate));
    for (const Transfer& t : transfers_) {
      if (!t.ended) next = std::min({next, t.fixed_end, t.flow_begin});
    }
    for (const Thread& thread : threads_) next = std::min(next, thread.due);
    next = std::min(next, collectives_.next_end());
    return next;
  }

  void Advance(Picos next) {
    const Picos passed = next - now_;
    for (auto& [d, running] : running_) {
      if (running.empty()) continue;
      const Wide rate = OpRate(d);
      for (auto& [i, left] : running) left -= rate * passed;
      out_.devices[static_cast<std::size_t>(d)].busy += passed;
    }
    for (const auto& [i, rate] : FlowRates()) transfers_[i].left -= rate * passed;
    std::set<OracleDirection> busy;
    for (const Transfer& t : transfers_) {
      if (!IsMoving(t)) continue;
      for (const Cluster::Hop& hop : Route(t)) busy.insert(DirectionOf(hop));
    }
    for (const OracleDirection& direction : busy)
      out_.links[static_cast<std::size_t>(direction.first)].busy += passed;
    now_ = next;
  }

  const OpGraph& graph_;
  const Cluster& cluster_;
  const CostTable& costs_;
  const Placement& placement_;

  Picos now_ = 0;
  std::map<OpIndex, std::set<OpIndex>> consumers_;
  std::map<OpIndex, std::set<Dependency>> missing_to_issue_;
  std::map<OpIndex, std::set<Dependency>> missing_to_start_;
  std::map<OpIndex, std::set<TransferKey>> due_transfers_;  // by producer
  std::map<StorageKey, std::set<Holder>> holders_;
  std::map<Holder, std::set<StorageKey>> held_;
  std::vector<Bytes> live_;  // by device
  std::vector<Thread> threads_;
  std::vector<std::vector<OpIndex>> queue_;                 // by device, issued and not started
  std::map<DeviceIndex, std::map<OpIndex, Wide>> running_;  // remaining work [1/S ps]
  std::set<OpIndex> issued_, ended_;
  OracleCollectives collectives_;
  std::map<OpIndex, OpIndex> next_member_;  // without lists: of its device
  std::vector<Transfer> transfers_;         // the index is the queue number
  Outcome out_;
};

}  // namespace

Outcome OracleRun(const OpGraph& graph, const Cluster& cluster, const CostTable& costs,
                  const Placement& placement, const CollectivePrices* prices) {
  const RingPrices rings(cluster);
  return Oracle(graph, cluster, costs, placement, prices != nullptr ? *prices : rings).Run();
}

}  // namespace stowplan::sim
