// An accelerator that is late on purpose: what is enqueued is done when somebody asks or waits, queues taking turns by
// chance. Work that is enqueued before it may be, or memory that is used again too early, shows in the numbers.
#pragma once

#include <deque>

#include "profiler/executor/accelerator.h"
#include "profiler/executor/device_thread.h"
#include "profiler/kernel.h"
#include "sim/op_graph.h"
#include "tests/testing.h"

namespace stowplan::profiler::testing {

// An op mixes its own number with every word that it reads; an output that shares storage is left as it is.
class Mix : public Kernel {
 public:
  Mix(const sim::OpGraph& graph, sim::OpIndex op) : graph_(graph), op_(op) {}
  void Run(const KernelArguments& a) override {
    const sim::Op& op = graph_.ops[static_cast<std::size_t>(op_)];
    std::uint32_t mixed = static_cast<std::uint32_t>(op_) + 1;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const sim::TensorRef input = op.inputs[i];
      const auto& output =
          graph_.ops[static_cast<std::size_t>(input.op)].outputs[static_cast<std::size_t>(input.output)];
      for (sim::Bytes w = 0; w < output.bytes / 4; ++w) mixed = mixed * 31 + a.in<std::uint32_t>(i)[w];
    }
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (op.outputs[i].storage != sim::Output::Storage::kOwn) continue;
      for (sim::Bytes w = 0; w < op.outputs[i].bytes / 4; ++w)
        a.out<std::uint32_t>(i)[w] = mixed + static_cast<std::uint32_t>(w);
    }
    if (done != nullptr) (*done)(op_, a);
  }
  // Told of every op that has run, with its tensors as they are then.
  const std::function<void(sim::OpIndex, const KernelArguments&)>* done = nullptr;

 private:
  const sim::OpGraph& graph_;
  sim::OpIndex op_;
};

class LateAccelerator : public Accelerator {
 public:
  using Done = std::function<void(sim::OpIndex, const KernelArguments&)>;
  LateAccelerator(const sim::OpGraph& graph, std::uint32_t seed, const Done* done)
      : graph_(graph), random_(seed), done_(done) {}

  Block NewBlock(sim::Bytes bytes) override { return profiler::NewBlock(bytes); }
  void Upload(void* to, const void* from, sim::Bytes bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void BeginStep(bool) override {
    EXPECT_TRUE(Idle());
    for (Line& line : lines_) line = {};
  }
  void RunOp(sim::OpIndex op, const KernelArguments& a) override {
    Enqueue(Queue::kOps, [this, op, inputs = *a.inputs, outputs = *a.outputs] {
      Mix mix(graph_, op);
      mix.done = done_;
      mix.Run({.inputs = &inputs, .outputs = &outputs});
    });
  }
  void Copy(Queue queue, void* to, const void* from, sim::Bytes bytes) override {
    EXPECT_NE(queue, Queue::kOps);
    Enqueue(queue, [=] { std::memcpy(to, from, static_cast<std::size_t>(bytes)); });
  }
  Mark Put(Queue queue) override {
    Line& line = LineOf(queue);
    line.marks.push_back(line.enqueued);
    line.reached.push_back(0);
    return static_cast<Mark>(line.marks.size()) - 1;
  }
  bool Reached(Queue queue, Mark mark) override {
    Advance();
    return LineOf(queue).done >= LineOf(queue).marks.at(static_cast<std::size_t>(mark));
  }
  void Wait() override {
    while (!Idle()) Advance();
  }
  std::int64_t TimeOf(Queue queue, Mark mark) override {
    return LineOf(queue).reached.at(static_cast<std::size_t>(mark));
  }
  bool AllFinite(const void*, std::int64_t) override { return true; }

 private:
  struct Line {
    std::deque<std::function<void()>> work;
    int enqueued = 0, done = 0;
    std::vector<int> marks;  // how much was enqueued before
    std::vector<std::int64_t> reached;
  };
  Line& LineOf(Queue queue) { return lines_[static_cast<std::size_t>(queue)]; }
  bool Idle() const {
    return std::all_of(std::begin(lines_), std::end(lines_), [](const Line& l) { return l.work.empty(); });
  }
  void Enqueue(Queue queue, std::function<void()> work) {
    LineOf(queue).work.push_back(std::move(work));
    ++LineOf(queue).enqueued;
  }
  // Half of the time nothing happens.
  void Advance() {
    Line& line = lines_[random_() % 3];
    if (random_() % 2 == 0) {
      if (!line.work.empty()) {
        line.work.front()();
        line.work.pop_front();
        ++line.done;
      }
    }
    for (Line& each : lines_) {
      for (std::size_t m = 0; m < each.marks.size(); ++m)
        if (each.reached[m] == 0 && each.done >= each.marks[m]) each.reached[m] = Now();
    }
  }

  const sim::OpGraph& graph_;
  std::minstd_rand random_;
  const Done* done_;
  Line lines_[3];
};

}  // namespace stowplan::profiler::testing
