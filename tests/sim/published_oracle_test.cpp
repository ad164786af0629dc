// The published rules against a plain second program on random problems: pauses are events of their own,
// queues are queues of what became ready, and peaks are counted instant by instant.
#include <deque>

#include "sim/simulator.h"
#include "tests/sim/random_case.h"
#include "tests/testing.h"

namespace stowplan::sim {
namespace {

class PlainPublished {
 public:
  explicit PlainPublished(const RandomCase& c) : case_(c), devices_(c.cluster.devices.size()) {
    for (OpIndex i = 0; i < c.graph.size(); ++i) {
      const Op& op = c.graph.ops[static_cast<std::size_t>(i)];
      for (const TensorRef& input : op.inputs) named_[{input.op, i}] = input.output;
      for (const OpIndex control : op.control) named_[{control, i}] = 0;
    }
    for (const auto& [edge, output] : named_) missing_[edge.second].insert(edge.first);
  }

  void Run() {
    for (OpIndex i = 0; i < case_.graph.size(); ++i) {
      if (missing_[i].empty()) devices_[At(i)].ready.push_back(i);
    }
    StartAll(0);
    while (!events_.empty()) {
      const auto [time, what, d] = *events_.begin();
      events_.erase(events_.begin());
      runtime = std::max(runtime, time);
      Machine& device = devices_[static_cast<std::size_t>(d)];
      switch (what) {
        case kOpEnds:
          EndOp(device, d, time);
          break;
        case kSendingEnds:
          EndSending(device, d, time);
          break;
        case kDeviceFree:
          device.running = -1;
          break;
        case kChannelFree:
          device.sending = {-1, 0};
          break;
      }
      StartAll(time);
    }
  }

  Bytes Peak(DeviceIndex d) const {
    Bytes peak = 0;
    for (const auto& [at, instant] : start) {
      Bytes live = 0;
      for (const auto& [op, from] : start) {
        if (case_.placement.device[static_cast<std::size_t>(op)] != d) continue;
        Picos until = -1;
        bool read = false;
        for (const auto& [edge, output] : named_) {
          if (edge.first != op) continue;
          read = true;
          until = std::max(until, (start.at(edge.second) / kMicro + Cost(edge.second) / kMicro - 1) * kMicro);
        }
        if (!read) until = from;
        if (from > instant || until < instant) continue;
        for (const Output& output : case_.graph.ops[static_cast<std::size_t>(op)].outputs)
          live += output.bytes;
      }
      peak = std::max(peak, live);
    }
    return peak;
  }

  std::map<OpIndex, Picos> start;
  Picos runtime = 0;

 private:
  static constexpr Picos kMicro = kPicosPerMicro;
  enum What { kOpEnds, kSendingEnds, kDeviceFree, kChannelFree };
  struct Machine {
    std::deque<OpIndex> ready;
    OpIndex running = -1;
    std::deque<TensorRef> outbox;
    TensorRef sending;  // op -1: idle
  };

  std::size_t At(OpIndex i) const {
    return static_cast<std::size_t>(case_.placement.device[static_cast<std::size_t>(i)]);
  }
  Picos Cost(OpIndex i) const {
    return case_.costs.at(i, case_.placement.device[static_cast<std::size_t>(i)]);
  }

  void Satisfy(OpIndex producer, OpIndex consumer) {
    missing_[consumer].erase(producer);
    if (missing_[consumer].empty()) devices_[At(consumer)].ready.push_back(consumer);
  }

  void StartAll(Picos now) {
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      Machine& device = devices_[d];
      if (device.running < 0 && !device.ready.empty()) {
        device.running = device.ready.front();
        device.ready.pop_front();
        start[device.running] = now;
        events_.insert({now + Cost(device.running), kOpEnds, static_cast<DeviceIndex>(d)});
      }
      if (device.sending.op < 0 && !device.outbox.empty()) {
        device.sending = device.outbox.front();
        device.outbox.pop_front();
        const auto& outputs = case_.graph.ops[static_cast<std::size_t>(device.sending.op)].outputs;
        const auto o = static_cast<std::size_t>(device.sending.output);
        const double bytes = o < outputs.size() ? static_cast<double>(outputs[o].bytes) : 0;
        events_.insert({now + FromMicros(bytes / 7600), kSendingEnds, static_cast<DeviceIndex>(d)});
      }
    }
  }

  void EndOp(Machine& device, DeviceIndex d, Picos now) {
    const OpIndex op = device.running;
    std::set<std::int32_t> queued;
    for (const auto& [edge, output] : named_) {
      if (edge.first != op) continue;
      if (At(edge.second) == static_cast<std::size_t>(d)) {
        Satisfy(op, edge.second);
      } else if (queued.insert(output).second) {
        device.outbox.push_back({op, output});
      }
    }
    if (Cost(op) > 0) {
      events_.insert({now + 5'700'000, kDeviceFree, d});
    } else {
      device.running = -1;
    }
  }

  void EndSending(Machine& device, DeviceIndex d, Picos now) {
    for (const auto& [edge, output] : named_) {
      const bool there = edge.first == device.sending.op && output == device.sending.output;
      if (there && At(edge.second) != static_cast<std::size_t>(d)) Satisfy(edge.first, edge.second);
    }
    events_.insert({now + 25 * kMicro, kChannelFree, d});
  }

  const RandomCase& case_;
  std::map<std::pair<OpIndex, OpIndex>, std::int32_t> named_;  // producer and consumer: the last named output
  std::map<OpIndex, std::set<OpIndex>> missing_;
  std::vector<Machine> devices_;
  std::set<std::tuple<Picos, What, DeviceIndex>> events_;
};

TEST(PublishedOracle, AgreesOnRandomCases) {
  std::size_t transfers = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    RandomCase c = MakeRandomCase(seed);
    c.cluster.rules = Rules::kPublished;
    PlainPublished plain(c);
    plain.Run();
    const Problem problem(c.graph, c.cluster, c.costs);
    const auto simulator = MakeSimulator(problem);
    const Outcome& out = simulator->Run(c.placement, {RunOptions::Record::kTimeline, {}});
    ASSERT_EQ(plain.runtime, out.runtime) << PrintCase(c);
    for (OpIndex i = 0; i < c.graph.size(); ++i) {
      ASSERT_EQ(plain.start.at(i), out.ops[static_cast<std::size_t>(i)].start) << "op " << i << "\n"
                                                                               << PrintCase(c);
    }
    std::vector<Bytes> highest(c.cluster.devices.size());
    for (const MemoryPoint& point : out.memory) {
      Bytes& high = highest[static_cast<std::size_t>(point.device)];
      high = std::max(high, point.live);
    }
    for (DeviceIndex d = 0; d < c.cluster.size(); ++d) {
      const Bytes peak = out.devices[static_cast<std::size_t>(d)].peak;
      ASSERT_EQ(plain.Peak(d), peak) << PrintCase(c);
      ASSERT_EQ(highest[static_cast<std::size_t>(d)], peak) << "of the recorded memory\n" << PrintCase(c);
    }
    transfers += out.transfers.size();
    // The next run on the same scratch, and a run that records nothing, give the same.
    ASSERT_EQ(plain.runtime, simulator->Run(c.placement, {}).runtime);
  }
  EXPECT_GT(transfers, 1000u);
}

TEST(PublishedOracle, CutoffStopsOrChangesNothing) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    RandomCase c = MakeRandomCase(seed);
    c.cluster.rules = Rules::kPublished;
    const Problem problem(c.graph, c.cluster, c.costs);
    const auto simulator = MakeSimulator(problem);
    const Picos runtime = simulator->Run(c.placement, {}).runtime;
    for (const Picos cutoff : {Picos{0}, runtime / 3, runtime - 1, runtime}) {
      const Outcome& out = simulator->Run(c.placement, {RunOptions::Record::kNothing, cutoff});
      if (out.stopped) {
        EXPECT_GT(out.runtime, cutoff) << "seed " << seed;
        EXPECT_LE(out.runtime, runtime) << "seed " << seed;
      } else {
        EXPECT_EQ(out.runtime, runtime) << "seed " << seed;
      }
      EXPECT_FALSE(out.stopped && cutoff == runtime) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace stowplan::sim
