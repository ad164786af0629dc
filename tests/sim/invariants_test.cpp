// What must hold of every native run, whatever the problem, and how runs of related problems are related.
#include "sim/simulator.h"
#include "tests/sim/compare.h"
#include "tests/sim/random_case.h"
#include "tests/testing.h"

namespace stowplan::sim {
namespace {

constexpr std::uint64_t kCases = 1000;

Outcome Simulate(const RandomCase& c, const RunOptions& options = {RunOptions::Record::kTimeline, {}}) {
  const Problem problem(c.graph, c.cluster, c.costs);
  return MakeSimulator(problem)->Run(c.placement, options);
}

const Op& OpAt(const RandomCase& c, OpIndex i) {
  return c.graph.ops[static_cast<std::size_t>(i)];
}
DeviceIndex Where(const RandomCase& c, OpIndex i) {
  return c.placement.device[static_cast<std::size_t>(i)];
}
const Device& DeviceAt(const RandomCase& c, DeviceIndex d) {
  return c.cluster.devices[static_cast<std::size_t>(d)];
}

std::set<TensorRef> Dependencies(const Op& op) {
  std::set<TensorRef> all(op.inputs.begin(), op.inputs.end());
  for (const OpIndex producer : op.control) all.insert({producer, -1});
  return all;
}

// How long a dependency takes from one device to another when nothing else moves.
Picos LoneTransfer(const RandomCase& c, const TensorRef& tensor, DeviceIndex from, DeviceIndex to) {
  const Bytes bytes =
      tensor.output < 0 ? 0 : OpAt(c, tensor.op).outputs[static_cast<std::size_t>(tensor.output)].bytes;
  Picos latency = 0, moving = 0;
  for (const Cluster::Hop& hop : c.cluster.route(from, to)) {
    const Link& link = c.cluster.links[static_cast<std::size_t>(hop.link)];
    latency += LoneTime(link, 0);
    moving = std::max(moving, LoneTime(link, bytes) - LoneTime(link, 0));
  }
  return latency + moving;
}

// ---- of one run----

void CheckOrder(const RandomCase& c, const Outcome& out) {
  std::map<std::tuple<OpIndex, std::int32_t, DeviceIndex>, const TransferTimes*> transfers;
  for (const TransferTimes& t : out.transfers) {
    EXPECT_TRUE(transfers.emplace(std::tuple(t.tensor.op, t.tensor.output, t.to), &t).second) << "sent twice";
    EXPECT_EQ(t.from, Where(c, t.tensor.op));
    EXPECT_EQ(t.queued, out.ops[static_cast<std::size_t>(t.tensor.op)].end);
    EXPECT_LE(t.queued, t.start);
    EXPECT_GE(t.end - t.start, LoneTransfer(c, t.tensor, t.from, t.to)) << "faster than the wire";
  }
  std::size_t needed = 0;
  std::set<std::tuple<OpIndex, std::int32_t, DeviceIndex>> triples;
  for (OpIndex i = 0; i < c.graph.size(); ++i) {
    const OpTimes& op = out.ops[static_cast<std::size_t>(i)];
    EXPECT_LE(op.issue, op.start);
    EXPECT_LE(op.start + c.costs.at(i, Where(c, i)), op.end) << "faster than alone";
    EXPECT_LE(op.end, out.runtime);
    for (const TensorRef& d : Dependencies(OpAt(c, i))) {
      if (Where(c, d.op) == Where(c, i)) {
        EXPECT_LE(out.ops[static_cast<std::size_t>(d.op)].end, op.start);
        continue;
      }
      const std::tuple triple(d.op, d.output, Where(c, i));
      needed += triples.insert(triple).second;
      ASSERT_TRUE(transfers.contains(triple));
      EXPECT_LE(transfers[triple]->end, op.start);
    }
  }
  EXPECT_EQ(needed, out.transfers.size());
}

void CheckStreamsAndQueues(const RandomCase& c, const Outcome& out) {
  for (DeviceIndex d = 0; d < c.cluster.size(); ++d) {
    std::map<Picos, int> change;
    std::vector<const OpTimes*> ops;
    for (OpIndex i = 0; i < c.graph.size(); ++i) {
      const OpTimes& op = out.ops[static_cast<std::size_t>(i)];
      if (Where(c, i) != d) continue;
      ops.push_back(&op);
      ++change[op.start];
      --change[op.end];
    }
    int running = 0;
    Picos busy = 0, since = 0;
    for (const auto& [time, difference] : change) {
      if (running > 0) busy += time - since;
      since = time;
      running += difference;
      EXPECT_LE(running, DeviceAt(c, d).streams);
    }
    EXPECT_EQ(busy, out.devices[static_cast<std::size_t>(d)].busy);
    for (const OpTimes* a : ops) {
      for (const OpTimes* b : ops) EXPECT_FALSE(a->issue < b->issue && a->start > b->start) << "out of order";
    }
  }
}

void CheckMemory(const RandomCase& c, const Outcome& out) {
  bool exceeded = false;
  for (DeviceIndex d = 0; d < c.cluster.size(); ++d) {
    const Bytes unit = DeviceAt(c, d).granularity;
    Bytes live = 0, peak = 0, persistent = 0;
    for (const MemoryPoint& point : out.memory) {
      if (point.device != d) continue;
      live += point.change;
      peak = std::max(peak, live);
      EXPECT_EQ(live, point.live);
      EXPECT_EQ(point.change % unit, 0);
      EXPECT_NE(point.change, 0);
    }
    for (OpIndex i = 0; i < c.graph.size(); ++i) {
      if (Where(c, i) == d) persistent += (OpAt(c, i).persistent_bytes + unit - 1) / unit * unit;
    }
    EXPECT_EQ(live, persistent) << "allocated = freed + persistent";
    EXPECT_EQ(peak, out.devices[static_cast<std::size_t>(d)].peak);
    exceeded |= peak > DeviceAt(c, d).capacity();
  }
  EXPECT_EQ(exceeded, out.oom.has_value());
}

void CheckLinks(const RandomCase& c, const Outcome& out) {
  std::vector<Bytes> bytes(c.cluster.links.size());
  for (const TransferTimes& t : out.transfers) {
    for (const Cluster::Hop& hop : c.cluster.route(t.from, t.to))
      bytes[static_cast<std::size_t>(hop.link)] += t.bytes;
  }
  for (std::size_t l = 0; l < bytes.size(); ++l) {
    EXPECT_EQ(bytes[l], out.links[l].bytes);
    EXPECT_LE(out.links[l].busy, (c.cluster.links[l].duplex == Duplex::kHalf ? 1 : 2) * out.runtime);
  }
}

// A device with k ops running does k * rate(k) of work in a picosecond.
double Throughput(const Device& device) {
  double best = 0;
  for (int k = 1; k <= device.streams; ++k) {
    const auto i = static_cast<std::size_t>(k - 1);
    const double rate = i < device.concurrency_ppm.size()
                            ? static_cast<double>(device.concurrency_ppm[i]) / kPpm
                            : 1.0 / static_cast<double>(k);
    best = std::max(best, k * rate);
  }
  return best;
}

void CheckLowerBounds(const RandomCase& c, const Outcome& out) {
  std::vector<Picos> earliest(c.graph.ops.size());
  std::vector<double> work(c.cluster.devices.size());
  for (const OpIndex i : c.graph.topological_order()) {
    Picos start = 0;
    for (const TensorRef& d : Dependencies(OpAt(c, i))) {
      const Picos sent = Where(c, d.op) == Where(c, i) ? 0 : LoneTransfer(c, d, Where(c, d.op), Where(c, i));
      start = std::max(start, earliest[static_cast<std::size_t>(d.op)] + sent);
    }
    const Picos cost = c.costs.at(i, Where(c, i));
    earliest[static_cast<std::size_t>(i)] = start + cost;
    work[static_cast<std::size_t>(Where(c, i))] += static_cast<double>(cost);
    EXPECT_LE(start + cost, out.ops[static_cast<std::size_t>(i)].end) << "critical path";
  }
  for (DeviceIndex d = 0; d < c.cluster.size(); ++d) {
    const double bound = work[static_cast<std::size_t>(d)] / Throughput(DeviceAt(c, d));
    EXPECT_LE(bound, static_cast<double>(out.runtime) * (1 + 1e-12)) << "work of a device";
  }
}

TEST(Invariants, HoldOfEveryRun) {
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
    const RandomCase c = MakeRandomCase(seed);
    const Outcome out = Simulate(c);
    ASSERT_EQ(out.ops.size(), c.graph.ops.size());
    CheckOrder(c, out);
    CheckStreamsAndQueues(c, out);
    CheckMemory(c, out);
    CheckLinks(c, out);
    CheckLowerBounds(c, out);
    ASSERT_FALSE(testing::Test::HasFailure()) << PrintCase(c);
  }
}

TEST(Invariants, WhatIsRecordedChangesNothing) {
  for (std::uint64_t seed = 1; seed <= kCases / 5; ++seed) {
    const RandomCase c = MakeRandomCase(seed);
    Outcome all = Simulate(c);
    all.transfers.clear();
    all.memory.clear();
    const Outcome ops = Simulate(c, {RunOptions::Record::kOps, {}});
    ASSERT_EQ("", FirstDifference(all, ops, c.graph, c.cluster)) << PrintCase(c);
    all.ops.clear();
    ASSERT_EQ("", FirstDifference(all, Simulate(c, {}), c.graph, c.cluster)) << PrintCase(c);
  }
}

TEST(Invariants, ACutoffStopsOrChangesNothing) {
  int stopped = 0;
  for (std::uint64_t seed = 1; seed <= kCases / 5; ++seed) {
    const RandomCase c = MakeRandomCase(seed);
    const Outcome whole = Simulate(c, {});
    for (const Picos cutoff : {Picos{0}, whole.runtime / 2, whole.runtime - 1, whole.runtime}) {
      const Outcome out = Simulate(c, {RunOptions::Record::kNothing, cutoff});
      if (out.stopped) {
        ++stopped;
        ASSERT_GT(whole.runtime, cutoff) << PrintCase(c);
        ASSERT_LE(out.runtime, whole.runtime) << PrintCase(c);
      } else {
        ASSERT_EQ("", FirstDifference(whole, out, c.graph, c.cluster)) << PrintCase(c);
      }
    }
  }
  EXPECT_GT(stopped, 100);
}

// ---- of related runs----

// No two things happen together by chance: costs of odd picoseconds, a priority of its own for each op.
RandomCase WithoutTies(std::uint64_t seed) {
  RandomCase c = MakeRandomCase(seed, {.max_ops = 60, .may_tie = false});
  Dice dice(seed);
  for (Picos& cost : c.costs.picos) cost = dice.Between(1, 20'000'000);
  c.placement.order.clear();
  c.placement.priority.resize(c.graph.ops.size());
  std::iota(c.placement.priority.begin(), c.placement.priority.end(), 0);
  return c;
}

// Op i of the result is op from[i] of c.
RandomCase Relabelled(const RandomCase& c, const std::vector<OpIndex>& from) {
  RandomCase r = c;
  std::vector<OpIndex> to(from.size());
  for (std::size_t i = 0; i < from.size(); ++i)
    to[static_cast<std::size_t>(from[i])] = static_cast<OpIndex>(i);
  const auto devices = c.cluster.devices.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto old = static_cast<std::size_t>(from[i]);
    Op& op = r.graph.ops[i] = c.graph.ops[old];
    for (TensorRef& input : op.inputs) input.op = to[static_cast<std::size_t>(input.op)];
    for (OpIndex& control : op.control) control = to[static_cast<std::size_t>(control)];
    for (Output& output : op.outputs) {
      if (output.alias.op >= 0) output.alias.op = to[static_cast<std::size_t>(output.alias.op)];
    }
    r.placement.device[i] = c.placement.device[old];
    r.placement.priority[i] = c.placement.priority[old];
    std::copy_n(c.costs.picos.begin() + static_cast<std::ptrdiff_t>(old * devices), devices,
                r.costs.picos.begin() + static_cast<std::ptrdiff_t>(i * devices));
  }
  r.graph.Finish();
  return r;
}

TEST(Metamorphic, RelabellingOpsKeepsTimes) {
  for (std::uint64_t seed = 1; seed <= kCases / 2; ++seed) {
    const RandomCase c = WithoutTies(seed);
    std::vector<OpIndex> from(c.graph.ops.size());
    std::iota(from.rbegin(), from.rend(), 0);
    const Outcome before = Simulate(c), after = Simulate(Relabelled(c, from));
    ASSERT_EQ(before.runtime, after.runtime) << PrintCase(c);
    for (std::size_t i = 0; i < from.size(); ++i) {
      const OpTimes &a = before.ops[static_cast<std::size_t>(from[i])], &b = after.ops[i];
      ASSERT_EQ(std::tuple(a.issue, a.start, a.end), std::tuple(b.issue, b.start, b.end)) << PrintCase(c);
    }
    for (std::size_t d = 0; d < before.devices.size(); ++d) {
      ASSERT_EQ(before.devices[d].peak, after.devices[d].peak) << PrintCase(c);
    }
  }
}

// Equal CPUs, each pair with a link of its own: no transfer waits for one to another device, so that the
// order in which a tensor is sent to several devices does not matter.
void MakeSymmetric(Cluster& cluster) {
  cluster.links.clear();
  cluster.switches.clear();
  cluster.routes.clear();
  for (DeviceIndex d = 0; d < cluster.size(); ++d) {
    Device& device = cluster.devices[static_cast<std::size_t>(d)];
    device = cluster.devices[0];
    device.device_class = DeviceClass::kCpu;
    device.name = "cpu" + std::to_string(d);
    for (DeviceIndex other = 0; other < d; ++other) {
      Link link;
      link.name = "link" + std::to_string(cluster.links.size());
      link.ends = {other, d};
      link.bandwidth = 1'000'000'000;
      link.latency = 7'000'000;
      link.both_ppm = 710'000;
      cluster.links.push_back(link);
    }
  }
  cluster.Finish();
}

TEST(Metamorphic, EqualDevicesCanBeSwapped) {
  for (std::uint64_t seed = 1; seed <= kCases / 2; ++seed) {
    RandomCase c = WithoutTies(seed);
    MakeSymmetric(c.cluster);
    const auto devices = c.cluster.devices.size();
    for (std::size_t i = 0; i < c.costs.picos.size(); ++i)
      c.costs.picos[i] = c.costs.picos[i / devices * devices];
    const Outcome before = Simulate(c);
    RandomCase swapped = c;
    for (DeviceIndex& d : swapped.placement.device) d = c.cluster.size() - 1 - d;
    const Outcome after = Simulate(swapped);
    ASSERT_EQ(before.runtime, after.runtime) << PrintCase(c);
    for (std::size_t i = 0; i < before.ops.size(); ++i)
      ASSERT_EQ(before.ops[i].end, after.ops[i].end) << PrintCase(c);
    for (std::size_t d = 0; d < devices; ++d) {
      ASSERT_EQ(before.devices[d].peak, after.devices[devices - 1 - d].peak) << PrintCase(c);
    }
  }
}

// Where no rate is a fraction, nothing is rounded and time scales exactly.
TEST(Metamorphic, ScalingAllTimesScalesTheRun) {
  constexpr std::int64_t kFactor = 4;
  for (std::uint64_t seed = 1; seed <= kCases / 2; ++seed) {
    RandomCase c = MakeRandomCase(seed);
    Cluster& cluster = c.cluster;
    if (cluster.interconnect == "fair") cluster.interconnect = "fifo";
    for (Device& device : cluster.devices) {
      device.streams = 1;
      device.concurrency_ppm.clear();
      device.overlap_copy_ppm = kPpm;
    }
    for (Link& link : cluster.links) {
      link.bandwidth = 10'000'000'000;  // 100 ps a byte
      link.both_ppm = kPpm;
      link.curve.clear();
    }
    cluster.Finish();
    RandomCase slow = c;
    for (Picos& cost : slow.costs.picos) cost *= kFactor;
    for (Device& device : slow.cluster.devices) device.launch_cost *= kFactor;
    for (Link& link : slow.cluster.links) {
      link.bandwidth /= kFactor;
      link.latency *= kFactor;
    }
    slow.cluster.dispatch.cost *= kFactor;
    // The routes of the scaled cluster are the scaled routes.
    slow.cluster.Finish();
    const Outcome before = Simulate(c), after = Simulate(slow);
    ASSERT_EQ(kFactor * before.runtime, after.runtime) << PrintCase(c);
    for (std::size_t i = 0; i < before.ops.size(); ++i) {
      ASSERT_EQ(kFactor * before.ops[i].end, after.ops[i].end) << PrintCase(c);
    }
    for (std::size_t d = 0; d < before.devices.size(); ++d) {
      ASSERT_EQ(before.devices[d].peak, after.devices[d].peak) << PrintCase(c);
      ASSERT_EQ(kFactor * before.devices[d].busy, after.devices[d].busy) << PrintCase(c);
    }
  }
}

// In a chain, each edge is split by an op that costs nothing and hands on what it reads.
TEST(Metamorphic, SplittingEdgesWithOpsOfNoCostChangesNothing) {
  for (std::uint64_t seed = 1; seed <= kCases / 2; ++seed) {
    const RandomCase c = MakeRandomCase(seed, {.max_ops = 20, .chain = true});
    RandomCase split = c;
    split.placement.priority.clear();
    split.placement.order.clear();
    RandomCase whole = split;
    for (OpIndex i = 0; i < c.graph.size(); ++i) {
      Op& op = split.graph.ops[static_cast<std::size_t>(i)];
      if (op.inputs.empty()) continue;
      const TensorRef read = op.inputs[0];
      Op between;
      between.name = "between_" + op.name;
      between.type = "Const";
      between.inputs = {read};
      between.outputs.resize(1);
      between.outputs[0].bytes = OpAt(c, read.op).outputs[static_cast<std::size_t>(read.output)].bytes;
      between.outputs[0].storage = Output::Storage::kInput;
      between.outputs[0].alias = read;
      const auto number = static_cast<OpIndex>(split.graph.ops.size());
      op.inputs[0] = {number, 0};
      for (Output& output : op.outputs) {
        if (output.alias == read) output.alias = {number, 0};
      }
      split.graph.ops.push_back(between);
      split.placement.device.push_back(Where(c, read.op));
      split.costs.picos.insert(split.costs.picos.end(), c.cluster.devices.size(), 0);
      split.costs.tier.insert(split.costs.tier.end(), c.cluster.devices.size(), Tier::kMeasured);
    }
    split.graph.Finish();
    const Outcome before = Simulate(whole), after = Simulate(split);
    ASSERT_EQ(before.runtime, after.runtime) << PrintCase(c);
    for (std::size_t i = 0; i < before.ops.size(); ++i)
      ASSERT_EQ(before.ops[i].end, after.ops[i].end) << PrintCase(c);
    for (std::size_t d = 0; d < before.devices.size(); ++d) {
      ASSERT_EQ(before.devices[d].peak, after.devices[d].peak) << PrintCase(c);
    }
  }
}

}  // namespace
}  // namespace stowplan::sim
