// Contention on the shapes that machines have, against closed forms, to the picosecond. A link carries 8.4 GB/s, which 1 to 8
// flows divide without remainder, and has a latency of 5 us; a block takes 100 us over it. Times in comments are
// microseconds. Every run is compared with the oracle too (World::Run).
#include "tests/sim/world.h"
#include "tests/testing.h"

namespace stowplan::sim {
namespace {

constexpr std::int64_t kWidth = 8'400'000'000;
constexpr Bytes kBlock = 840'000;

struct Sending {
  DeviceIndex from;
  DeviceIndex to;
  Bytes bytes = kBlock;
};

struct Machine : World {
  explicit Machine(const char* interconnect) { cluster.interconnect = interconnect; }

  void Gpus(int count) {
    for (int i = 0; i < count; ++i) device(Gpu()).copy_engines = 64;
  }
  Link& Wire(std::int32_t a, std::int32_t b, std::int64_t bandwidth = kWidth) {
    Link& link = Connect(a, b);
    link.bandwidth = bandwidth;
    return link;
  }
  // All at time 0; the result is when each has arrived.
  std::vector<Picos> Send(const std::vector<Sending>& sendings) {
    std::map<DeviceIndex, std::vector<const Sending*>> by_source;
    for (const Sending& sending : sendings) by_source[sending.from].push_back(&sending);
    std::map<const Sending*, OpIndex> readers;
    for (const auto& [from, all] : by_source) {
      const OpIndex producer = Add(from, 0);
      for (const Sending* sending : all) {
        op(producer).outputs.emplace_back().bytes = sending->bytes;
        const auto output = static_cast<std::int32_t>(op(producer).outputs.size()) - 1;
        readers[sending] = Add(sending->to, 0, {}, {{producer, output}});
      }
    }
    const Outcome outcome = Run();
    std::map<TensorRef, Picos> arrived;
    for (const TransferTimes& transfer : outcome.transfers) arrived[transfer.tensor] = transfer.end;
    std::vector<Picos> ends;
    for (const Sending& sending : sendings)
      ends.push_back(arrived.at(op(readers.at(&sending)).inputs.front()));
    return ends;
  }
};

std::vector<Picos> Micros(const std::vector<Picos>& micros) {
  std::vector<Picos> picos;
  for (const Picos us : micros) picos.push_back(us * kUs);
  return picos;
}

// ---- one uplink: devices 0 to n-1 below a switch send to device n above it --------------------------------

std::vector<Picos> OverOneUplink(const char* interconnect, int flows, std::int64_t uplink,
                                 Bytes (*size)(int flow)) {
  Machine m(interconnect);
  m.Gpus(flows);
  const DeviceIndex top = m.Cpu();
  const auto plx = m.AddSwitch();
  for (int i = 0; i < flows; ++i) m.Wire(i, plx);
  m.Wire(plx, top, uplink);
  std::vector<Sending> sendings;
  for (int i = 0; i < flows; ++i) sendings.push_back({i, top, size(i)});
  return m.Send(sendings);
}

Bytes OneBlock(int) {
  return kBlock;
}

// A flow gets a share of n, so that all need n times as long behind their latencies of 5 + 5.
TEST(Contention, FairFlowsDivideAnUplink) {
  for (int n = 1; n <= 8; ++n)
    EXPECT_EQ(OverOneUplink("fair", n, kWidth, OneBlock),
              std::vector<Picos>(static_cast<std::size_t>(n), (10 + 100 * n) * kUs));
}

// One after the other, each for its latency and its bytes.
TEST(Contention, FifoTransfersTakeTurnsOnAnUplink) {
  for (int n = 1; n <= 8; ++n) {
    const std::vector<Picos> ends = OverOneUplink("fifo", n, kWidth, OneBlock);
    for (int i = 0; i < n; ++i) EXPECT_EQ(ends[static_cast<std::size_t>(i)], 110 * (i + 1) * kUs);
  }
}

// An uplink as wide as w leaves binds from the w-th flow on: max(1, n / w) times as long. A fifo does not divide it.
TEST(Contention, AWideUplinkBindsOnlyBeyondItsWidth) {
  for (const int w : {2, 4}) {
    for (int n = 1; n <= 8; ++n) {
      const Picos expected = (10 + (n > w ? 100 * n / w : 100)) * kUs;
      for (const Picos end : OverOneUplink("fair", n, w * kWidth, OneBlock)) EXPECT_EQ(end, expected) << n;
      EXPECT_EQ(OverOneUplink("fifo", n, w * kWidth, OneBlock).back(), 110 * n * kUs);
    }
  }
}

// Sizes of 1 to n blocks: when the k-th ends, n - k + 1 have shared for one block more than at the end before it.
TEST(Contention, FairFlowsThatEndLeaveTheirShareToTheOthers) {
  for (int n = 1; n <= 8; ++n) {
    const std::vector<Picos> ends =
        OverOneUplink("fair", n, kWidth, [](int flow) { return (flow + 1) * kBlock; });
    Picos expected = 10 * kUs;
    for (int k = 1; k <= n; ++k) {
      expected += 100 * (n - k + 1) * kUs;
      EXPECT_EQ(ends[static_cast<std::size_t>(k - 1)], expected) << k << " of " << n;
    }
  }
}

// ---- two hosts of m GPUs with one NIC each ----------------------------------------------------------------

// GPUs 0 to m-1 are on the first host, m to 2m-1 on the second; CPUs forward. Latency 5 on each of 4 links.
struct TwoHosts : Machine {
  TwoHosts(const char* interconnect, int m, Duplex duplex) : Machine(interconnect), gpus(m) {
    Gpus(2 * m);
    const DeviceIndex hosts[] = {Cpu(), Cpu()};
    const auto network = AddSwitch();
    for (int i = 0; i < 2 * m; ++i) Wire(i, hosts[i / m]);
    for (const DeviceIndex host : hosts) Wire(host, network).duplex = duplex;
  }
  std::vector<Picos> SendAcross(bool both_ways) {
    std::vector<Sending> sendings;
    for (int i = 0; i < gpus; ++i) sendings.push_back({i, gpus + i});
    for (int i = 0; both_ways && i < gpus; ++i) sendings.push_back({gpus + i, i});
    return Send(sendings);
  }
  int gpus;
};

TEST(Contention, FairFlowsDivideTheNicInEachDirection) {
  for (const int m : {1, 2, 4}) {
    for (const bool both_ways : {false, true}) {
      for (const Picos end : TwoHosts("fair", m, Duplex::kFull).SendAcross(both_ways))
        EXPECT_EQ(end, (20 + 100 * m) * kUs) << m << both_ways;
    }
    for (const Picos end : TwoHosts("fair", m, Duplex::kHalf).SendAcross(true))
      EXPECT_EQ(end, (20 + 200 * m) * kUs) << m;
  }
}

TEST(Contention, FifoTransfersTakeTurnsAtTheNic) {
  const std::vector<Picos> full = TwoHosts("fifo", 4, Duplex::kFull).SendAcross(true);
  EXPECT_EQ(full, Micros({120, 240, 360, 480, 120, 240, 360, 480}));
  const std::vector<Picos> half = TwoHosts("fifo", 4, Duplex::kHalf).SendAcross(true);
  EXPECT_EQ(half, Micros({120, 240, 360, 480, 600, 720, 840, 960}));
}

// ---- all to all -------------------------------------------------------------------------------------------

std::vector<Sending> AllToAll(int gpus) {
  std::vector<Sending> sendings;
  for (int from = 0; from < gpus; ++from) {
    for (int to = 0; to < gpus; ++to) {
      if (to != from) sendings.push_back({from, to});
    }
  }
  return sendings;
}

std::vector<Picos> AllToAllOverSwitch(const char* interconnect, int gpus) {
  Machine m(interconnect);
  m.Gpus(gpus);
  const auto nvswitch = m.AddSwitch();
  for (int i = 0; i < gpus; ++i) m.Wire(i, nvswitch);
  return m.Send(AllToAll(gpus));
}

// Each direction of each link has n - 1 flows, and none has a bottleneck elsewhere.
TEST(Contention, FairAllToAllOverASwitch) {
  for (int n = 2; n <= 8; ++n) {
    for (const Picos end : AllToAllOverSwitch("fair", n)) EXPECT_EQ(end, (10 + 100 * (n - 1)) * kUs) << n;
  }
}

// Of three: 0>1 and 1>0 go first; 2>0 waits for the way into 0, and 2>1 behind it. Then 0>2 and 2>0; then 1>2, which waited
// for the way into 2, and 2>1. Three turns of 110 where two would do: what first in, first out costs.
TEST(Contention, FifoAllToAllOverASwitchLosesATurn) {
  EXPECT_EQ(AllToAllOverSwitch("fifo", 3), Micros({110, 220, 110, 330, 220, 330}));
}

// In a mesh each pair has a link of its own: nobody waits in any interconnect.
TEST(Contention, AllToAllOverAMeshIsFree) {
  for (const char* interconnect : {"ideal", "fifo", "fair"}) {
    Machine m(interconnect);
    m.Gpus(8);
    for (int a = 0; a < 8; ++a) {
      for (int b = a + 1; b < 8; ++b) m.Wire(a, b);
    }
    for (const Picos end : m.Send(AllToAll(8))) EXPECT_EQ(end, 105 * kUs) << interconnect;
  }
}

// ---- two PCI Express switches -----------------------------------------------------------------------------

// GPUs 0 to 3 below one switch, 4 to 7 below the other; a CPU above each; the CPUs are joined by a link twice as wide.
// 0>1 stays below its switch: 100 behind 5 + 5. 2>4 and 3>5 share the way up to the CPU: 200 behind 5 x 5. 6>7 is alone. 5>3
// goes the other way over the same links: 100 behind 5 x 5.
std::vector<Picos> OverTwoSwitches(const char* interconnect) {
  Machine m(interconnect);
  m.Gpus(8);
  const DeviceIndex cpu0 = m.Cpu(), cpu1 = m.Cpu();
  const auto plx0 = m.AddSwitch(), plx1 = m.AddSwitch();
  for (int i = 0; i < 8; ++i) m.Wire(i, i < 4 ? plx0 : plx1);
  m.Wire(plx0, cpu0);
  m.Wire(plx1, cpu1);
  m.Wire(cpu0, cpu1, 2 * kWidth);
  return m.Send({{0, 1}, {2, 4}, {3, 5}, {6, 7}, {5, 3}});
}

TEST(Contention, OnlyWhatCrossesTheSocketsShares) {
  EXPECT_EQ(OverTwoSwitches("fair"), Micros({110, 225, 225, 110, 125}));
  EXPECT_EQ(OverTwoSwitches("fifo"), Micros({110, 125, 250, 110, 125}));
}

}  // namespace
}  // namespace stowplan::sim
