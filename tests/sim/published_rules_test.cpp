// The rules of docs/model.md section 8, one by one, with what the goldens do not hold: control edges, doubled
// producers, ops without outputs, ties. 7600 bytes take 1 us to send. Times in comments are microseconds.
#include "tests/sim/world.h"
#include "tests/testing.h"

namespace stowplan::sim {
namespace {

constexpr Bytes kTenMicros = 76'000;  // bytes that take 10 us to send

struct PublishedWorld : World {
  explicit PublishedWorld(int devices) {
    cluster.rules = Rules::kPublished;
    for (int i = 0; i < devices; ++i) Gpu();
  }
};

TEST(PublishedRules, PauseAfterAnOpThatTakesTime) {
  PublishedWorld w(1);
  w.Add(0, 10);
  w.Add(0, 0);
  w.Add(0, 3);
  const Outcome out = w.Run();
  EXPECT_EQ(out.ops[1].start, 15'700'000);  // 10 + 5.7
  EXPECT_EQ(out.ops[2].start, 15'700'000);  // none after an op without cost
  EXPECT_EQ(out.runtime, 24'400'000);       // the last pause counts
  EXPECT_EQ(out.devices[0].busy, 13 * kUs);
}

TEST(PublishedRules, NothingTakesNothing) {
  PublishedWorld w(2);
  w.Add(0, 0);
  EXPECT_EQ(w.Run().runtime, 0);
}

TEST(PublishedRules, ReadyOpsRunInOrderOfReadyTime) {
  PublishedWorld w(3);
  const OpIndex late = w.Add(0, 1, {}, {{2, 0}}), early = w.Add(0, 1, {}, {{3, 0}});
  w.Add(1, 5, {0});
  w.Add(2, 3, {0});
  w.Add(0, 10);
  const Outcome out = w.Run();
  EXPECT_EQ(out.ops[early].start, 15'700'000);  // ready at 3
  EXPECT_EQ(out.ops[late].start, 22'400'000);   // ready at 5, the lower number does not help: 15.7 + 1 + 5.7
}

TEST(PublishedRules, OneSendingServesAllDevices) {
  PublishedWorld w(3);
  const OpIndex a = w.Add(0, 10, {kTenMicros});
  const OpIndex b = w.Add(1, 1, {}, {{a, 0}}), c = w.Add(2, 1, {}, {{a, 0}});
  const Outcome out = w.Run();
  EXPECT_EQ(out.ops[b].start, 20 * kUs);
  EXPECT_EQ(out.ops[c].start, 20 * kUs);
  ASSERT_EQ(out.transfers.size(), 1u);
  EXPECT_EQ(out.transfers[0].bytes, kTenMicros);
  EXPECT_EQ(out.runtime, 45 * kUs);  // the channel's last pause: 20 + 25
  EXPECT_TRUE(out.links.empty());
}

TEST(PublishedRules, OneChannelForAllDestinations) {
  PublishedWorld w(3);
  const OpIndex a = w.Add(0, 10, {kTenMicros, kTenMicros});
  const OpIndex b = w.Add(1, 1, {}, {{a, 0}}), c = w.Add(2, 1, {}, {{a, 1}});
  const Outcome out = w.Run();
  EXPECT_EQ(out.ops[b].start, 20 * kUs);
  EXPECT_EQ(out.ops[c].start, 55 * kUs);  // 20 + 25 + 10
}

TEST(PublishedRules, OutputsQueueByTheirFirstRemoteConsumer) {
  PublishedWorld w(2);
  const OpIndex a = w.Add(0, 10, {kTenMicros, kTenMicros});
  w.Add(0, 1, {}, {{a, 0}});  // local: queues nothing
  const OpIndex b = w.Add(1, 1, {}, {{a, 1}}), c = w.Add(1, 1, {}, {{a, 0}});
  const Outcome out = w.Run();
  EXPECT_EQ(out.ops[b].start, 20 * kUs);
  EXPECT_EQ(out.ops[c].start, 55 * kUs);
  EXPECT_EQ(out.transfers[0].tensor.output, 1);
  EXPECT_EQ(out.transfers[1].queued, 10 * kUs);
  EXPECT_EQ(out.transfers[1].start, 45 * kUs);
}

TEST(PublishedRules, ADoubledProducerCountsOnceWithTheLastOutput) {
  for (const auto& [first, last, start] : {std::tuple{0, 1, 30}, std::tuple{1, 0, 20}}) {
    PublishedWorld w(2);
    const OpIndex a = w.Add(0, 10, {kTenMicros, 2 * kTenMicros});
    const OpIndex b = w.Add(1, 1, {}, {{a, first}, {a, last}});
    const Outcome out = w.Run();
    EXPECT_EQ(out.ops[b].start, start * kUs);  // 10 + 20, 10 + 10
    EXPECT_EQ(out.transfers.size(), 1u);
  }
}

TEST(PublishedRules, AControlInputIsAnInputOfOutputZero) {
  PublishedWorld w(2);
  const OpIndex a = w.Add(0, 10, {kTenMicros, 2 * kTenMicros});
  const OpIndex b = w.Add(1, 1, {}, {}, {a});
  const OpIndex c = w.Add(1, 1, {}, {{a, 1}}, {a});  // named last, so output 1 is not sent at all
  const Outcome out = w.Run();
  EXPECT_EQ(out.ops[b].start, 20 * kUs);
  EXPECT_EQ(out.ops[c].start, 26'700'000);
  EXPECT_EQ(out.transfers.size(), 1u);
}

TEST(PublishedRules, AnOpWithoutOutputsSendsZeroBytes) {
  PublishedWorld w(2);
  const OpIndex a = w.Add(0, 10);
  const OpIndex b = w.Add(1, 1, {}, {}, {a});
  const Outcome out = w.Run();
  EXPECT_EQ(out.ops[b].start, 10 * kUs);
  EXPECT_EQ(out.runtime, 35 * kUs);  // the channel pauses all the same
}

TEST(PublishedRules, OpsEndBeforeTransfersAtOneInstant) {
  // At 20 op x on gpu1 ends and what gpu0 sent arrives there: p, behind x, is ready before q.
  PublishedWorld w(2);
  const OpIndex a = w.Add(0, 10, {kTenMicros}), x = w.Add(1, 20, {0});
  const OpIndex q = w.Add(1, 1, {}, {{a, 0}}), p = w.Add(1, 1, {}, {{x, 0}});
  const Outcome out = w.Run();
  EXPECT_EQ(out.ops[p].start, 25'700'000);
  EXPECT_EQ(out.ops[q].start, 32'400'000);
}

TEST(PublishedRules, LowerDeviceFirstAtOneInstant) {
  PublishedWorld w(3);
  const OpIndex b = w.Add(1, 10, {kTenMicros}), a = w.Add(0, 10, {kTenMicros});
  const OpIndex from_b = w.Add(2, 1, {}, {{b, 0}}), from_a = w.Add(2, 1, {}, {{a, 0}});
  const Outcome out = w.Run();
  EXPECT_EQ(out.ops[from_a].start, 20 * kUs);
  EXPECT_EQ(out.ops[from_b].start, 26'700'000);
}

// ---- peaks----

TEST(PublishedPeak, HeldUntilFloorOfStartPlusFloorOfCostMinusOne) {
  // b starts at 15.7. With a cost of 1.9 a's output is held until 15 + 1 - 1 = 15, before b's start; with 2
  // until 16.
  for (const auto& [cost, peak] : {std::pair{1.9, 1000}, {2.0, 1300}}) {
    PublishedWorld w(1);
    const OpIndex a = w.Add(0, 10, {600, 400});  // the sum over the outputs, read or not
    w.Add(0, cost, {300}, {{a, 0}});
    EXPECT_EQ(w.Run().devices[0].peak, peak);
  }
}

TEST(PublishedPeak, ControlConsumersHoldToo) {
  PublishedWorld w(1);
  const OpIndex a = w.Add(0, 10, {1000});
  w.Add(0, 2, {300}, {}, {a});
  EXPECT_EQ(w.Run().devices[0].peak, 1300);
}

TEST(PublishedPeak, WithoutConsumersHeldAtItsOwnStartOnly) {
  PublishedWorld w(1);
  w.Add(0, 10, {1000});
  w.Add(0, 10, {300});
  EXPECT_EQ(w.Run().devices[0].peak, 1000);
}

TEST(PublishedPeak, AHoldThatEndsBeforeItStartsCountsForNothing) {
  PublishedWorld w(1);
  const OpIndex a = w.Add(0, 0, {1000});
  w.Add(0, 0, {300}, {{a, 0}});  // starts at 0: a held until -1
  EXPECT_EQ(w.Run().devices[0].peak, 300);
}

TEST(PublishedPeak, AllocationsComeFirstAtOneInstant) {
  // On gpu0 x starts at 14.3 + 5.7 = 20. a, read on gpu1 from 0.13 on, is held until 0 + floor(cost) - 1.
  for (const auto& [cost, peak] : {std::pair{21.0, 1500}, {20.9, 1000}}) {
    PublishedWorld w(2);
    const OpIndex a = w.Add(0, 0, {1000});
    w.Add(0, 14.3);
    w.Add(0, 1, {500});
    w.Add(1, cost, {}, {{a, 0}});
    const Outcome out = w.Run();
    ASSERT_EQ(out.ops[2].start, 20 * kUs);
    EXPECT_EQ(out.devices[0].peak, peak);
    EXPECT_EQ(out.devices[1].peak, 0);  // received copies take nothing
  }
}

TEST(PublishedPeak, AlwaysFits) {
  PublishedWorld w(1);
  w.device(0).memory = 10;
  w.op(w.Add(0, 1, {1000})).persistent_bytes = 1 << 20;
  const Outcome out = w.Run();
  EXPECT_TRUE(out.feasible());
  EXPECT_EQ(out.devices[0].peak, 1000);
}

// ---- limits----

TEST(PublishedLimits, TimesBeyondTheNarrowKeysAreExact) {
  // Two ops of 10^12 us (the most that a file may hold) are 2 * 10^18 ps: times 2^3 they do not fit 64 bits.
  PublishedWorld w(4);
  const OpIndex a = w.Add(0, 1e12, {kTenMicros});
  w.Add(3, 1e12, {}, {{a, 0}});
  EXPECT_EQ(w.Run().runtime, 2'000'000'000'000'000'000 + 10 * kUs + 5'700'000);
}

TEST(PublishedLimits, MoreThanATimeCanHoldIsRefused) {
  PublishedWorld w(2);
  for (int i = 0; i < 100; ++i) w.Add(0, 1, {kMaxBytes});  // 1.5 * 10^17 ps each to send
  for (int i = 0; i < 100; ++i) w.Add(1, 1, {}, {{i, 0}});
  EXPECT_THROW(w.Run(), InputError);
}

}  // namespace
}  // namespace stowplan::sim
