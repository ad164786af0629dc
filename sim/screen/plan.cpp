#include "sim/screen/plan.h"

#include <algorithm>

#include "sim/base/error.h"
#include "sim/horizon.h"
#include "sim/published_rules.h"

namespace stowplan::sim {
namespace {

using Id = ScreenPlan::Id;

// By op, the earliest end on devices that wait for nobody; readers start no sooner.
std::vector<OpIndex> EarliestFirst(const Compiled& c) {
  std::vector<Picos> start(static_cast<std::size_t>(c.ops), 0);
  for (const OpIndex op : c.program_order) {
    Picos least = c.CostOf(op, 0);
    for (DeviceIndex d = 1; d < c.devices; ++d) least = std::min(least, c.CostOf(op, d));
    const Picos end = start[static_cast<std::size_t>(op)] + least;
    for (Id edge = c.senders[c.rows[op].sender].edge; edge < c.senders[c.rows[op + 1].sender].edge; ++edge) {
      Picos& of = start[static_cast<std::size_t>(c.edges[edge].consumer)];
      of = std::max(of, end);
    }
  }
  std::vector<OpIndex> order(c.program_order.begin(), c.program_order.end());
  std::ranges::stable_sort(order, {}, [&](OpIndex op) { return start[static_cast<std::size_t>(op)]; });
  return order;
}

// By output, who reads it or a view of it.
std::vector<std::vector<OpIndex>> Holders(const Compiled& c) {
  std::vector<std::vector<OpIndex>> holders(c.output_bytes.size());
  // A view's readers are known before those of what it shares: its op comes later.
  std::vector<Id> shared(static_cast<std::size_t>(c.inputs), Compiled::kNone);  // by in-edge: the output
  for (Id s = 0; s + 1 < static_cast<Id>(c.senders.size()); ++s) {
    for (Id edge = c.senders[s].edge; edge < c.senders[s + 1].edge; ++edge) {
      if (c.senders[s].output == Compiled::kNone) continue;
      shared[static_cast<std::size_t>(c.edges[edge].input)] = c.senders[s].output;
      holders[static_cast<std::size_t>(c.senders[s].output)].push_back(c.edges[edge].consumer);
    }
  }
  for (auto op = c.program_order.rbegin(); op != c.program_order.rend(); ++op) {
    for (Id view = c.rows[*op].output; view < c.rows[*op + 1].output; ++view) {
      if (c.output_shares[view] == Compiled::kNone) continue;
      const Id root = shared[static_cast<std::size_t>(c.output_shares[view])];
      const auto& more = holders[static_cast<std::size_t>(view)];
      auto& of_root = holders[static_cast<std::size_t>(root)];
      of_root.insert(of_root.end(), more.begin(), more.end());
    }
  }
  return holders;
}

class Planner {
 public:
  Planner(const Problem& problem, std::span<const std::int32_t> unit_of_op, std::span<const OpIndex> order,
          ScreenPlan& plan)
      : graph_(problem.graph()),
        c_(problem.compiled()),
        cluster_(problem.cluster()),
        unit_of_op_(unit_of_op),
        plan_(plan),
        order_(order.begin(), order.end()) {}

  void Make() {
    STOWPLAN_CHECK_EQ(unit_of_op_.size(), static_cast<std::size_t>(c_.ops));
    plan_.published = cluster_.rules == Rules::kPublished;
    plan_.process = !plan_.published && cluster_.dispatch.per == Dispatch::Per::kProcess;
    plan_.ideal = cluster_.interconnect == "ideal";
    if (order_.empty() && plan_.published) order_ = EarliestFirst(c_);
    if (order_.empty()) order_.assign(c_.program_order.begin(), c_.program_order.end());
    STOWPLAN_CHECK_EQ(order_.size(), static_cast<std::size_t>(c_.ops));
    AddDevices();
    AddRoutes();
    AddSteps();
    CheckSums();
  }

 private:
  const Device& DeviceAt(std::size_t d) const {
    return cluster_.devices[static_cast<std::size_t>(plan_.devices[d])];
  }

  // Adds a device to the set that begins there.
  void AddTo(std::vector<ScreenPlan::Word>& sets, std::size_t set, std::size_t d) const {
    sets[set * plan_.words + d / ScreenPlan::kDevicesOfWord] |=
        ScreenPlan::kAll << d % ScreenPlan::kDevicesOfWord * ScreenPlan::kAbreast;
  }

  void AddDevices() {
    plan_.cpus.resize(plan_.words);
    for (std::size_t d = 0; d < plan_.devices.size(); ++d) {
      const Device& device = DeviceAt(d);
      granularity_ = std::max(granularity_, device.granularity);
      if (device.device_class == DeviceClass::kCpu) AddTo(plan_.cpus, 0, d);
      const bool slowed = !plan_.published && !cluster_.links.empty() && device.overlap_copy_ppm < kPpm;
      plan_.slows.push_back(slowed ? static_cast<std::int32_t>(1024 * (kPpm - device.overlap_copy_ppm) / kPpm)
                                   : 0);
      plan_.blocking = plan_.blocking || slowed;
      AddToKind(d);
    }
  }

  bool Alike(DeviceIndex a, DeviceIndex b) const {
    if (c_.dispatch_cost[a] != c_.dispatch_cost[b]) return false;
    for (OpIndex op = 0; op < c_.ops; ++op) {
      if (c_.CostOf(op, a) != c_.CostOf(op, b)) return false;
    }
    return true;
  }

  void AddToKind(std::size_t d) {
    const DeviceIndex device = plan_.devices[d];
    std::size_t kind = 0;
    while (kind < example_.size() && !Alike(example_[kind], device)) ++kind;
    if (kind == example_.size()) {
      example_.push_back(device);
      plan_.kind.resize(++plan_.kinds * plan_.words);
      plan_.dispatch_cost.push_back(plan_.published ? 0 : c_.dispatch_cost[device]);
    }
    AddTo(plan_.kind, kind, d);
  }

  // Routes are alike if everything takes them equally long.
  void AddRoutes() {
    std::vector<const Compiled::Route*> kinds;
    const auto alike = [this](const Compiled::Route& a, const Compiled::Route& b) {
      return plan_.published || (a.latency == b.latency && c_.SameMoves(a, b));
    };
    for (std::size_t to = 0; to < plan_.devices.size(); ++to) {
      plan_.first_senders.push_back(static_cast<Id>(plan_.route_kind.size()));
      for (std::size_t from = 0; from < plan_.devices.size(); ++from) {
        if (from == to) continue;
        const Compiled::Route& route = c_.route(plan_.devices[from], plan_.devices[to]);
        const auto found = std::ranges::find_if(kinds, [&](auto* kind) { return alike(*kind, route); });
        const auto kind = static_cast<Id>(found - kinds.begin());
        if (found == kinds.end()) kinds.push_back(&route);
        AddSender(plan_.first_senders.back(), from, kind);
      }
    }
    plan_.first_senders.push_back(static_cast<Id>(plan_.route_kind.size()));
    routes_ = std::move(kinds);
  }

  void AddSender(Id first, std::size_t from, Id kind) {
    const auto set = std::find(plan_.route_kind.begin() + first, plan_.route_kind.end(), kind);
    const auto number = static_cast<std::size_t>(set - plan_.route_kind.begin());
    if (set == plan_.route_kind.end()) {
      plan_.route_kind.push_back(kind);
      plan_.senders.resize(plan_.route_kind.size() * plan_.words);
    }
    AddTo(plan_.senders, number, from);
  }

  void AddSteps() {
    step_of_.resize(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i)
      step_of_[static_cast<std::size_t>(order_[i])] = static_cast<Id>(i);
    holders_ = Holders(c_);
    for (const OpIndex op : order_) AddStep(op);
    plan_.ops.push_back({.send = static_cast<Id>(plan_.sends.size())});
    plan_.sends.push_back(
        {.reader = static_cast<Id>(plan_.readers.size()), .holder = static_cast<Id>(plan_.holders.size())});
    plan_.units = 1 + *std::ranges::max_element(unit_of_op_);
    plan_.persistent.resize(static_cast<std::size_t>(plan_.units));
    for (OpIndex op = 0; op < c_.ops; ++op)
      plan_.persistent[static_cast<std::size_t>(UnitOf(op))] += Rounded(c_.persistent[op]);
  }

  Id UnitOf(OpIndex op) const { return unit_of_op_[static_cast<std::size_t>(op)]; }
  Bytes Rounded(Bytes bytes) const { return RoundUp(bytes, granularity_); }
  ScreenPlan::Reader ReaderOf(OpIndex op) const {
    return {step_of_[static_cast<std::size_t>(op)], UnitOf(op)};
  }

  void AddStep(OpIndex op) {
    ScreenPlan::ScreenedOp screened{
        .unit = UnitOf(op),
        .send = static_cast<Id>(plan_.sends.size()),
        .working = Rounded(c_.rows[op].workspace),
        .pays = c_.rows[op].dispatch_ops,
        .host_waits = !plan_.published && !c_.host_waits.empty() && c_.host_waits[op] != 0};
    for (const DeviceIndex device : example_) {
      plan_.cost.push_back(c_.CostOf(op, device));
      if (plan_.published) screened.pause = std::max(screened.pause, PauseAfterOp(plan_.cost.back()));
    }
    Bytes outputs = 0;
    for (Id output = c_.rows[op].output; output < c_.rows[op + 1].output; ++output)
      outputs += Rounded(c_.output_storage[output]);
    for (Id s = c_.rows[op].sender; s < c_.rows[op + 1].sender; ++s) screened.own += AddSend(op, s);
    screened.working += outputs - screened.own;
    plan_.ops.push_back(screened);
  }

  // Returns the storage that waits for its readers.
  Bytes AddSend(OpIndex op, Id s) {
    const Compiled::Sender& sender = c_.senders[s];
    const bool data = sender.output != Compiled::kNone;
    ScreenPlan::Send send{.reader = static_cast<Id>(plan_.readers.size()),
                          .holder = static_cast<Id>(plan_.holders.size()),
                          .times = static_cast<Id>(plan_.move_time.size()),
                          .own = data ? Rounded(c_.output_storage[sender.output]) : 0,
                          .bytes = data && !plan_.published ? Rounded(sender.bytes) : 0};
    for (Id edge = sender.edge; edge < c_.senders[s + 1].edge; ++edge)
      plan_.readers.push_back(ReaderOf(c_.edges[edge].consumer));
    if (data) AddHolders(sender.output);
    for (const Compiled::Route* route : routes_) plan_.move_time.push_back(TimeOf(op, sender, *route));
    plan_.sends.push_back(send);
    return send.own;
  }

  void AddHolders(Id output) {
    const auto first = static_cast<std::ptrdiff_t>(plan_.holders.size());
    for (const OpIndex holder : holders_[static_cast<std::size_t>(output)])
      plan_.holders.push_back(ReaderOf(holder));
    std::sort(plan_.holders.begin() + first, plan_.holders.end(),
              [](const auto& a, const auto& b) { return a.op < b.op; });
  }

  Picos TimeOf(OpIndex op, const Compiled::Sender& sender, const Compiled::Route& route) const {
    if (!plan_.published) return route.latency + (sender.bytes > 0 ? c_.MoveTime(route, sender.output) : 0);
    const bool none =
        c_.rows[op].output == c_.rows[op + 1].output;  // a control dependency counts as output 0
    const Bytes bytes = sender.output != Compiled::kNone ? sender.bytes
                        : none                           ? 0
                                                         : c_.output_bytes[c_.rows[op].output];
    return SendTime(bytes);
  }

  // A pass adds up more than a run does: a transfer may wait once more for as long as it takes, and both its ends may lose as
  // much.
  void CheckSums() const {
    constexpr double kTimesMove = 6;
    double total = 0;
    Picos dispatch = 0;
    for (const Picos cost : plan_.dispatch_cost) dispatch = std::max(dispatch, cost);
    for (std::size_t i = 0; i + 1 < plan_.ops.size(); ++i) {
      const auto row = plan_.cost.begin() + static_cast<std::ptrdiff_t>(i * plan_.kinds);
      total += static_cast<double>(*std::max_element(row, row + static_cast<std::ptrdiff_t>(plan_.kinds))) +
               static_cast<double>(plan_.ops[i].pause) + static_cast<double>(dispatch) * plan_.ops[i].pays;
    }
    for (std::size_t i = 0; i + 1 < plan_.sends.size(); ++i) {
      const auto row = plan_.move_time.begin() + plan_.sends[i].times;
      const auto readers = static_cast<std::size_t>(plan_.sends[i + 1].reader - plan_.sends[i].reader);
      const double times = kTimesMove * static_cast<double>(std::min(readers, plan_.devices.size()));
      const auto routes = static_cast<std::ptrdiff_t>(routes_.size());
      if (routes > 0)
        total += times * static_cast<double>(*std::max_element(row, row + routes)) +
                 static_cast<double>(kSendPause);
    }
    if (!(total < 0x1p63)) RefuseHorizon(graph_, cluster_);
  }

  const OpGraph& graph_;
  const Compiled& c_;
  const Cluster& cluster_;
  const std::span<const std::int32_t> unit_of_op_;
  ScreenPlan& plan_;
  std::vector<OpIndex> order_;
  std::vector<Id> step_of_;  // by op
  std::vector<std::vector<OpIndex>> holders_;
  std::vector<DeviceIndex> example_;  // of a kind
  std::vector<const Compiled::Route*> routes_;
  Bytes granularity_ = 1;
};

}  // namespace

ScreenPlan::ScreenPlan(const Problem& problem, std::span<const std::int32_t> unit_of_op,
                       std::span<const DeviceIndex> devices_in, std::span<const OpIndex> order)
    : words((devices_in.size() + kDevicesOfWord - 1) / kDevicesOfWord),
      devices(devices_in.begin(), devices_in.end()) {
  Planner(problem, unit_of_op, order, *this).Make();
}

}  // namespace stowplan::sim
