// What an accelerator may do wrong: fail, have no memory left, tell the time badly.
#include "profiler/executor/device_group.h"
#include "profiler/host_machine.h"
#include "tests/profiler/executor/byte_mover.h"
#include "tests/profiler/executor/executing.h"
#include "tests/profiler/executor/late_accelerator.h"
#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

using testing::ClusterOf;
using testing::LateAccelerator;

constexpr ExecuteOptions kThreeSteps{.warm_up = 0, .steps = 3, .at_most = 3};

// a is read by b; on two accelerators of a class that a test makes.
template <typename Late>
class TwoDevices {
 public:
  explicit TwoDevices(bool source = false) {
    graph_.name = "pair";
    graph_.ops = {testing::ByteMover("a", source ? "Placeholder" : "Mix", 640),
                  testing::ByteMover("b", "Mix", 64)};
    graph_.ops[1].inputs = {{0, 0}};
    graph_.Finish();
    ExecutorParts parts;
    parts.accelerator = [this](sim::DeviceIndex device) {
      return std::make_unique<Late>(graph_, 1U + static_cast<std::uint32_t>(device), &nothing_);
    };
    executor_ = MakeExecutor(graph_, cluster_, CoresByDevice(2, {AvailableCores().front()}), parts);
  }
  std::vector<ExecutedStep> Run(const std::vector<sim::DeviceIndex>& device,
                                ExecuteOptions options = kThreeSteps) {
    sim::Placement placement;
    placement.device = device;
    return executor_->Run(placement, options);
  }

 private:
  sim::OpGraph graph_;
  const sim::Cluster cluster_ = ClusterOf({"g", "h"}, 1 << 20);
  const LateAccelerator::Done nothing_ = [](sim::OpIndex, const KernelArguments&) {};
  std::unique_ptr<Executor> executor_;
};

// What fails on a device ends the job with its reason, and nobody waits for ever; the next job is another.
TEST(AcceleratorFaultsTest, AFailureOfADeviceIsThrownAndOtherPlacementsGoOn) {
  class Broken : public LateAccelerator {
   public:
    using LateAccelerator::LateAccelerator;
    void RunOp(sim::OpIndex op, const KernelArguments& arguments) override {
      if (op == 1) throw RunError("the device is gone");
      LateAccelerator::RunOp(op, arguments);
    }
  };
  TwoDevices<Broken> pair;
  EXPECT_THROW(pair.Run({0, 1}), RunError);
  EXPECT_THROW(pair.Run({0, 0}), RunError);
  class Once : public LateAccelerator {
   public:
    using LateAccelerator::LateAccelerator;
    void RunOp(sim::OpIndex op, const KernelArguments& arguments) override {
      if (!failed_) {
        failed_ = true;
        throw RunError("once");
      }
      LateAccelerator::RunOp(op, arguments);
    }

   private:
    bool failed_ = false;
  };
  TwoDevices<Once> once;
  EXPECT_THROW(once.Run({0, 0}), RunError);
  EXPECT_THAT(once.Run({0, 0}), SizeIs(3));
  EXPECT_THROW(once.Run({0, 1}), RunError);  // the other one's first
  EXPECT_THAT(once.Run({0, 1}), SizeIs(3));
}

// The first accelerator has no blocks of more than 300 bytes, whatever its limit.
class SmallAccelerator : public LateAccelerator {
 public:
  SmallAccelerator(const sim::OpGraph& graph, std::uint32_t seed, const Done* done)
      : LateAccelerator(graph, seed, done), small_(seed == 1) {}
  Block NewBlock(sim::Bytes bytes) override {
    if (small_ && bytes > 300) throw NoMemory("no more");
    return LateAccelerator::NewBlock(bytes);
  }

 private:
  bool small_;
};

TEST(AcceleratorFaultsTest, MemoryThatIsReallyGoneIsAVerdictAndOtherPlacementsGoOn) {
  TwoDevices<SmallAccelerator> pair;
  for (const std::vector<sim::DeviceIndex>& device :
       std::vector<std::vector<sim::DeviceIndex>>{{0, 0}, {0, 1}}) {
    const auto steps = pair.Run(device);
    ASSERT_THAT(steps, SizeIs(1));
    ASSERT_TRUE(steps[0].oom);
    EXPECT_TRUE(steps[0].exhausted);
    EXPECT_EQ(steps[0].oom->device, 0);
    EXPECT_EQ(steps[0].oom->op, 0);
    EXPECT_EQ(steps[0].oom->what, sim::OutOfMemory::What::kOutput);
    EXPECT_EQ(steps[0].oom->capacity, 1 << 20);
  }
  const auto fits = pair.Run({1, 1});
  EXPECT_THAT(fits, SizeIs(3));
  EXPECT_FALSE(fits[0].oom);
  // The copy of a that b reads, kept from step to step.
  const auto copy = pair.Run({1, 0});
  ASSERT_THAT(copy, SizeIs(1));
  EXPECT_TRUE(copy[0].exhausted);
  EXPECT_EQ(copy[0].oom->what, sim::OutOfMemory::What::kCopy);
  EXPECT_EQ(copy[0].oom->op, 0);
  EXPECT_THAT(copy[0].peak, SizeIs(2));
  EXPECT_THAT(pair.Run({1, 1}), SizeIs(3));
  TwoDevices<SmallAccelerator> source(true);
  const auto kept = source.Run({0, 1});
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_EQ(kept[0].oom->what, sim::OutOfMemory::What::kPersistent);
}

// A device's clock is known to within microseconds only; this one is a second slow.
TEST(AcceleratorFaultsTest, SpansLieInTheStepWhateverTheDevicesClock) {
  class Slow : public LateAccelerator {
   public:
    using LateAccelerator::LateAccelerator;
    std::int64_t TimeOf(Queue queue, Mark mark) override {
      return LateAccelerator::TimeOf(queue, mark) - 1'000'000'000;
    }
  };
  ExecuteOptions options = kThreeSteps;
  options.traced = true;
  for (const ExecutedStep& step : TwoDevices<Slow>().Run({0, 1}, options)) {
    EXPECT_THAT(step.ops, SizeIs(2));
    for (const OpSpan& op : step.ops) {
      EXPECT_EQ(op.start_ns, 0);
      EXPECT_EQ(op.end_ns, 0);
      EXPECT_EQ(op.enqueuing_ns, 0);
    }
    EXPECT_GT(step.ns, 0);
  }
}

// An op that is enqueued while the device runs nothing begins with that; one behind another does not.
TEST(AcceleratorFaultsTest, ASpanSaysHowLongTheHostWasStillEnqueuing) {
  class Known : public LateAccelerator {
   public:
    using LateAccelerator::LateAccelerator;
    void BeginStep(bool timed) override {
      LateAccelerator::BeginStep(timed);
      begin_ = Now();
    }
    void RunOp(sim::OpIndex op, const KernelArguments& arguments) override {
      enqueued_[op] = Now();
      LateAccelerator::RunOp(op, arguments);
    }
    // The first op begins when it is enqueued, a second before it ends; the second a minute later.
    std::int64_t TimeOf(Queue, Mark mark) override {
      constexpr std::int64_t kSecond = 1'000'000'000;
      const std::int64_t first = enqueued_.at(0) - 1000;
      return mark < 2 ? first + mark * kSecond : begin_ + (60 + mark) * kSecond;
    }

   private:
    std::int64_t begin_ = 0;
    std::map<sim::OpIndex, std::int64_t> enqueued_;
  };
  ExecuteOptions options = kThreeSteps;
  options.traced = true;
  for (const ExecutedStep& step : TwoDevices<Known>().Run({0, 0}, options)) {
    ASSERT_THAT(step.ops, SizeIs(2));
    EXPECT_GE(step.ops[0].enqueuing_ns, 1000);
    EXPECT_LE(step.ops[0].enqueuing_ns, step.ops[0].end_ns - step.ops[0].start_ns);
    EXPECT_EQ(step.ops[1].enqueuing_ns, 0);
  }
}

}  // namespace
}  // namespace stowplan::profiler
