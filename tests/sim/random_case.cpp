#include "tests/sim/random_case.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "sim/base/error.h"
#include "sim/base/exact.h"
#include "sim/formats/formats.h"

namespace stowplan::sim {
namespace {

constexpr Picos kMicro = kPicosPerMicro;

// Numbers drawn so that many instants coincide, or hardly any.
struct Numbers {
  bool ties = false;
  bool extreme = false;
  bool collectives = false;
  std::vector<Picos> costs;
  std::vector<Bytes> sizes;
  std::vector<std::int64_t> bandwidths;
  std::vector<Picos> latencies;

  // Of all sizes up to one of all sizes up to the limit, which is met, too.
  static std::vector<std::int64_t> Magnitudes(std::int64_t limit, Dice& dice) {
    std::vector<std::int64_t> numbers;
    const std::int64_t most = limit >> dice.Between(0, 60);
    for (int i = 0; i < 6; ++i) numbers.push_back(std::max<std::int64_t>(most >> dice.Between(0, 60), 1));
    numbers.push_back(std::max<std::int64_t>(most, 1));
    return numbers;
  }

  Numbers(const CaseShape& shape, Dice& dice)
      : ties(shape.may_tie && dice.Percent(50)), extreme(shape.extreme), collectives(shape.collectives) {
    if (extreme) {
      sizes = Magnitudes(kMaxBytes, dice);
      bandwidths = Magnitudes(std::int64_t{1} << 50, dice);
      if (dice.Percent(50)) bandwidths.assign(1, std::int64_t{1} << dice.Between(30, 50));
      latencies = Magnitudes(1000 * kPicosPerSecond, dice);
      costs = Magnitudes(1'000'000'000'000 * kMicro, dice);
      for (auto* with_zero : {&sizes, &latencies, &costs}) with_zero->push_back(0);
    } else if (ties) {  // 10 kB take 1 us at 10 GB/s
      sizes = {0, 10'000, 10'000, 20'000, 50'000};
      bandwidths = {10'000'000'000, 5'000'000'000, 20'000'000'000};
      latencies = {0, kMicro, 5 * kMicro};
    } else {
      sizes = {0, 1, 255, 256, 257, 1000, 76'000};
      for (int i = 0; i < 8; ++i) sizes.push_back(dice.Between(1, 400'000));
      bandwidths = {dice.Between(1'000'000, 10'000'000), dice.Between(1, 9) * 1'000'000'000, 7'600'000'000,
                    dice.Between(1'000'000'000, 400'000'000'000)};
      latencies = {0, dice.Between(1, 40) * kMicro, dice.Between(1, 30'000'000)};
    }
  }
  Bytes Size(Dice& dice) const { return dice.OneOf(sizes); }
  Picos Cost(Dice& dice) const {
    if (extreme) return dice.OneOf(costs);
    if (ties) return dice.OneOf<Picos>({0, kMicro, kMicro, 2 * kMicro, 5 * kMicro});
    return dice.Percent(10) ? 0 : dice.Between(1, 20 * kMicro);
  }
};

// ---- graph----

void AddInputs(OpGraph& graph, OpIndex i, bool chain, Dice& dice) {
  Op& op = graph.ops[static_cast<std::size_t>(i)];
  if (chain) {
    if (i > 0) op.inputs.push_back({i - 1, 0});
    return;
  }
  const std::int64_t reach = dice.Percent(70) ? std::min<OpIndex>(i, 6) : i;
  for (std::int64_t n = dice.OneOf<std::int64_t>({0, 1, 1, 1, 2, 2, 3, 4}); n > 0 && i > 0; --n) {
    const auto producer = static_cast<OpIndex>(i - dice.Between(1, reach));
    const auto outputs =
        static_cast<std::int64_t>(graph.ops[static_cast<std::size_t>(producer)].outputs.size());
    if (outputs == 0 || dice.Percent(12)) op.control.push_back(producer);
    if (outputs > 0) op.inputs.push_back({producer, static_cast<std::int32_t>(dice.Between(0, outputs - 1))});
    if (outputs > 0 && dice.Percent(8)) op.inputs.push_back(op.inputs.back());
  }
}

void AddOutputs(Op& op, bool chain, const Numbers& numbers, Dice& dice) {
  const bool variable = op.type == "Variable";
  for (auto n = dice.OneOf<int>({chain ? 1 : 0, 1, 1, 1, 1, 2, 3}); n > 0; --n) {
    Output output;
    output.bytes = numbers.Size(dice);
    if (variable ? dice.Percent(85) : dice.Percent(4)) {
      output.storage = Output::Storage::kPersistent;
    } else if (!op.inputs.empty() && dice.Percent(20)) {
      output.storage = Output::Storage::kInput;
      output.alias = dice.OneOf(op.inputs);
    }
    op.outputs.push_back(output);
  }
}

// Of some of the ops from `i` on; each reads a tensor of one before. Returns the op behind them.
OpIndex AddCollective(OpGraph& graph, OpIndex i, const Numbers& numbers, Dice& dice) {
  const OpIndex first = i;
  const auto ranks = static_cast<OpIndex>(dice.Between(2, 4));
  const auto type = dice.OneOf<std::string>({"AllReduce", "ReduceScatter", "AllGather", "AllToAll"});
  if (first + ranks > graph.size()) return first;
  for (; i < first + ranks; ++i) {
    Op& op = graph.ops[static_cast<std::size_t>(i)];
    op.name = "op" + std::to_string(i);
    op.type = type;
    op.collective = first;
    auto producer = static_cast<OpIndex>(first - dice.Between(1, std::min<OpIndex>(first, 8)));
    while (producer > 0 && graph.ops[static_cast<std::size_t>(producer)].outputs.empty()) --producer;
    std::vector<Output>& made = graph.ops[static_cast<std::size_t>(producer)].outputs;
    if (made.empty()) made.emplace_back().bytes = numbers.Size(dice);
    op.inputs = {{producer, 0}};
    Output& output = op.outputs.emplace_back();
    output.bytes = numbers.Size(dice);
    if (type == "AllReduce") {
      output.storage = Output::Storage::kInput;
      output.alias = op.inputs.front();
    }
    if (dice.Percent(20)) op.control = {static_cast<OpIndex>(dice.Between(0, first - 1))};
    if (dice.Percent(20)) op.framework_ops = static_cast<std::int32_t>(dice.Between(0, 3));
  }
  return i;
}

// Moves op `from[i]` to place i; references follow.
void Permute(OpGraph& graph, const std::vector<OpIndex>& from) {
  std::vector<OpIndex> to(from.size());
  for (std::size_t i = 0; i < from.size(); ++i)
    to[static_cast<std::size_t>(from[i])] = static_cast<OpIndex>(i);
  const auto move = [&](OpIndex& op) { op = to[static_cast<std::size_t>(op)]; };
  std::vector<Op> ops;
  for (const OpIndex i : from) ops.push_back(std::move(graph.ops[static_cast<std::size_t>(i)]));
  for (Op& op : ops) {
    for (TensorRef& input : op.inputs) move(input.op);
    for (OpIndex& control : op.control) move(control);
    for (Output& output : op.outputs) {
      if (output.storage == Output::Storage::kInput) move(output.alias.op);
    }
  }
  graph.ops = std::move(ops);
}

std::vector<OpIndex> Shuffled(OpIndex n, Dice& dice) {
  std::vector<OpIndex> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1],
              order[static_cast<std::size_t>(dice.Between(0, static_cast<std::int64_t>(i) - 1))]);
  }
  return order;
}

OpGraph MakeGraph(const CaseShape& shape, const Numbers& numbers, Dice& dice) {
  OpGraph graph;
  graph.name = "random";
  const auto n =
      static_cast<OpIndex>(dice.Between(1, dice.Percent(50) ? std::min(12, shape.max_ops) : shape.max_ops));
  graph.ops.resize(static_cast<std::size_t>(n));
  const bool colocated = dice.Percent(30);
  for (OpIndex i = 0; i < n; ++i) {
    if (shape.collectives && i > 3 && dice.Percent(12)) i = AddCollective(graph, i, numbers, dice);
    if (i == n) break;
    Op& op = graph.ops[static_cast<std::size_t>(i)];
    op.name = "op" + std::to_string(i);
    op.type = dice.OneOf<std::string>(
        {"MatMul", "MatMul", "MatMul", "MatMul", "MatMul", "MatMul", "Variable", "Const"});
    if (op.type == "MatMul" || shape.chain || dice.Percent(20)) AddInputs(graph, i, shape.chain, dice);
    AddOutputs(op, shape.chain, numbers, dice);
    if (op.type == "Variable" || dice.Percent(5)) op.persistent_bytes = numbers.Size(dice);
    if (dice.Percent(20)) op.workspace_bytes = numbers.Size(dice);
    if (dice.Percent(15)) op.framework_ops = static_cast<std::int32_t>(dice.Between(1, 3));
    if (n % 5 == 0 && i % 3 != 0)
      op.host_units = i * 37 % 11;  // without a draw: other cases stay as they were
    if (n % 4 == 1 && i % 5 == 2) op.attributes = {{"host_waits", {true}}};  // likewise
    if (colocated && dice.Percent(30)) op.colocate = dice.OneOf<std::string>({"a", "b", "c"});
  }
  if (dice.Percent(30)) Permute(graph, Shuffled(n, dice));
  graph.Finish();
  return graph;
}

// ---- cluster----

void MakeExtreme(Device& device, Dice& dice) {
  if (dice.Percent(80)) device.memory = kMaxBytes;
  device.granularity = Bytes{1} << dice.Between(0, 30);
  if (dice.Percent(10)) device.streams = 1024;
  if (dice.Percent(10)) device.copy_engines = 1024;
  if (dice.Percent(10)) device.concurrency_ppm = {dice.OneOf<std::int64_t>({1, 2, kPpm})};
  if (dice.Percent(10)) device.overlap_copy_ppm = dice.OneOf<std::int64_t>({1, 999, kPpm});
  device.launch_cost = std::max<Picos>(1'000'000 * kMicro >> dice.Between(0, 60), 0);
}

// Its curve may be up to 1000 s a byte, its time in both directions a million times as long.
void MakeExtreme(Link& link, const Numbers& numbers, Dice& dice) {
  if (dice.Percent(20)) link.both_ppm = dice.OneOf<std::int64_t>({1, 3, 1999, kPpm});
  if (dice.Percent(20)) {
    link.curve = {{0, link.latency}};
    for (auto knots = dice.Between(1, 3); knots > 0; --knots) {
      const auto& [bytes, time] = link.curve.back();
      link.curve.emplace_back(bytes + 1 + dice.OneOf(numbers.sizes),
                              time + 1 + (1000 * kPicosPerSecond >> dice.Between(0, 50)));
    }
  }
}

Device MakeDevice(DeviceIndex d, const Numbers& numbers, Dice& dice) {
  Device device;
  const bool cpu = dice.Percent(25);
  device.name = (cpu ? "cpu" : "gpu") + std::to_string(d);
  device.device_class = cpu ? DeviceClass::kCpu : DeviceClass::kGpu;
  device.kind = cpu ? "cpu-broadwell" : dice.OneOf<std::string>({"k80", "p100"});
  device.memory = dice.Percent(25) ? dice.Between(0, numbers.ties ? 200'000 : 1'500'000) : Bytes{1} << 36;
  device.reserve = dice.Percent(20) ? device.memory / 10 : 0;
  device.granularity = dice.OneOf<Bytes>({1, 64, 256, 512});
  device.streams = dice.OneOf<int>({1, 1, 1, 2, 2, 3, 8, 20});
  device.copy_engines = dice.OneOf<int>({1, 1, 2, 2, 3, 4});
  if (dice.Percent(25)) device.concurrency_ppm = {1'000'000, 600'000, 333'333};
  if (dice.Percent(10)) device.concurrency_ppm = {dice.Between(1, kPpm)};
  if (device.concurrency_ppm.size() > static_cast<std::size_t>(device.streams))
    device.concurrency_ppm.resize(static_cast<std::size_t>(device.streams));
  if (dice.Percent(30))
    device.overlap_copy_ppm = dice.OneOf<std::int64_t>({500'000, 900'000, dice.Between(1000, kPpm)});
  device.launch_cost = dice.Between(0, 6) * kMicro;
  if (numbers.collectives && dice.Percent(40))
    device.overlap_collective_ppm = dice.OneOf<std::int64_t>({500'000, 800'000, dice.Between(1000, kPpm)});
  if (numbers.extreme) MakeExtreme(device, dice);
  return device;
}

Link MakeLink(std::size_t number, std::int32_t a, std::int32_t b, const Numbers& numbers, Dice& dice) {
  Link link;
  link.name = "link" + std::to_string(number);
  link.ends = {a, b};
  if (dice.Percent(50)) std::swap(link.ends[0], link.ends[1]);
  link.bandwidth = dice.OneOf(numbers.bandwidths);
  link.latency = dice.OneOf(numbers.latencies);
  if (dice.Percent(25)) link.duplex = Duplex::kHalf;
  if (dice.Percent(30)) link.both_ppm = dice.OneOf<std::int64_t>({500'000, 710'000, 333'333});
  if (dice.Percent(15)) {
    link.curve = {
        {0, link.latency}, {10'000, link.latency + 3 * kMicro}, {100'000, link.latency + 9 * kMicro + 1}};
  }
  if (numbers.extreme) MakeExtreme(link, numbers, dice);
  return link;
}

// Reachable by construction: a mesh, a star around a switch, or two switches with a trunk; then a few links
// more.
void AddLinks(Cluster& cluster, const Numbers& numbers, Dice& dice) {
  const auto devices = cluster.size();
  const auto connect = [&](std::int32_t a, std::int32_t b) {
    cluster.links.push_back(MakeLink(cluster.links.size(), a, b, numbers, dice));
  };
  if (dice.Percent(35)) {
    for (DeviceIndex a = 0; a < devices; ++a) {
      for (DeviceIndex b = a + 1; b < devices; ++b) connect(a, b);
    }
  } else {
    const auto switches = static_cast<std::int32_t>(dice.Between(1, 2));
    for (std::int32_t s = 0; s < switches; ++s) cluster.switches.push_back("switch" + std::to_string(s));
    for (DeviceIndex d = 0; d < devices; ++d)
      connect(d, devices + static_cast<std::int32_t>(dice.Between(0, switches - 1)));
    if (switches == 2) connect(devices, devices + 1);
    const auto nodes = devices + switches;
    for (auto n = dice.Between(0, 2); n > 0; --n) {
      const auto a = static_cast<std::int32_t>(dice.Between(0, nodes - 1));
      const auto b = static_cast<std::int32_t>(dice.Between(0, nodes - 1));
      if (a != b) connect(a, b);
    }
  }
}

// A route by hand: a walk, also over accelerators and out and back over a link, which the search would not take.
void AddRoute(Cluster& cluster, Dice& dice) {
  const Route route = RandomWalk(cluster, dice);
  try {
    cluster.Follow(route);
  } catch (const InputError&) {  // what is refused is tested in route_test.cpp
    return;
  }
  cluster.routes.push_back(route);
}

void MakeSolo(Cluster& cluster, Dice& dice) {
  for (Device& device : cluster.devices) {
    device.streams = 1;
    device.concurrency_ppm.clear();
    device.overlap_copy_ppm = kPpm;
  }
  cluster.dispatch.per = Dispatch::Per::kDevice;
  if (dice.Percent(20)) return;
  for (Link& link : cluster.links) link.both_ppm = kPpm;
}

Cluster MakeCluster(const CaseShape& shape, const Numbers& numbers, Dice& dice) {
  Cluster cluster;
  cluster.name = "random";
  const auto devices = static_cast<DeviceIndex>(dice.Between(shape.least_devices, shape.most_devices));
  for (DeviceIndex d = 0; d < devices; ++d) {
    cluster.devices.push_back(MakeDevice(d, numbers, dice));
  }
  cluster.interconnect = shape.interconnect.empty()
                             ? dice.OneOf<std::string>({"ideal", "fifo", "fifo", "fair", "fair"})
                             : shape.interconnect;
  if (devices > 1 && dice.Percent(92)) AddLinks(cluster, numbers, dice);
  if (devices > 1 && !cluster.links.empty() && dice.Percent(30)) AddRoute(cluster, dice);
  Dispatch& dispatch = cluster.dispatch;
  dispatch.per = dice.OneOf<Dispatch::Per>({Dispatch::Per::kDevice, Dispatch::Per::kProcess});
  dispatch.order = dice.Percent(75) ? Dispatch::Order::kReady : Dispatch::Order::kProgram;
  dispatch.automatic = dice.Percent(20);
  dispatch.cost =
      dice.OneOf<Picos>({0, 0, kMicro, 5 * kMicro, numbers.ties ? 2 * kMicro : dice.Between(1, 5 * kMicro)});
  if (shape.solo) MakeSolo(cluster, dice);
  cluster.Finish();
  return cluster;
}

// ---- costs and placements----

// Costs by kind, written into the graph too so that PrintCase() shows them.
CostTable MakeCosts(OpGraph& graph, const Cluster& cluster, const Numbers& numbers, Dice& dice) {
  CostTable costs;
  costs.cost_model = "random";
  costs.devices = cluster.size();
  for (Op& op : graph.ops) {
    const Picos cost = numbers.Cost(dice);
    const Picos on_cpu = dice.Percent(50) ? 2 * cost : numbers.Cost(dice);
    op.cost_us_by_kind = {
        {"k80", ToMicros(cost)}, {"p100", ToMicros(cost / 2)}, {"cpu-broadwell", ToMicros(on_cpu)}};
    for (const Device& device : cluster.devices) {
      costs.picos.push_back(device.kind == "k80" ? cost : device.kind == "p100" ? cost / 2 : on_cpu);
      costs.tier.push_back(Tier::kMeasured);
    }
  }
  return costs;
}

std::vector<OpIndex> RandomTopologicalOrder(const OpGraph& graph, Dice& dice) {
  std::vector<int> missing(graph.ops.size(), 0);
  for (OpIndex i = 0; i < graph.size(); ++i) {
    for (const OpIndex consumer : graph.consumers(i)) ++missing[static_cast<std::size_t>(consumer)];
  }
  std::vector<OpIndex> ready, order;
  for (OpIndex i = 0; i < graph.size(); ++i) {
    if (missing[static_cast<std::size_t>(i)] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    const auto chosen = ready.begin() + dice.Between(0, static_cast<std::int64_t>(ready.size()) - 1);
    const OpIndex op = *chosen;
    ready.erase(chosen);
    order.push_back(op);
    for (const OpIndex consumer : graph.consumers(op)) {
      if (--missing[static_cast<std::size_t>(consumer)] == 0) ready.push_back(consumer);
    }
  }
  return order;
}

}  // namespace

std::uint64_t OracleCases() {
  if (const char* wanted = std::getenv("STOWPLAN_ORACLE_CASES")) return std::strtoull(wanted, nullptr, 10);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 500;
#else
  return 4000;
#endif
}

Route RandomWalk(const Cluster& cluster, Dice& dice) {
  Route walk;
  walk.from = static_cast<DeviceIndex>(dice.Between(0, cluster.size() - 1));
  std::int32_t at = walk.from;
  for (auto hops = dice.Between(1, 6); hops > 0; --hops) {
    std::vector<std::int32_t> onward;
    for (std::size_t l = 0; l < cluster.links.size(); ++l) {
      const auto& ends = cluster.links[l].ends;
      if (ends[0] == at || ends[1] == at) onward.push_back(static_cast<std::int32_t>(l));
    }
    if (onward.empty()) break;
    walk.via.push_back(dice.OneOf(onward));
    const auto& ends = cluster.links[static_cast<std::size_t>(walk.via.back())].ends;
    at = ends[0] == at ? ends[1] : ends[0];
    if (at != walk.from && at < cluster.size() && dice.Percent(50)) break;
  }
  walk.to = at;
  return walk;
}

Placement MakeRandomPlacement(const OpGraph& graph, const Cluster& cluster, Dice& dice) {
  Placement placement;
  std::vector<DeviceIndex> of_set;
  const bool blocks = dice.Percent(30);
  for (std::int32_t s = 0; s < graph.colocation_sets(); ++s) {
    of_set.push_back(
        blocks ? static_cast<DeviceIndex>(std::int64_t{s} * cluster.size() / graph.colocation_sets())
               : static_cast<DeviceIndex>(dice.Between(0, cluster.size() - 1)));
  }
  for (const auto s : graph.colocation_set()) placement.device.push_back(of_set[static_cast<std::size_t>(s)]);
  if (dice.Percent(20)) {
    for (OpIndex i = 0; i < graph.size(); ++i)
      placement.priority.push_back(static_cast<double>(dice.Between(-3, 3)));
  } else if (dice.Percent(20)) {
    placement.order = RandomTopologicalOrder(graph, dice);
  }
  return placement;
}

RandomCase MakeRandomCase(std::uint64_t seed, const CaseShape& shape) {
  Dice dice(seed);
  RandomCase made = MakeRandomCase(dice, shape);
  made.seed = seed;
  return made;
}

RandomCase MakeRandomCase(Dice& dice, const CaseShape& shape) {
  const Numbers numbers(shape, dice);
  RandomCase made;
  made.graph = MakeGraph(shape, numbers, dice);
  made.cluster = MakeCluster(shape, numbers, dice);
  made.costs = MakeCosts(made.graph, made.cluster, numbers, dice);
  made.placement = MakeRandomPlacement(made.graph, made.cluster, dice);
  CheckPlacement(made.graph, made.cluster, made.placement);
  return made;
}

Picos RandomPrices::TimeOf(const CollectiveShape& collective) const {
  std::uint64_t hash =
      static_cast<std::uint64_t>(collective.type) * 31 + static_cast<std::uint64_t>(collective.bytes);
  for (const DeviceIndex device : collective.devices)
    hash = (hash ^ static_cast<std::uint64_t>(device)) * 0x9e3779b97f4a7c15U;
  const auto number = static_cast<Picos>(hash >> 40);
  if (number % 7 == 0) return 0;
  return ties_ ? number % 6 * kMicro : number % (20 * kMicro);
}

std::string PrintCase(const RandomCase& random_case) {
  return "seed " + std::to_string(random_case.seed) + "\n" + formats::PrintGraph(random_case.graph) + "\n" +
         formats::PrintCluster(random_case.cluster) + "\n" +
         formats::PrintPlacement(random_case.placement, random_case.graph, random_case.cluster) + "\n";
}

}  // namespace stowplan::sim
