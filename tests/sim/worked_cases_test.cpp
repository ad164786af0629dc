// The worked cases of docs/model.md, section 7, then host threads, queues and streams
// (sections 2 and 3) rule by rule. World::Run() also holds every case against the oracle. Times in comments
// are microseconds.
#include "tests/sim/world.h"
#include "tests/testing.h"

namespace stowplan::sim {
namespace {

// ---- The first cases ----

TEST(WorkedCases, OneTransfer) {
  TwoGpus w;
  const OpIndex a = w.Add(0, 10, {kMB});
  w.Add(1, 10, {}, {{a, 0}});
  EXPECT_EQ(w.Run().runtime, 125 * kUs);  // 10 + 5 + 1 MB / 10 GB/s = 100 + 10
}

TEST(WorkedCases, TwoConsumersShareOneTransfer) {
  TwoGpus w;
  const OpIndex a = w.Add(0, 10, {kMB});
  w.Add(1, 10, {}, {{a, 0}});
  w.Add(1, 10, {}, {{a, 0}});
  const Outcome out = w.Run();
  EXPECT_EQ(out.runtime, 135 * kUs);
  EXPECT_EQ(out.transfers.size(), 1u);
}

TEST(WorkedCases, TwoOutputsQueueInFifo) {
  TwoGpus w;
  const OpIndex a = w.Add(0, 10, {kMB, kMB});
  w.Add(1, 0, {}, {{a, 0}});
  w.Add(1, 0, {}, {{a, 1}});
  const Outcome out = w.Run();
  EXPECT_EQ(out.transfers.at(0).end, 115 * kUs);  // 10 + 5 + 100
  EXPECT_EQ(out.transfers.at(1).end, 220 * kUs);  // 115 + 5 + 100
}

TEST(WorkedCases, TwoOutputsShareInFair) {
  TwoGpus w;
  w.cluster.interconnect = "fair";
  w.device(0).copy_engines = 4;  // two out
  const OpIndex a = w.Add(0, 10, {kMB, kMB});
  w.Add(1, 0, {}, {{a, 0}});
  w.Add(1, 0, {}, {{a, 1}});
  const Outcome out = w.Run();
  EXPECT_EQ(out.transfers.at(0).end, 215 * kUs);  // 10 + 5 + 1 MB / (10 GB/s / 2)
  EXPECT_EQ(out.transfers.at(1).end, 215 * kUs);
}

TEST(WorkedCases, ControlEdgeCostsTheLatency) {
  TwoGpus w;
  const OpIndex a = w.Add(0, 10, {kMB});
  w.Add(1, 10, {}, {}, {a});
  const Outcome out = w.Run();
  EXPECT_EQ(out.runtime, 25 * kUs);  // 10 + 5 + 10
  EXPECT_EQ(out.links.at(0).bytes, 0);
  EXPECT_EQ(out.links.at(0).busy, 0);
  EXPECT_EQ(out.devices.at(1).peak, 0);
}

TEST(WorkedCases, DispatchBoundChain) {
  for (const auto& [cost, runtime] : {std::pair{2, 17}, {20, 65}}) {  // 3 * 5 + 2; 5 + 3 * 20
    World w;
    w.Gpu();
    w.cluster.dispatch.cost = 5 * kUs;
    const OpIndex a = w.Add(0, cost, {0});
    const OpIndex b = w.Add(0, cost, {0}, {{a, 0}});
    w.Add(0, cost, {}, {{b, 0}});
    EXPECT_EQ(w.Run().runtime, runtime * kUs);
  }
}

// The host issues the next op when the one before has ended: with one thread, or one a device; by the program's order, or by what is
// ready.
TEST(WorkedCases, TheHostWaitsForOps) {
  for (const auto per : {Dispatch::Per::kProcess, Dispatch::Per::kDevice}) {
    for (const auto order : {Dispatch::Order::kProgram, Dispatch::Order::kReady}) {
      World w;
      w.Gpu();
      w.cluster.dispatch = {.per = per, .order = order, .cost = 5 * kUs};
      for (int i = 0; i < 3; ++i) {
        const OpIndex op = w.Add(0, 20);
        w.op(op).attributes = {{"host_waits", {true}}};
      }
      EXPECT_EQ(w.Run().runtime, 3 * (5 + 20) * kUs);
    }
  }
}

// ---- host threads----

TEST(Issue, CpuIsSynchronous) {
  World w;
  w.Cpu();
  w.cluster.dispatch.cost = 5 * kUs;
  const OpIndex a = w.Add(0, 20, {0});
  const OpIndex b = w.Add(0, 20, {}, {{a, 0}});
  const Outcome out = w.Run();
  EXPECT_EQ(out.ops[b].issue, 30 * kUs);  // a: issued 5, runs until 25; only then b is issued
  EXPECT_EQ(out.runtime, 50 * kUs);
}

TEST(Issue, AcceleratorIsIssuedAheadOfItsProducer) {
  World w;
  w.Gpu();
  w.cluster.dispatch.cost = 5 * kUs;
  const OpIndex a = w.Add(0, 20, {0});
  const OpIndex b = w.Add(0, 20, {}, {{a, 0}});
  const Outcome out = w.Run();
  EXPECT_EQ(out.ops[b].issue, 10 * kUs);
  EXPECT_EQ(out.ops[b].start, 25 * kUs);
}

TEST(Issue, RemoteInputMustArriveFirst) {
  TwoGpus w;
  w.cluster.dispatch.cost = 5 * kUs;
  const OpIndex a = w.Add(0, 10);
  const OpIndex b = w.Add(1, 10, {}, {}, {a});
  const Outcome out = w.Run();
  EXPECT_EQ(out.ops[b].issue, 25 * kUs);  // 5 + 10 + latency 5, and 5 to issue
  EXPECT_EQ(out.runtime, 35 * kUs);
}

TEST(Issue, ProcessThreadWaitsForCpuOps) {
  for (const auto per : {Dispatch::Per::kProcess, Dispatch::Per::kDevice}) {
    World w;
    w.Cpu();
    w.Gpu();
    w.cluster.dispatch.per = per;
    w.cluster.dispatch.cost = kUs;
    w.Add(0, 10);
    const OpIndex b = w.Add(1, 10);
    const Outcome out = w.Run();
    const bool process = per == Dispatch::Per::kProcess;
    EXPECT_EQ(out.ops[b].issue, (process ? 12 : 1) * kUs);  // 1 + 10 + 1: the thread waits until 11
    EXPECT_EQ(out.runtime, (process ? 22 : 11) * kUs);
  }
}

TEST(Issue, ProcessThreadServesAllAccelerators) {
  World w;
  w.Gpu();
  w.Gpu();
  w.cluster.dispatch = {.per = Dispatch::Per::kProcess, .cost = 4 * kUs};
  w.Add(0, 10);
  const OpIndex b = w.Add(1, 10);
  EXPECT_EQ(w.Run().ops[b].issue, 8 * kUs);
}

TEST(Issue, FreeOpOnCpuKeepsTheProcessThread) {
  World w;
  w.Cpu();
  w.Gpu();
  w.cluster.dispatch = {.per = Dispatch::Per::kProcess, .cost = kUs};
  const OpIndex variable = w.Add(0, 4);
  w.op(variable).type = "Variable";
  const OpIndex b = w.Add(1, 10);
  const Outcome out = w.Run();
  EXPECT_EQ(out.ops[variable].start, 0);  // no dispatch
  EXPECT_EQ(out.ops[b].issue, 5 * kUs);   // but the thread is busy until 4
}

TEST(Issue, SourcesPayNoDispatch) {
  for (const char* type : {"Variable", "Constant", "Const", "Placeholder", "MatMul"}) {
    World w;
    w.Gpu();
    w.cluster.dispatch.cost = 5 * kUs;
    w.op(w.Add(0, 0)).type = type;
    EXPECT_EQ(w.Run().ops[0].issue, type == std::string("MatMul") ? 5 * kUs : 0) << type;
  }
}

TEST(Issue, FrameworkOpsMultiplyTheDispatch) {
  World w;
  w.Gpu();
  w.cluster.dispatch.cost = 5 * kUs;
  w.op(w.Add(0, 10)).framework_ops = 3;
  EXPECT_EQ(w.Run().runtime, 25 * kUs);
}

TEST(Issue, AutomaticDispatchIsTheLaunchCostOfTheDevice) {
  World w;
  w.Gpu();
  w.Gpu();
  w.device(0).launch_cost = 7 * kUs;
  w.device(1).launch_cost = 3 * kUs;
  w.cluster.dispatch = {.automatic = true, .cost = 100 * kUs};
  w.Add(0, 1);
  w.Add(1, 1);
  const Outcome out = w.Run();
  EXPECT_EQ(out.ops[0].issue, 7 * kUs);
  EXPECT_EQ(out.ops[1].issue, 3 * kUs);
}

// On gpu0: op 0 waits for op 1 on gpu1 until 10 + 5, op 2 waits for nothing.
struct WaitingHead : TwoGpus {
  WaitingHead() {
    Add(0, 10, {}, {}, {1});
    Add(1, 10);
    Add(0, 10);
  }
};

TEST(Order, ReadyTakesWhatIsIssuable) {
  WaitingHead w;
  EXPECT_EQ(w.Run().runtime, 25 * kUs);  // op 2 runs 0-10, op 0 runs 15-25
}

TEST(Order, ProgramWaitsForTheNext) {
  WaitingHead w;
  w.cluster.dispatch.order = Dispatch::Order::kProgram;
  const Outcome out = w.Run();
  EXPECT_EQ(out.ops[0].start, 15 * kUs);
  EXPECT_EQ(out.ops[2].start, 25 * kUs);  // its number is higher than op 0's
}

TEST(Order, PlacementOrderReplacesReady) {
  WaitingHead w;
  w.placement.order = {1, 0, 2};
  EXPECT_EQ(w.Run().ops[2].start, 25 * kUs);
}

TEST(Order, PlacementOrderReplacesProgram) {
  WaitingHead w;
  w.cluster.dispatch.order = Dispatch::Order::kProgram;
  w.placement.order = {2, 1, 0};
  EXPECT_EQ(w.Run().runtime, 25 * kUs);
}

TEST(Order, PriorityReplacesProgram) {
  WaitingHead w;
  w.cluster.dispatch.order = Dispatch::Order::kProgram;
  w.placement.priority = {0, 0, 0};
  EXPECT_EQ(w.Run().runtime, 25 * kUs);  // no waiting: what is issuable is taken
}

TEST(Order, ProgramOrderOfOneThreadHoldsAcrossDevices) {
  // One thread: op 0 on gpu0 waits for op 1 until 15, so op 2 on gpu1 is issued after it although its device
  // is idle.
  TwoGpus w;
  w.cluster.dispatch = {.per = Dispatch::Per::kProcess, .order = Dispatch::Order::kProgram};
  w.Add(0, 10, {}, {}, {1});
  w.Add(1, 10);
  w.Add(1, 10);
  const Outcome out = w.Run();
  EXPECT_EQ(out.ops[2].issue, 15 * kUs);
}

TEST(Order, HigherPriorityFirstThenOrderOfBecomingIssuable) {
  World w;
  w.Gpu();
  w.cluster.dispatch.cost = 5 * kUs;
  for (int i = 0; i < 4; ++i) w.Add(0, 1);
  w.placement.priority = {0, 2.5, -1, 2.5};
  const Outcome out = w.Run();
  EXPECT_EQ(out.ops[1].issue, 5 * kUs);
  EXPECT_EQ(out.ops[3].issue, 10 * kUs);
  EXPECT_EQ(out.ops[0].issue, 15 * kUs);
  EXPECT_EQ(out.ops[2].issue, 20 * kUs);
}

TEST(Order, BecomingIssuableFollowsTheOrderOfEvents) {
  // Ops 2 and 3 read op 1 and op 0, which end at 3 and 8 on a CPU: op 3 is not there yet when op 2 is issued,
  // although op 4, issuable from the start, is taken first.
  World w;
  w.Cpu();
  w.device(0).streams = 8;
  w.device(0).concurrency_ppm.assign(8, kPpm);
  const OpIndex slow = w.Add(0, 8, {0}), quick = w.Add(0, 3, {0});
  w.Add(0, 1, {}, {{quick, 0}});
  w.Add(0, 1, {}, {{slow, 0}});
  w.Add(0, 1);
  const Outcome out = w.Run();
  EXPECT_EQ(out.ops[4].issue, 0);
  EXPECT_EQ(out.ops[2].issue, 3 * kUs);
  EXPECT_EQ(out.ops[3].issue, 8 * kUs);
}

// ---- queues and streams----

TEST(Queue, HeadThatWaitsHoldsUpTheRest) {
  World w;
  w.Gpu();
  w.device(0).streams = 2;
  const OpIndex a = w.Add(0, 10, {0});
  const OpIndex b = w.Add(0, 10, {}, {{a, 0}});
  const OpIndex c = w.Add(0, 10);
  w.placement.priority = {2, 1, 0};  // issued in op order, so c stands behind b
  const Outcome out = w.Run();
  EXPECT_EQ(out.ops[b].start, 10 * kUs);
  EXPECT_EQ(out.ops[c].start, 10 * kUs);  // a stream was free from 0
  EXPECT_EQ(out.runtime, 30 * kUs);       // b and c share: 10 + 2 * 10
}

TEST(Streams, ShareTheDeviceEquallyByDefault) {
  World w;
  w.Gpu();
  w.device(0).streams = 2;
  w.Add(0, 10);
  w.Add(0, 20);
  const Outcome out = w.Run();
  EXPECT_EQ(out.ops[0].end, 20 * kUs);  // half rate
  EXPECT_EQ(out.ops[1].end, 30 * kUs);  // 10 of 20 done at 20, then alone
  EXPECT_EQ(out.devices[0].busy, 30 * kUs);
}

TEST(Streams, OneStreamRunsOneAfterTheOther) {
  World w;
  w.Gpu();
  w.Add(0, 10);
  w.Add(0, 20);
  const Outcome out = w.Run();
  EXPECT_EQ(out.ops[1].start, 10 * kUs);
  EXPECT_EQ(out.ops[1].end, 30 * kUs);
}

TEST(Streams, CalibratedConcurrencyRoundsUp) {
  World w;
  w.Gpu();
  w.device(0).streams = 2;
  w.device(0).concurrency_ppm = {kPpm, 600'000};
  w.Add(0, 10);
  w.Add(0, 10);
  EXPECT_EQ(w.Run().runtime, 16'666'667);  // 10 / 0.6 = 16.666666.67
}

TEST(Streams, BeyondTheTableIsOneOverK) {
  World w;
  w.Gpu();
  w.device(0).streams = 3;
  w.device(0).concurrency_ppm = {kPpm, 600'000};
  for (int i = 0; i < 3; ++i) w.Add(0, 10);
  EXPECT_EQ(w.Run().runtime, 30 * kUs);
}

TEST(Streams, ATableBelowOneSlowsALoneOp) {
  World w;
  w.Gpu();
  w.device(0).concurrency_ppm = {500'000};
  w.Add(0, 10);
  EXPECT_EQ(w.Run().runtime, 20 * kUs);
}

TEST(Streams, CopiesSlowTheOpsOfBothDevices) {
  TwoGpus w;
  w.device(0).overlap_copy_ppm = w.device(1).overlap_copy_ppm = 500'000;
  const OpIndex a = w.Add(0, 10, {kMB});
  const OpIndex c = w.Add(0, 100, {}, {}, {a});
  const OpIndex d = w.Add(1, 100);
  w.Add(1, 1, {}, {{a, 0}});
  const Outcome out = w.Run();
  ASSERT_EQ(out.transfers.at(0).start, 10 * kUs);
  ASSERT_EQ(out.transfers.at(0).end, 115 * kUs);
  EXPECT_EQ(out.ops[c].end, 162'500'000);  // 105 at half rate = 52.5, 47.5 left
  EXPECT_EQ(out.ops[d].end, 152'500'000);  // 10 alone, 52.5, 37.5 left
}

TEST(Streams, LightTransfersSlowNothing) {
  TwoGpus w;
  w.device(0).overlap_copy_ppm = 500'000;
  const OpIndex a = w.Add(0, 10, {0});
  w.Add(0, 100);
  w.Add(1, 1, {}, {{a, 0}}, {a});
  EXPECT_EQ(w.Run().ops[1].end, 110 * kUs);
}

TEST(Instant, ChainOfZeroCostOpsTakesNoTime) {
  TwoGpus w;
  w.Connect(0, 1);
  w.cluster.links[0].latency = 0;
  OpIndex last = w.Add(0, 3, {0});
  for (int i = 1; i < 6; ++i) last = w.Add(i % 2, 0, {0}, {{last, 0}});
  EXPECT_EQ(w.Run().runtime, 3 * kUs);
}

}  // namespace
}  // namespace stowplan::sim
