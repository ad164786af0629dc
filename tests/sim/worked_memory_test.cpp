// Memory (docs/model.md, section 5) rule by rule. Times in comments are microseconds.
#include "tests/sim/world.h"
#include "tests/testing.h"

namespace stowplan::sim {
namespace {

using What = OutOfMemory::What;

// Live bytes of a device after everything that happens up to and at a time.
Bytes LiveAfter(const Outcome& out, DeviceIndex d, Picos time) {
  Bytes live = 0;
  for (const MemoryPoint& point : out.memory) {
    if (point.device == d && point.time <= time) live = point.live;
  }
  return live;
}

void ExpectOom(const Outcome& out, DeviceIndex device, OpIndex op, What what, Picos time, Bytes needed) {
  ASSERT_TRUE(out.oom.has_value());
  EXPECT_EQ(out.oom->device, device);
  EXPECT_EQ(out.oom->op, op);
  EXPECT_EQ(out.oom->what, what);
  EXPECT_EQ(out.oom->time, time);
  EXPECT_EQ(out.oom->needed, needed);
}

TEST(Memory, EveryAllocationIsRoundedUp) {
  World w;
  w.Gpu();
  w.device(0).granularity = 256;
  w.op(w.Add(0, 1, {1, 257})).persistent_bytes = 100;
  w.op(0).workspace_bytes = 256;
  const Outcome out = w.Run();
  EXPECT_EQ(out.devices[0].peak, 256 + 256 + 256 + 512);
  EXPECT_EQ(LiveAfter(out, 0, out.runtime), 256);  // the persistent bytes stay
}

TEST(Memory, UnreadOutputsAndWorkspaceGoAtTheEnd) {
  World w;
  w.Gpu();
  const OpIndex a = w.Add(0, 10, {1000, 500});
  w.op(a).workspace_bytes = 30;
  w.Add(0, 10, {}, {{a, 1}});
  const Outcome out = w.Run();
  EXPECT_EQ(out.devices[0].peak, 1530);
  EXPECT_EQ(LiveAfter(out, 0, 10 * kUs), 500);
  EXPECT_EQ(LiveAfter(out, 0, 20 * kUs), 0);
}

TEST(Memory, FreesComeBeforeStarts) {
  // In a chain the first output goes when its consumer ends, at the instant at which the third op starts.
  World w;
  w.Gpu();
  const OpIndex a = w.Add(0, 10, {1000});
  const OpIndex b = w.Add(0, 10, {1000}, {{a, 0}});
  w.Add(0, 10, {1000}, {{b, 0}});
  EXPECT_EQ(w.Run().devices[0].peak, 2000);
}

TEST(Memory, ControlDoesNotHold) {
  World w;
  w.Gpu();
  const OpIndex a = w.Add(0, 10, {1000});
  w.Add(0, 10, {1}, {}, {a});
  EXPECT_EQ(w.Run().devices[0].peak, 1000);
}

TEST(Memory, TheLastReaderFrees) {
  World w;
  w.Gpu();
  const OpIndex a = w.Add(0, 10, {1000});
  w.Add(0, 10, {}, {{a, 0}, {a, 0}});
  w.Add(0, 10, {}, {{a, 0}});
  const Outcome out = w.Run();
  EXPECT_EQ(LiveAfter(out, 0, 20 * kUs), 1000);
  EXPECT_EQ(LiveAfter(out, 0, 30 * kUs), 0);
}

TEST(Memory, SourceIsHeldUntilSentAndCopyUntilRead) {
  TwoGpus w;
  const OpIndex a = w.Add(0, 10, {kMB});
  w.Add(1, 10, {}, {{a, 0}});
  const Outcome out = w.Run();
  EXPECT_EQ(LiveAfter(out, 0, 115 * kUs - 1), kMB);
  EXPECT_EQ(LiveAfter(out, 0, 115 * kUs), 0);
  EXPECT_EQ(LiveAfter(out, 1, 10 * kUs - 1), 0);
  EXPECT_EQ(LiveAfter(out, 1, 10 * kUs), kMB);  // from the start of the transfer
  EXPECT_EQ(LiveAfter(out, 1, 125 * kUs - 1), kMB);
  EXPECT_EQ(LiveAfter(out, 1, 125 * kUs), 0);
}

TEST(Memory, AWaitingTransferHoldsTheSourceOnly) {
  TwoGpus w;
  const OpIndex a = w.Add(0, 10, {kMB, 2 * kMB});
  w.Add(1, 0, {}, {{a, 0}, {a, 1}});
  const Outcome out = w.Run();
  EXPECT_EQ(LiveAfter(out, 1, 115 * kUs - 1), kMB);
  EXPECT_EQ(LiveAfter(out, 1, 115 * kUs), 3 * kMB);
  EXPECT_EQ(LiveAfter(out, 0, 115 * kUs), 2 * kMB);
}

// ---- views----

TEST(Views, ShareAndProlongTheStorage) {
  World w;
  w.Gpu();
  const OpIndex a = w.Add(0, 10, {1000});
  const OpIndex v = w.Add(0, 10, {}, {{a, 0}});
  const TensorRef view = w.AddView(v, {a, 0});
  const OpIndex u = w.Add(0, 10, {}, {view});
  const TensorRef view_of_view = w.AddView(u, view);
  w.Add(0, 10, {}, {view_of_view});
  const Outcome out = w.Run();
  EXPECT_EQ(out.devices[0].peak, 1000);
  EXPECT_EQ(LiveAfter(out, 0, 40 * kUs - 1), 1000);
  EXPECT_EQ(LiveAfter(out, 0, 40 * kUs), 0);
}

TEST(Views, OfAReceivedTensorShareTheCopy) {
  TwoGpus w;
  const OpIndex a = w.Add(0, 10, {kMB});
  const OpIndex v = w.Add(1, 10, {}, {{a, 0}});
  const TensorRef view = w.AddView(v, {a, 0});
  w.Add(1, 10, {}, {view});
  const Outcome out = w.Run();
  EXPECT_EQ(out.devices[1].peak, kMB);
  EXPECT_EQ(LiveAfter(out, 0, 115 * kUs), 0);
  EXPECT_EQ(LiveAfter(out, 1, 135 * kUs - 1), kMB);
  EXPECT_EQ(LiveAfter(out, 1, 135 * kUs), 0);
}

TEST(Views, AreSentAsTensorsOfTheirOwn) {
  // The tensor and its view both go to gpu1: two transfers, two copies; the source is held until both are
  // sent.
  TwoGpus w;
  const OpIndex a = w.Add(0, 10, {kMB});
  const OpIndex v = w.Add(0, 10, {}, {{a, 0}});
  const TensorRef view = w.AddView(v, {a, 0});
  w.Add(1, 10, {}, {{a, 0}, view});
  const Outcome out = w.Run();
  EXPECT_EQ(out.devices[1].peak, 2 * kMB);
  EXPECT_EQ(LiveAfter(out, 0, 220 * kUs - 1), kMB);
  EXPECT_EQ(LiveAfter(out, 0, 220 * kUs), 0);
}

TEST(Views, MayBeLargerThanWhatTheyShare) {
  // A broadcast to 4 MB: nothing more where it shares 1 MB, 4 MB sent and held elsewhere (10 + 10 + 5 + 400 + 10).
  TwoGpus w;
  const OpIndex a = w.Add(0, 10, {kMB});
  const OpIndex v = w.Add(0, 10, {}, {{a, 0}});
  const TensorRef view = w.AddView(v, {a, 0});
  w.op(v).outputs.back().bytes = 4 * kMB;
  w.Add(1, 10, {}, {view});
  const Outcome out = w.Run();
  EXPECT_EQ(out.runtime, 435 * kUs);
  EXPECT_EQ(out.devices[0].peak, kMB);
  EXPECT_EQ(out.devices[1].peak, 4 * kMB);
}

TEST(Views, OfACopySentOnHoldTheCopy) {
  World w;
  for (int i = 0; i < 3; ++i) w.Gpu();
  w.Connect(0, 1);
  w.Connect(1, 2);
  w.Connect(0, 2);
  const OpIndex a = w.Add(0, 10, {kMB});
  const OpIndex v = w.Add(1, 10, {}, {{a, 0}});
  const TensorRef view = w.AddView(v, {a, 0});
  w.Add(2, 10, {}, {view});
  const Outcome out = w.Run();
  EXPECT_EQ(LiveAfter(out, 1, 230 * kUs - 1), kMB);  // 115 + 10 + 105
  EXPECT_EQ(LiveAfter(out, 1, 230 * kUs), 0);
}

TEST(Views, PersistentOutputsTakeAndFreeNothing) {
  TwoGpus w;
  const OpIndex variable = w.Add(0, 0, {kMB});
  w.op(variable).type = "Variable";
  w.op(variable).persistent_bytes = 3 * kMB;
  w.op(variable).outputs[0].storage = Output::Storage::kPersistent;
  w.Add(0, 10, {}, {{variable, 0}});
  const OpIndex v = w.Add(1, 10, {}, {{variable, 0}});
  const TensorRef view = w.AddView(v, {variable, 0});
  w.Add(1, 10, {}, {view});
  const Outcome out = w.Run();
  EXPECT_EQ(out.devices[0].peak, 3 * kMB);
  EXPECT_EQ(LiveAfter(out, 0, out.runtime), 3 * kMB);
  EXPECT_EQ(out.transfers.at(0).end, 105 * kUs);  // weights read elsewhere are sent
  EXPECT_EQ(out.devices[1].peak, kMB);            // received, shared by the view
  EXPECT_EQ(LiveAfter(out, 1, 125 * kUs), 0);
}

// ---- running out----

TEST(OutOfMemory, PersistentInOpOrderAtTimeZero) {
  for (const Bytes reserve : {0, 1}) {
    World w;
    w.Gpu();
    w.Gpu();
    w.device(1).memory = 1000;
    w.device(1).reserve = reserve;
    for (const Bytes bytes : {600, 400, 5}) w.op(w.Add(bytes == 5 ? 0 : 1, 1)).persistent_bytes = bytes;
    const Outcome out = w.Run();
    EXPECT_EQ(out.feasible(), reserve == 0);
    if (reserve > 0) ExpectOom(out, 1, 1, What::kPersistent, 0, 1000);
  }
}

TEST(OutOfMemory, OutputsAndWorkspaceAreOneRequest) {
  for (const Bytes memory : {1800, 1799}) {
    World w;
    w.Gpu();
    w.device(0).memory = memory;
    const OpIndex a = w.Add(0, 10, {1000});
    const OpIndex b = w.Add(0, 10, {500, 100}, {{a, 0}});
    w.op(b).workspace_bytes = 200;
    const Outcome out = w.Run();
    EXPECT_EQ(out.feasible(), memory == 1800);
    if (memory < 1800) ExpectOom(out, 0, b, What::kOutput, 10 * kUs, 1800);
    EXPECT_EQ(out.runtime, 20 * kUs);  // goes on as if it had fitted
    EXPECT_EQ(out.devices[0].peak, 1800);
  }
}

TEST(OutOfMemory, CopyAtTheStartOfItsTransfer) {
  for (const Bytes memory : {kMB + 7, kMB + 6}) {
    TwoGpus w;
    w.device(1).memory = memory;
    const OpIndex a = w.Add(0, 10, {kMB});
    w.op(w.Add(1, 10, {}, {{a, 0}})).persistent_bytes = 7;
    const Outcome out = w.Run();
    EXPECT_EQ(out.feasible(), memory == kMB + 7);
    if (memory < kMB + 7) ExpectOom(out, 1, a, What::kCopy, 10 * kUs, kMB + 7);
  }
}

TEST(OutOfMemory, TheFirstRequestIsReported) {
  // gpu1 fails at 5, gpu0 at 10; at one instant requests of starting ops go by op number.
  World w;
  w.Gpu();
  w.Gpu();
  w.device(0).memory = w.device(1).memory = 100;
  const OpIndex a = w.Add(0, 10), b = w.Add(1, 5);
  w.Add(0, 1, {200}, {}, {a});
  const OpIndex d = w.Add(1, 1, {300}, {}, {b});
  ExpectOom(w.Run(), 1, d, What::kOutput, 5 * kUs, 300);

  World same;
  same.Gpu();
  same.Gpu();
  same.device(0).memory = same.device(1).memory = 100;
  same.Add(1, 10, {200});
  same.Add(0, 10, {300});
  ExpectOom(same.Run(), 1, 0, What::kOutput, 0, 200);
}

}  // namespace
}  // namespace stowplan::sim
