// Transfers (docs/model.md, section 4) rule by rule. 1 MB takes 100 us at 10 GB/s. Times in comments are
// microseconds.
#include "tests/sim/world.h"
#include "tests/testing.h"

namespace stowplan::sim {
namespace {

// `devices` CPUs or GPUs around a switch; link i is that of device i.
struct Star : World {
  Star(int devices, DeviceClass device_class, const char* interconnect) {
    for (int i = 0; i < devices; ++i) device_class == DeviceClass::kCpu ? Cpu() : Gpu();
    const auto center = AddSwitch();
    for (int i = 0; i < devices; ++i) Connect(i, center);
    cluster.interconnect = interconnect;
  }
};

TEST(Transfers, CutThroughTheNarrowestLink) {
  Star w(2, DeviceClass::kGpu, "fifo");
  w.cluster.links[1].bandwidth = 5'000'000'000;
  w.cluster.links[1].latency = 2 * kUs;
  const OpIndex a = w.Add(0, 10, {kMB});
  w.Add(1, 10, {}, {{a, 0}});
  const Outcome out = w.Run();
  EXPECT_EQ(out.transfers.at(0).end, 217 * kUs);  // 10 + 5 + 2 + 1 MB / 5 GB/s, not 100 + 200
  EXPECT_EQ(out.links[0].busy, 207 * kUs);        // both for the whole time
  EXPECT_EQ(out.links[1].busy, 207 * kUs);
  EXPECT_EQ(out.links[0].bytes, kMB);
  EXPECT_EQ(out.links[1].bytes, kMB);
}

TEST(Transfers, DurationsRoundToTheNearest) {
  TwoGpus w;
  w.cluster.links[0].bandwidth = 7'600'000'000;
  w.cluster.links[0].latency = 0;
  const OpIndex a = w.Add(0, 0, {1, 19, 2});
  w.Add(1, 0, {}, {{a, 0}, {a, 1}, {a, 2}});
  const Outcome out = w.Run();
  EXPECT_EQ(out.transfers[0].end, 132);         // 131.58
  EXPECT_EQ(out.transfers[1].end, 132 + 2500);  // exact
  EXPECT_EQ(out.transfers[2].end, 2632 + 263);  // 263.16
}

TEST(Transfers, QueueInTheOrderOfProducerOutputDestination) {
  World w;
  for (int i = 0; i < 3; ++i) w.Gpu();
  w.Connect(0, 1);
  w.Connect(0, 2);
  w.Connect(1, 2);
  const OpIndex a = w.Add(0, 10, {kMB, kMB});
  w.Add(2, 0, {}, {{a, 1}, {a, 0}}, {a});
  w.Add(1, 0, {}, {{a, 1}});
  const Outcome out = w.Run();
  ASSERT_EQ(out.transfers.size(), 4u);
  const auto is = [&](std::size_t i, std::int32_t output, DeviceIndex to) {
    return out.transfers[i].tensor == TensorRef{a, output} && out.transfers[i].to == to;
  };
  EXPECT_TRUE(is(0, -1, 2) && is(1, 0, 2) && is(2, 1, 1) && is(3, 1, 2));
  EXPECT_EQ(out.transfers[2].start, 115 * kUs);  // one out-engine
}

TEST(Transfers, EmptyTensorsWaitForNothing) {
  TwoGpus w;
  const OpIndex a = w.Add(0, 10, {kMB, 0});
  w.Add(1, 0, {}, {{a, 0}});
  const OpIndex c = w.Add(1, 10, {}, {{a, 1}});
  const Outcome out = w.Run();
  EXPECT_EQ(out.ops[c].start, 15 * kUs);
  EXPECT_EQ(out.transfers[1].bytes, 0);
  EXPECT_EQ(out.links[0].busy, 105 * kUs);
}

TEST(Transfers, LightOnesTakeTheLatenciesOfTheWholeRoute) {
  Star w(2, DeviceClass::kGpu, "fair");
  const OpIndex a = w.Add(0, 10);
  const OpIndex b = w.Add(1, 10, {}, {}, {a});
  EXPECT_EQ(w.Run().ops[b].start, 20 * kUs);
}

TEST(Transfers, DataAndControlOfOneProducerAreTwo) {
  TwoGpus w;
  const OpIndex a = w.Add(0, 10, {kMB});
  const OpIndex b = w.Add(1, 10, {}, {{a, 0}, {a, 0}}, {a, a});
  const Outcome out = w.Run();
  EXPECT_EQ(out.transfers.size(), 2u);
  EXPECT_EQ(out.ops[b].start, 115 * kUs);
}

TEST(Transfers, WithoutLinksTheyAreFreeButTakeMemory) {
  for (const char* interconnect : {"ideal", "fifo", "fair"}) {
    World w;
    w.Gpu();
    w.Gpu();
    w.device(0).copy_engines = 1;
    w.cluster.interconnect = interconnect;
    const OpIndex a = w.Add(0, 10, {kMB, kMB});
    w.Add(1, 10, {}, {{a, 0}, {a, 1}});
    const Outcome out = w.Run();
    EXPECT_EQ(out.runtime, 20 * kUs);
    EXPECT_EQ(out.devices[1].peak, 2 * kMB);
    EXPECT_TRUE(out.links.empty());
  }
}

// ---- engines----

// gpu0 sends 1 MB to a CPU and receives 1 MB from it at the same time, over a full-duplex link.
TEST(Engines, OneIsSharedByBothDirections) {
  for (const auto& [engines, second] : {std::pair{1, 115}, {2, 10}}) {
    World w;
    w.Gpu();
    w.Cpu();
    w.Connect(0, 1);
    w.device(0).copy_engines = engines;
    const OpIndex a = w.Add(0, 10, {kMB}), b = w.Add(1, 10, {kMB});
    w.Add(1, 0, {}, {{a, 0}});
    w.Add(0, 0, {}, {{b, 0}});
    const Outcome out = w.Run();
    EXPECT_EQ(out.transfers[0].start, 10 * kUs);
    EXPECT_EQ(out.transfers[1].start, second * kUs) << engines;
  }
}

// Two transfers in each direction over links of their own: n engines are (n + 1) / 2 out and n / 2 in.
TEST(Engines, SplitIntoOutAndIn) {
  for (const auto& [engines, out_at_once, in_at_once] :
       {std::tuple{2, 1, 1}, std::tuple{3, 2, 1}, std::tuple{4, 2, 2}}) {
    for (const char* interconnect : {"fifo", "fair"}) {
      World w;
      for (int i = 0; i < 4; ++i) w.Cpu();
      w.Gpu();  // behind them all; CPUs forward between one another
      for (int i = 0; i < 4; ++i) w.Connect(4, i);
      for (int i = 0; i < 3; ++i) w.Connect(i, i + 1);
      w.cluster.interconnect = interconnect;
      w.device(4).copy_engines = engines;
      const OpIndex a = w.Add(4, 10, {kMB});
      const OpIndex b = w.Add(2, 10, {kMB}), c = w.Add(3, 10, {kMB});
      w.Add(0, 0, {}, {{a, 0}});
      w.Add(1, 0, {}, {{a, 0}});
      w.Add(4, 0, {}, {{b, 0}, {c, 0}});
      const Outcome out = w.Run();
      EXPECT_EQ(out.transfers[1].start, (out_at_once == 2 ? 10 : 115) * kUs) << engines << interconnect;
      EXPECT_EQ(out.transfers[3].start, (in_at_once == 2 ? 10 : 115) * kUs) << engines << interconnect;
    }
  }
}

TEST(Engines, BetweenAcceleratorsOnlyTheSenderNeedsOne) {
  World w;
  for (int i = 0; i < 3; ++i) w.Gpu();
  w.Connect(0, 1);
  w.Connect(0, 2);
  w.Connect(1, 2);
  w.device(2).copy_engines = 1;
  const OpIndex a = w.Add(0, 10, {kMB}), b = w.Add(1, 10, {kMB}), c = w.Add(2, 10, {kMB});
  w.Add(2, 0, {}, {{a, 0}, {b, 0}});
  w.Add(0, 0, {}, {{c, 0}});
  const Outcome out = w.Run();
  for (const TransferTimes& t : out.transfers) EXPECT_EQ(t.end, 115 * kUs);
}

TEST(Engines, CpusNeedNone) {
  World w;
  for (int i = 0; i < 3; ++i) w.Cpu();
  w.Connect(0, 1);
  w.Connect(0, 2);
  w.device(0).copy_engines = 1;
  const OpIndex a = w.Add(0, 10, {kMB});
  w.Add(1, 0, {}, {{a, 0}});
  w.Add(2, 0, {}, {{a, 0}});
  EXPECT_EQ(w.Run().runtime, 115 * kUs);
}

// ---- fifo----

// t0: gpu0 to gpu2 from 10. From 11 on gpu1 wants to send t1 to gpu2 and t2 to gpu0. L = 10 over two links.
struct Convoy : Star {
  explicit Convoy(const char* interconnect) : Star(3, DeviceClass::kGpu, interconnect) {
    device(1).copy_engines = 4;
    const OpIndex a = Add(0, 10, {kMB}), b = Add(1, 11, {kMB, kMB});
    Add(2, 0, {}, {{a, 0}});
    Add(2, 0, {}, {{b, 0}});
    Add(0, 0, {}, {{b, 1}});
  }
};

TEST(Fifo, ConvoyEffect) {
  Convoy w("fifo");
  const Outcome out = w.Run();
  EXPECT_EQ(out.transfers[0].end, 120 * kUs);
  EXPECT_EQ(out.transfers[1].start, 120 * kUs);  // link2 is busy until then
  EXPECT_EQ(out.transfers[2].start, 230 * kUs);  // all it needs is idle, but t1 waits at link1 before it
  EXPECT_EQ(out.runtime, 340 * kUs);
}

TEST(Ideal, NothingWaits) {
  Convoy w("ideal");
  const Outcome out = w.Run();
  EXPECT_EQ(out.transfers[0].end, 120 * kUs);
  EXPECT_EQ(out.transfers[1].end, 121 * kUs);
  EXPECT_EQ(out.transfers[2].end, 121 * kUs);
  EXPECT_EQ(out.links[1].busy, 110 * kUs);  // at least one on it, not two
  EXPECT_EQ(out.links[1].bytes, 2 * kMB);
}

TEST(Fair, FlowsSlowEachOtherOnly) {
  // Flows begin at 20 (t0) and 21. t0 alone moves 10 kB in 1. From 21 on link2 has t0 and t1, link1 has t1
  // and t2: all get 5 GB/s. t0 has 990 kB left: 198, until 219. Then t1 and t2 have 10 kB each left and share
  // link1: 2, until 221.
  Convoy w("fair");
  const Outcome out = w.Run();
  EXPECT_EQ(out.transfers[0].end, 219 * kUs);
  EXPECT_EQ(out.transfers[1].end, 221 * kUs);
  EXPECT_EQ(out.transfers[2].end, 221 * kUs);
}

TEST(Fifo, HalfDuplexIsOneQueue) {
  for (const auto duplex : {Duplex::kFull, Duplex::kHalf}) {
    TwoGpus w;
    w.cluster.links[0].duplex = duplex;
    const OpIndex a = w.Add(0, 10, {kMB}), b = w.Add(1, 10, {kMB});
    w.Add(1, 0, {}, {{a, 0}});
    w.Add(0, 0, {}, {{b, 0}});
    const Outcome out = w.Run();
    EXPECT_EQ(out.transfers[1].start, (duplex == Duplex::kHalf ? 115 : 10) * kUs);
    EXPECT_EQ(out.links[0].busy, 210 * kUs);
  }
}

// ---- both directions----

// gpu0 sends at 10, gpu1 sends at 60: flows from 15 and 65.
Outcome RunBothDirections(const char* interconnect, Duplex duplex, std::int64_t both_ppm) {
  TwoGpus w;
  w.cluster.interconnect = interconnect;
  w.cluster.links[0].duplex = duplex;
  w.cluster.links[0].both_ppm = both_ppm;
  const OpIndex a = w.Add(0, 10, {kMB}), b = w.Add(1, 60, {kMB});
  w.Add(1, 0, {}, {{a, 0}});
  w.Add(0, 0, {}, {{b, 0}});
  return w.Run();
}

TEST(Both, EachDirectionLosesWhileTheOtherMoves) {
  // The first moves 500 kB alone until 65, then 5 GB/s: until 165. The second has moved 500 kB then; 50 more.
  for (const char* interconnect : {"fifo", "fair"}) {
    const Outcome out = RunBothDirections(interconnect, Duplex::kFull, 500'000);
    EXPECT_EQ(out.transfers[0].end, 165 * kUs) << interconnect;
    EXPECT_EQ(out.transfers[1].end, 215 * kUs) << interconnect;
  }
}

TEST(Both, IsNothingInIdealOrAlone) {
  const Outcome out = RunBothDirections("ideal", Duplex::kFull, 500'000);
  EXPECT_EQ(out.transfers[0].end, 115 * kUs);
  EXPECT_EQ(out.transfers[1].end, 165 * kUs);
}

TEST(Both, HalfDuplexIgnoresIt) {
  EXPECT_EQ(RunBothDirections("fifo", Duplex::kHalf, 500'000).transfers[1].end, 220 * kUs);  // after 115
  // fair: 500 kB until 65, then each 5 GB/s: 165 and, alone again, 215.
  const Outcome out = RunBothDirections("fair", Duplex::kHalf, 100'000);
  EXPECT_EQ(out.transfers[0].end, 165 * kUs);
  EXPECT_EQ(out.transfers[1].end, 215 * kUs);
}

// ---- fair----

TEST(Fair, MaxMinOfThreeFlows) {
  // link3 has 4 GB/s for two flows: 2 each. link0 leaves 8 GB/s to the flow from 0 to 2: 125; the others 500.
  Star w(4, DeviceClass::kCpu, "fair");
  for (Link& link : w.cluster.links) link.latency = 0;
  w.cluster.links[3].bandwidth = 4'000'000'000;
  const OpIndex a = w.Add(0, 10, {kMB, kMB}), b = w.Add(1, 10, {kMB});
  w.Add(2, 0, {}, {{a, 0}});
  w.Add(3, 0, {}, {{a, 1}, {b, 0}});
  const Outcome out = w.Run();
  EXPECT_EQ(out.transfers[0].end, 135 * kUs);
  EXPECT_EQ(out.transfers[1].end, 510 * kUs);
  EXPECT_EQ(out.transfers[2].end, 510 * kUs);
}

TEST(Fair, SharesRoundDownAndCompletionsUp) {
  // Three flows on 10^13 mB/s: 3333333333333 each; 10^21 / 3333333333333 = 300000000.00003, so one picosecond
  // more.
  World w;
  w.Cpu();
  w.Cpu();
  w.Connect(0, 1).latency = 0;
  w.cluster.interconnect = "fair";
  const OpIndex a = w.Add(0, 0, {kMB, kMB, kMB});
  w.Add(1, 0, {}, {{a, 0}, {a, 1}, {a, 2}});
  for (const TransferTimes& t : w.Run().transfers) EXPECT_EQ(t.end, 300'000'001);
}

TEST(Fair, EngineIsHeldFromStartToEnd) {
  TwoGpus w;  // one out-engine
  w.cluster.interconnect = "fair";
  const OpIndex a = w.Add(0, 10, {kMB, kMB});
  w.Add(1, 0, {}, {{a, 0}, {a, 1}});
  EXPECT_EQ(w.Run().transfers[1].start, 115 * kUs);
}

// ---- curves----

TEST(Curve, IsTheTimeOfALoneTransfer) {
  for (const auto& [bytes, time] :
       {std::pair{5'000, 6}, {10'000, 7}, {60'000, 17}, {110'000, 27}, {160'000, 37}}) {
    for (const char* interconnect : {"ideal", "fifo", "fair"}) {
      TwoGpus w;
      w.cluster.interconnect = interconnect;
      w.cluster.links[0].curve = {{0, 5 * kUs}, {10'000, 7 * kUs}, {110'000, 27 * kUs}};
      const OpIndex a = w.Add(0, 10, {bytes});
      w.Add(1, 0, {}, {{a, 0}});
      EXPECT_EQ(w.Run().runtime, (10 + time) * kUs) << bytes << interconnect;
    }
  }
}

TEST(Curve, SharesItsEffectiveBytes) {
  TwoGpus w;
  w.cluster.interconnect = "fair";
  w.device(0).copy_engines = 4;
  w.cluster.links[0].curve = {{0, 5 * kUs}, {10'000, 7 * kUs}, {110'000, 27 * kUs}};
  const OpIndex a = w.Add(0, 10, {60'000, 60'000});
  w.Add(1, 0, {}, {{a, 0}, {a, 1}});
  const Outcome out = w.Run();
  EXPECT_EQ(out.transfers[1].end, 39 * kUs);  // 10 + 5 + 2 * 12
  EXPECT_EQ(out.links[0].bytes, 120'000);     // the tensors' bytes, not the effective ones
}

}  // namespace
}  // namespace stowplan::sim
