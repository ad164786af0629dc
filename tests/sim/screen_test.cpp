// Screens against a plain program with the same rules, one placement at a time, and against the simulator where they
// claim its runtimes.
#include "sim/screen/screen.h"

#include "sim/base/exact.h"
#include "sim/published_rules.h"
#include "sim/screen/pass.h"
#include "tests/sim/random_case.h"
#include "tests/testing.h"

namespace stowplan::sim {
namespace {

using Devices = std::vector<DeviceIndex>;  // by op

constexpr std::uint64_t kCases = 400;

Devices AllDevices(const Cluster& cluster) {
  Devices devices(cluster.devices.size());
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

Screen ByOp(const Problem& problem, int threads = 1) {
  std::vector<std::int32_t> units(problem.graph().ops.size());
  std::iota(units.begin(), units.end(), 0);
  return {problem, units, AllDevices(problem.cluster()), threads};
}

std::vector<Devices> DrawMany(const RandomCase& c, std::size_t count, Dice& dice) {
  std::vector<Devices> placements;
  for (std::size_t i = 0; i < count; ++i)
    placements.push_back(MakeRandomPlacement(c.graph, c.cluster, dice).device);
  return placements;
}

// ---- the rules of sim/screen/screen.h, as plainly as can be ----------------------------------------------------------

class Plain {
 public:
  Plain(const RandomCase& c, const Devices& at)
      : graph_(c.graph),
        cluster_(c.cluster),
        costs_(c.costs),
        at_(at),
        published_(c.cluster.rules == Rules::kPublished) {
    for (std::vector<Picos>* times : {&thread_, &free_, &out_, &receives_from_, &receives_to_})
      times->resize(cluster_.devices.size());
    live_.resize(cluster_.devices.size());
    ready_.resize(graph_.ops.size());
    for (const Device& device : cluster_.devices) granularity_ = std::max(granularity_, device.granularity);
    for (std::size_t op = 0; op < graph_.ops.size(); ++op)
      live_[At(op)] += Up(graph_.ops[op].persistent_bytes);
    peak = live_;
    FindHolders();
    for (const OpIndex op : Order()) Run(static_cast<std::size_t>(op));
    runtime = *std::ranges::max_element(free_);
    if (published_) runtime = std::max(runtime, *std::ranges::max_element(out_));
  }

  Picos runtime = 0;
  std::vector<Bytes> peak;

 private:
  std::size_t At(std::size_t op) const { return static_cast<std::size_t>(at_[op]); }
  const Device& DeviceOf(std::size_t op) const { return cluster_.devices[At(op)]; }
  Bytes Up(Bytes bytes) const { return RoundUp(bytes, granularity_); }
  Picos Cost(std::size_t op) const { return costs_.at(static_cast<OpIndex>(op), at_[op]); }

  std::vector<OpIndex> Order() const {
    std::vector<OpIndex> order = graph_.topological_order();
    if (!published_) return order;
    std::vector<Picos> start(graph_.ops.size());
    for (const OpIndex op : order) {
      Picos least = costs_.at(op, 0);
      for (DeviceIndex d = 1; d < cluster_.size(); ++d) least = std::min(least, costs_.at(op, d));
      for (const OpIndex reader : graph_.consumers(op)) {
        Picos& of = start[static_cast<std::size_t>(reader)];
        of = std::max(of, start[static_cast<std::size_t>(op)] + least);
      }
    }
    std::ranges::stable_sort(order, {}, [&](OpIndex op) { return start[static_cast<std::size_t>(op)]; });
    return order;
  }

  // Who reads an output, -1 = waits for the op.
  std::set<std::size_t> Readers(TensorRef tensor) const {
    std::set<std::size_t> readers;
    for (std::size_t op = 0; op < graph_.ops.size(); ++op) {
      const auto& inputs = graph_.ops[op].inputs;
      const auto& control = graph_.ops[op].control;
      if (tensor.output >= 0 ? std::ranges::count(inputs, tensor) > 0
                             : std::ranges::count(control, tensor.op) > 0)
        readers.insert(op);
    }
    return readers;
  }

  // Whoever reads it or a view of it.
  std::set<std::size_t> Holders(TensorRef tensor) const {
    std::set<std::size_t> holders = Readers(tensor);
    for (const std::size_t reader : Readers(tensor)) {
      const auto& outputs = graph_.ops[reader].outputs;
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        if (outputs[o].storage != Output::Storage::kInput || outputs[o].alias != tensor) continue;
        holders.merge(Holders({static_cast<OpIndex>(reader), static_cast<std::int32_t>(o)}));
      }
    }
    return holders;
  }

  // last_[output][device]: its last holder there.
  void FindHolders() {
    std::map<std::size_t, std::size_t> step;
    const std::vector<OpIndex> order = Order();
    for (std::size_t i = 0; i < order.size(); ++i) step[static_cast<std::size_t>(order[i])] = i;
    for (OpIndex op = 0; op < graph_.size(); ++op) {
      const auto outputs = graph_.ops[static_cast<std::size_t>(op)].outputs.size();
      for (std::int32_t o = 0; o < static_cast<std::int32_t>(outputs); ++o) {
        for (const std::size_t holder : Holders({op, o})) {
          const auto [last, is_new] = last_[{op, o}].try_emplace(At(holder), holder);
          if (!is_new && step[holder] > step[last->second]) last->second = holder;
        }
      }
    }
  }

  void Run(std::size_t op) {
    const Op& which = graph_.ops[op];
    const std::size_t device = At(op);
    const bool process = !published_ && cluster_.dispatch.per == Dispatch::Per::kProcess;
    const bool cpu = DeviceOf(op).device_class == DeviceClass::kCpu;
    Picos dispatch = cluster_.dispatch.automatic ? DeviceOf(op).launch_cost : cluster_.dispatch.cost;
    dispatch *= published_ || which.IsSource() ? 0 : which.host_units.value_or(which.framework_ops);
    Picos& thread = thread_[process ? 0 : device];
    thread = std::max(thread, ready_[op]) + dispatch;
    const Picos end = std::max(thread, free_[device]) + Cost(op);
    free_[device] = end;
    if (published_) {  // a pause where the op takes time on any device
      for (DeviceIndex d = 0; d < cluster_.size(); ++d) {
        if (costs_.at(static_cast<OpIndex>(op), d) > 0) free_[device] = end + kOpPause;
      }
    }
    if ((process && cpu) || (!published_ && which.HostWaits())) thread = end;

    Bytes owned = 0;
    for (const Output& output : which.outputs)
      owned += output.storage == Output::Storage::kOwn ? Up(output.bytes) : 0;
    live_[device] += owned + Up(which.workspace_bytes);
    peak[device] = std::max(peak[device], live_[device]);
    live_[device] -= Up(which.workspace_bytes);
    for (std::int32_t o = -1; o < static_cast<std::int32_t>(which.outputs.size()); ++o)
      Send({static_cast<OpIndex>(op), o}, device, end);
    Free(op);
  }

  void Send(TensorRef tensor, std::size_t from, Picos end) {
    std::set<std::size_t> targets;
    for (const std::size_t reader : Readers(tensor)) {
      targets.insert(At(reader));
      if (At(reader) == from && DeviceOf(reader).device_class == DeviceClass::kCpu)
        ready_[reader] = std::max(ready_[reader], end);
    }
    targets.erase(from);
    if (targets.empty()) return;
    const auto& outputs = graph_.ops[static_cast<std::size_t>(tensor.op)].outputs;
    Bytes bytes = tensor.output >= 0 ? outputs[static_cast<std::size_t>(tensor.output)].bytes : 0;
    if (published_) {
      if (tensor.output < 0 && !outputs.empty()) bytes = outputs[0].bytes;
      const Picos arrival = std::max(end, out_[from]) + SendTime(bytes);
      out_[from] = arrival + kSendPause;
      for (const std::size_t to : targets) Arrive(tensor, to, arrival);
      return;
    }
    for (const std::size_t to : targets) {
      Arrive(tensor, to, bytes == 0 ? end + LoneTimeOf(0, from, to) : Book(bytes, from, to, end));
      live_[to] += Up(bytes);
    }
  }

  void Arrive(TensorRef tensor, std::size_t to, Picos arrival) {
    for (const std::size_t reader : Readers(tensor)) {
      if (At(reader) == to) ready_[reader] = std::max(ready_[reader], arrival);
    }
  }

  Picos LoneTimeOf(Bytes bytes, std::size_t from, std::size_t to) const {
    Picos latency = 0, move = 0;
    for (const Cluster::Hop& hop :
         cluster_.route(static_cast<DeviceIndex>(from), static_cast<DeviceIndex>(to))) {
      const Link& link = cluster_.links[static_cast<std::size_t>(hop.link)];
      latency += LoneTime(link, 0);
      if (bytes > 0) move = std::max(move, LoneTime(link, bytes) - LoneTime(link, 0));
    }
    return latency + move;
  }

  Picos Book(Bytes bytes, std::size_t from, std::size_t to, Picos end) {
    const bool ideal = cluster_.interconnect == "ideal";
    const Picos begin = ideal ? end : std::max(end, out_[from]);
    Picos time = LoneTimeOf(bytes, from, to);
    if (!ideal && cluster_.devices.size() > 2) {
      if (begin >= receives_from_[to] && begin < receives_to_[to])
        time += std::min(begin + time, receives_to_[to]) - begin;
      if (begin + time >= receives_to_[to]) {
        receives_from_[to] = begin;
        receives_to_[to] = begin + time;
      }
    }
    if (!ideal) out_[from] = begin + time;
    for (const std::size_t d : {from, to}) {
      if (cluster_.links.empty()) continue;
      const std::int64_t lost = 1024 * (kPpm - cluster_.devices[d].overlap_copy_ppm) / kPpm;
      free_[d] += time / 1024 * lost;
    }
    return begin + time;
  }

  // What the op is the last to hold on its device, and what nobody there holds.
  void Free(std::size_t op) {
    const std::size_t device = At(op);
    for (OpIndex p = 0; p < graph_.size(); ++p) {
      const auto producer = static_cast<std::size_t>(p);
      const auto& outputs = graph_.ops[producer].outputs;
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        const auto& last = last_[{p, static_cast<std::int32_t>(o)}];
        const auto found = last.find(device);
        const bool here = At(producer) == device;
        if (found == last.end() ? producer != op : found->second != op) continue;
        const Bytes own = outputs[o].storage == Output::Storage::kOwn ? Up(outputs[o].bytes) : 0;
        const bool copied =
            !published_ && std::ranges::any_of(Readers({p, static_cast<std::int32_t>(o)}),
                                               [&](std::size_t r) { return At(r) == device; });
        live_[device] -= here ? own : copied ? Up(outputs[o].bytes) : 0;
      }
    }
  }

  const OpGraph& graph_;
  const Cluster& cluster_;
  const CostTable& costs_;
  const Devices& at_;
  const bool published_;
  Bytes granularity_ = 1;
  std::map<TensorRef, std::map<std::size_t, std::size_t>> last_;
  std::vector<Picos> thread_, free_, out_, receives_from_, receives_to_;  // by device
  std::vector<Picos> ready_;                                              // by op
  std::vector<Bytes> live_;
};

// ---- tests ----------------------------------------------------------------------------------------------------

// Every kind of vector, all devices, native and published rules.
TEST(Screen, IsWhatThePlainProgramSays) {
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
    RandomCase c = MakeRandomCase(seed, {.max_ops = 25, .most_devices = seed % 4 == 0 ? 10 : 5});
    if (seed % 5 == 0) c.cluster.rules = Rules::kPublished;
    const Problem problem(c.graph, c.cluster, c.costs);
    Dice dice(seed);
    const std::vector<Devices> placements = DrawMany(c, 5, dice);
    const Screen::Result result = ByOp(problem).Run(placements);
    for (std::size_t i = 0; i < placements.size(); ++i) {
      const Plain plain(c, placements[i]);
      ASSERT_EQ(plain.runtime, result.runtime[i]) << PrintCase(c);
      for (std::size_t d = 0; d < plain.peak.size(); ++d)
        ASSERT_EQ(plain.peak[d], result.peak[i * plain.peak.size() + d]) << d << PrintCase(c);
    }
  }
}

TEST(Screen, IsTheSameForEveryKindOfVector) {
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
    const RandomCase c = MakeRandomCase(seed, {.most_devices = seed % 8 == 0 ? 20 : 9});
    const Problem problem(c.graph, c.cluster, c.costs);
    std::vector<std::int32_t> units(c.graph.ops.size());
    std::iota(units.begin(), units.end(), 0);
    const ScreenPlan plan(problem, units, AllDevices(c.cluster));
    Dice dice(seed);
    const std::vector<Devices> placements = DrawMany(c, ScreenPlan::kAbreast, dice);
    const Screen::Result expected = ByOp(problem).Run(placements);
    for (const ScreenPass& pass : ScreenPasses()) {
      ScreenState state(plan);
      for (std::size_t i = 0; i < placements.size(); ++i) {
        for (std::size_t op = 0; op < units.size(); ++op) {
          const auto bit = static_cast<std::size_t>(placements[i][op]) * ScreenPlan::kAbreast + i;
          state.place[op * plan.words + bit / 64] |= ScreenPlan::Word{1} << bit % 64;
        }
      }
      pass.run(plan, state);
      for (std::size_t i = 0; i < placements.size(); ++i) {
        ASSERT_EQ(expected.runtime[i], state.runtime.of[i]) << pass.vectors;
        for (std::size_t d = 0; d < c.cluster.devices.size(); ++d)
          ASSERT_EQ(expected.peak[i * c.cluster.devices.size() + d], state.peak[d].of[i]) << pass.vectors;
      }
    }
  }
}

// What is screened beside a placement, where it stands, and by how many threads makes no difference.
TEST(Screen, PlacementsAreIndependent) {
  for (std::uint64_t seed = 1; seed <= kCases / 4; ++seed) {
    const RandomCase c = MakeRandomCase(seed);
    const Problem problem(c.graph, c.cluster, c.costs);
    Dice dice(seed);
    std::vector<Devices> placements = DrawMany(c, 37, dice);
    Screen one = ByOp(problem), many = ByOp(problem, 3);
    const Screen::Result all = many.Run(placements);
    const auto devices = static_cast<std::ptrdiff_t>(c.cluster.devices.size());
    for (std::size_t i = 0; i < placements.size(); ++i) {
      const Screen::Result alone = one.Run({&placements[i], 1});
      ASSERT_EQ(alone.runtime.front(), all.runtime[i]);
      const auto peak = all.peak.begin() + static_cast<std::ptrdiff_t>(i) * devices;
      ASSERT_EQ(alone.peak, std::vector(peak, peak + devices));
    }
    std::ranges::reverse(placements);
    Screen::Result reversed = one.Run(placements);
    std::ranges::reverse(reversed.runtime);
    ASSERT_EQ(all.runtime, reversed.runtime);
  }
}

void MakeCovered(Cluster& cluster) {
  cluster.dispatch.order = Dispatch::Order::kProgram;
  for (Device& device : cluster.devices) {
    device.streams = 1;
    device.concurrency_ppm.clear();
    device.overlap_copy_ppm = kPpm;
  }
}

void ExpectExact(const RandomCase& c, std::uint64_t seed, std::size_t& transfers) {
  const Problem problem(c.graph, c.cluster, c.costs);
  Dice dice(seed);
  const std::vector<Devices> placements = DrawMany(c, 5, dice);
  const Screen::Result screened = ByOp(problem).Run(placements);
  const auto simulator = MakeSimulator(problem);
  for (std::size_t i = 0; i < placements.size(); ++i) {
    const Outcome& outcome = simulator->Run({placements[i], {}, {}}, {RunOptions::Record::kTimeline, {}});
    ASSERT_EQ(outcome.runtime, screened.runtime[i]) << PrintCase(c);
    transfers += outcome.transfers.size();
  }
}

TEST(Screen, HasTheSimulatorsRuntimesOnAnIdealInterconnect) {
  std::size_t transfers = 0;
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
    RandomCase c = MakeRandomCase(seed, {.interconnect = "ideal"});
    MakeCovered(c.cluster);
    ExpectExact(c, seed, transfers);
  }
  EXPECT_GT(transfers, 10 * kCases);
}

TEST(Screen, HasTheSimulatorsRuntimesOnTwoGpus) {
  std::size_t transfers = 0;
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
    RandomCase c = MakeRandomCase(seed, {.least_devices = 2, .most_devices = 2});
    MakeCovered(c.cluster);
    for (Device& device : c.cluster.devices) {
      device.device_class = DeviceClass::kGpu;
      device.copy_engines = 2;
    }
    for (Link& link : c.cluster.links) {
      link.duplex = Duplex::kFull;
      link.both_ppm = kPpm;
    }
    ExpectExact(c, seed, transfers);
  }
  EXPECT_GT(transfers, 10 * kCases);
}

TEST(Screen, HasTheSimulatorsPeakOnOneDevice) {
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
    RandomCase c = MakeRandomCase(seed, {.most_devices = 1});
    MakeCovered(c.cluster);
    const Problem problem(c.graph, c.cluster, c.costs);
    const Devices placement(c.graph.ops.size(), 0);
    const Bytes peak = MakeSimulator(problem)->Run({placement, {}, {}}).devices[0].peak;
    EXPECT_EQ(peak, ByOp(problem).Run({&placement, 1}).peak[0]) << PrintCase(c);
  }
}

// Dearer ops never make it faster: nothing in the order of the pass depends on a time.
TEST(Screen, GrowsWithCosts) {
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
    RandomCase c = MakeRandomCase(seed, {.most_devices = 2});
    const Problem problem(c.graph, c.cluster, c.costs);
    Dice dice(seed);
    const std::vector<Devices> placements = DrawMany(c, 16, dice);
    const std::vector<Picos> before = ByOp(problem).Run(placements).runtime;
    const auto dearer =
        static_cast<std::size_t>(dice.Between(0, static_cast<std::int64_t>(c.costs.picos.size()) - 1));
    c.costs.picos[dearer] += dice.Between(1, 1'000'000);
    const Problem changed(c.graph, c.cluster, c.costs);
    const std::vector<Picos> after = ByOp(changed).Run(placements).runtime;
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_LE(before[i], after[i]) << PrintCase(c);
  }
}

// Ops of one unit take its device; devices that are not offered are not needed.
TEST(Screen, TakesUnitsAndSomeOfTheDevices) {
  for (std::uint64_t seed = 1; seed <= kCases / 4; ++seed) {
    const RandomCase c = MakeRandomCase(seed, {.least_devices = 3});
    const Problem problem(c.graph, c.cluster, c.costs);
    std::vector<std::int32_t> units;
    for (std::size_t op = 0; op < c.graph.ops.size(); ++op)
      units.push_back(static_cast<std::int32_t>(op % 3));
    if (units.size() < 3) continue;
    const Devices all = AllDevices(c.cluster);
    Screen screen(problem, units, all);
    const std::vector<Devices> by_unit = {{0, 1, 2}, {1, 1, 2}, {2, 0, 0}, {1, 1, 1}};
    std::vector<Devices> by_op;
    for (const Devices& placement : by_unit) {
      by_op.emplace_back();
      for (const std::int32_t unit : units) by_op.back().push_back(placement[static_cast<std::size_t>(unit)]);
    }
    EXPECT_EQ(ByOp(problem).Run(by_op).runtime, screen.Run(by_unit).runtime);
    const Devices one = {1};
    EXPECT_EQ(ByOp(problem).Run({&by_op[3], 1}).runtime,
              Screen(problem, units, one).Run({&by_unit[3], 1}).runtime);
  }
}

// A machine so large that its sets take more than one, 16 or 32 words: what is placed on a few of its devices takes as long as
// where the screen was told of those alone.
TEST(Screen, TakesManyDevices) {
  for (const int devices : {5, 60, 72, 130, 256}) {
    OpGraph graph;
    graph.name = "chain";
    for (int op = 0; op < 6; ++op) {
      graph.ops.push_back(
          {.name = "op" + std::to_string(op), .type = "MatMul", .outputs = {{.bytes = 1000}}});
      if (op > 0) graph.ops.back().inputs = {{op - 1, 0}};
    }
    graph.Finish();
    Cluster cluster;
    cluster.name = "large";
    const auto size = static_cast<std::size_t>(devices);
    for (int i = 0; i < devices; ++i)
      cluster.devices.push_back({.name = "gpu" + std::to_string(i), .kind = "gpu"});
    cluster.Finish();
    std::vector<Picos> costs;
    for (std::size_t op = 0; op < 6; ++op) {
      for (std::size_t d = 0; d < size; ++d)
        costs.push_back(static_cast<Picos>(1000 * (op + 1)) + 7 * (d + 1));
    }
    const Problem problem(graph, cluster, {"test", devices, costs, std::vector<Tier>(costs.size())});
    const Devices few = {0, devices / 2, devices - 1};
    const std::vector<std::int32_t> units = {0, 1, 2, 3, 4, 5};
    std::vector<Devices> placements;
    for (std::size_t i = 0; i < 20; ++i) {
      placements.emplace_back();
      for (std::size_t op = 0, digits = 37 * i; op < 6; ++op, digits /= 3)
        placements.back().push_back(few[digits % 3]);
    }
    const Screen::Result all = ByOp(problem).Run(placements);
    EXPECT_EQ(all.runtime, Screen(problem, units, few).Run(placements).runtime) << devices;
    EXPECT_EQ(all.peak, Screen(problem, units, few).Run(placements).peak) << devices;
    EXPECT_GT(std::set(all.runtime.begin(), all.runtime.end()).size(), 3u);
  }
}

// One thread at a time from callers that are parallel themselves.
TEST(Screen, ASlotsResultsAreThoseOfAll) {
  const RandomCase c = MakeRandomCase(3, {});
  const Problem problem(c.graph, c.cluster, c.costs);
  Dice dice(3);
  const std::vector<Devices> placements = DrawMany(c, 40, dice);
  Screen screen = ByOp(problem, 3);
  const Screen::Result all = screen.Run(placements);
  for (const int slot : {2, 0, 1}) {
    const Screen::Result alone = screen.RunOn(slot, placements);
    EXPECT_EQ(alone.runtime, all.runtime);
    EXPECT_EQ(alone.peak, all.peak);
  }
}

// Where ops do not run in program order the order in which they ran makes its screen truer.
TEST(Screen, IsTruerInTheOrderThatAPlacementRan) {
  int program_right = 0, ran_right = 0;
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
    RandomCase c = MakeRandomCase(seed, {.interconnect = "ideal"});
    MakeCovered(c.cluster);
    c.cluster.dispatch.order = Dispatch::Order::kReady;
    const Problem problem(c.graph, c.cluster, c.costs);
    Dice dice(seed);
    const std::vector<Devices> placement = DrawMany(c, 1, dice);
    const auto simulator = MakeSimulator(problem);
    const Outcome& outcome = simulator->Run({placement[0], {}, {}}, {RunOptions::Record::kOps, {}});
    std::vector<OpIndex> order = c.graph.topological_order();
    std::ranges::stable_sort(order, {},
                             [&](OpIndex op) { return outcome.ops[static_cast<std::size_t>(op)].start; });
    std::vector<std::int32_t> units(c.graph.ops.size());
    std::iota(units.begin(), units.end(), 0);
    program_right += ByOp(problem).Run(placement).runtime[0] == outcome.runtime;
    ran_right +=
        Screen(problem, units, AllDevices(c.cluster), 1, order).Run(placement).runtime[0] == outcome.runtime;
  }
  EXPECT_GT(ran_right, program_right);
  EXPECT_GT(ran_right, static_cast<int>(kCases) * 9 / 10);
}

TEST(Screen, RefusesMoreDevicesThanItTakes) {
  OpGraph graph;
  graph.name = "one";
  graph.ops.push_back({.name = "a", .type = "MatMul"});
  graph.Finish();
  Cluster cluster;
  cluster.name = "large";
  for (int i = 0; i < 257; ++i) cluster.devices.push_back({.name = "gpu" + std::to_string(i), .kind = "gpu"});
  cluster.Finish();
  const Problem problem(graph, cluster, {"test", 257, std::vector<Picos>(257, 1), std::vector<Tier>(257)});
  try {
    ByOp(problem);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "a screen takes at most 256 devices, cluster large gives it 257");
  }
}

}  // namespace
}  // namespace stowplan::sim
