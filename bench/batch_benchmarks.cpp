// A batch on n threads against n processes of one thread each, which share nothing: what parallel evaluation
// is measured by. Both run within each iteration, so that what else the machine does hits them alike; the
// time shown is that of the batch.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <span>
#include <thread>

#include <fmt/format.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/benchmarks.h"
#include "bench/child_process.h"
#include "sim/base/error.h"

namespace stowplan::bench {
namespace {

// Runs so many placements of a case, from the first of them on.
using RunPart = std::function<void(std::size_t first, std::size_t count)>;
using MakeRun = RunPart (*)(const LoadedCase& one, int threads);

RunPart Simulate(const LoadedCase& one, int threads) {
  auto simulator = std::make_shared<sim::BatchSimulator>(one.loaded.problem(), threads);
  return [&one, simulator](std::size_t first, std::size_t count) {
    const auto outcomes = simulator->Run(std::span(one.placements).subspan(first, count));
    benchmark::DoNotOptimize(outcomes.data());
  };
}

RunPart Screen(const LoadedCase& one, int threads) {
  auto screen = std::make_shared<sim::Screen>(ScreenByOp(one, threads));
  return [rows = DevicesOf(one), screen](std::size_t first, std::size_t count) {
    const auto result = screen->Run(std::span(rows).subspan(first, count));
    benchmark::DoNotOptimize(result.runtime.data());
  };
}

void RunAsProcess(const LoadedCase& one, MakeRun make, std::size_t first, std::size_t count, NumberPipe& go,
                  NumberPipe& done) {
  go.CloseWriter();
  const RunPart run = make(one, 1);
  run(first, 1);
  double number = 0;
  done.Write(&number, 1);
  go.Read(&number, 1);  // until its writer is closed
  const Clock::time_point start = Clock::now();
  run(first, count);
  number = static_cast<double>(count) / SecondsSince(start);
  done.Write(&number, 1);
}

// What `processes` processes reach together when they start at once [placements/s].
double RateOfProcesses(const LoadedCase& one, MakeRun make, int processes) {
  NumberPipe go, done;
  const std::size_t share = one.placements.size() / static_cast<std::size_t>(processes);
  for (std::size_t i = 0; i < static_cast<std::size_t>(processes); ++i)
    StartChild([&] { RunAsProcess(one, make, i * share, share, go, done); });
  done.CloseWriter();
  double rate = 0, number = 0;
  bool all = true;
  for (int i = 0; i < processes; ++i) all = done.Read(&number, 1) && all;  // each is warm
  go.CloseWriter();
  for (int i = 0; i < processes; ++i) {
    all = done.Read(&number, 1) && all;
    rate += number;
  }
  WaitForChildren();
  if (!all) throw RunError("a process of a benchmark ended early");
  return rate;
}

void Batch(benchmark::State& state, const SpeedCase& from, MakeRun make, int threads) {
  const LoadedCase& one = Load(from);
  const RunPart run = make(one, threads);
  run(0, one.placements.size());
  double ours = 0, theirs = 0;  // seconds a placement, summed over the iterations
  for (auto _ : state) {
    theirs += 1 / RateOfProcesses(one, make, threads);
    const Clock::time_point start = Clock::now();
    run(0, one.placements.size());
    const double seconds = SecondsSince(start);
    state.SetIterationTime(seconds);
    ours += seconds / static_cast<double>(one.placements.size());
  }
  DescribeProblem(state, one.loaded.problem());
  CountOps(state, static_cast<std::int64_t>(one.placements.size()) * one.loaded.graph().size());
  state.counters["threads/processes"] = theirs / ours;
  state.counters["goal"] = 0.9;
}

}  // namespace

void RegisterBatchBenchmarks() {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  struct BatchEngine {
    const char* name;
    const char* rules;
    MakeRun make;
  };
  for (const BatchEngine& engine :
       {BatchEngine{"published", "published", Simulate}, BatchEngine{"native", "native", Simulate},
        BatchEngine{"screen", "native", Screen}}) {
    for (const int ops : {100, 1'000, 10'000}) {
      for (int threads = 2; threads <= cores; threads *= 2) {
        benchmark::RegisterBenchmark(
            fmt::format("batch/{}/ops:{}/threads:{}", engine.name, ops, threads).c_str(), Batch,
            SpeedCase{fmt::format("random_dag(ops={})", ops), "k80(gpus=3)", engine.rules, "fifo"},
            engine.make, threads)
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
}

}  // namespace stowplan::bench
