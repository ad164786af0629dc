// A batch on n threads against n processes of one thread each, which share nothing: what parallel evaluation
// is measured by. Both run within each iteration, so that what else the machine does hits them alike; the
// time shown is that of the batch.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/speed/benchmarks.h"
#include "bench/speed/child_process.h"
#include "sim/error.h"

namespace berth::bench {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void RunAsProcess(const sim::Problem& problem, std::span<const sim::Placement> placements, NumberPipe& go,
                  NumberPipe& done) {
  go.CloseWriter();
  sim::BatchSimulator simulator(problem, 1);
  simulator.Run(placements.first(1));
  double number = 0;
  done.Write(&number, 1);
  go.Read(&number, 1);  // until its writer is closed
  const Clock::time_point start = Clock::now();
  const auto outcomes = simulator.Run(placements);
  benchmark::DoNotOptimize(outcomes.data());
  number = static_cast<double>(placements.size()) / SecondsSince(start);
  done.Write(&number, 1);
}

// What `processes` processes reach together when they start at once [placements/s].
double RateOfProcesses(const sim::Problem& problem, std::span<const sim::Placement> placements,
                       int processes) {
  NumberPipe go, done;
  const std::size_t share = placements.size() / static_cast<std::size_t>(processes);
  for (std::size_t i = 0; i < static_cast<std::size_t>(processes); ++i)
    StartChild([&] { RunAsProcess(problem, placements.subspan(i * share, share), go, done); });
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

void Batch(benchmark::State& state, const SpeedCase& from, int threads) {
  const LoadedCase& one = Load(from);
  const sim::Problem& problem = one.loaded.problem();
  sim::BatchSimulator simulator(problem, threads);
  simulator.Run(one.placements);
  double ours = 0, theirs = 0;  // seconds a placement, summed over the iterations
  for (auto _ : state) {
    theirs += 1 / RateOfProcesses(problem, one.placements, threads);
    const Clock::time_point start = Clock::now();
    const auto outcomes = simulator.Run(one.placements);
    benchmark::DoNotOptimize(outcomes.data());
    const double seconds = SecondsSince(start);
    state.SetIterationTime(seconds);
    ours += seconds / static_cast<double>(one.placements.size());
  }
  DescribeProblem(state, problem);
  CountOps(state, static_cast<std::int64_t>(one.placements.size()) * one.loaded.graph().size());
  state.counters["threads/processes"] = theirs / ours;
  state.counters["goal"] = 0.9;
}

}  // namespace

void RegisterBatchBenchmarks() {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  for (const char* rules : {"published", "native"}) {
    for (const int ops : {100, 1'000, 10'000}) {
      for (int threads = 2; threads <= cores; threads *= 2) {
        benchmark::RegisterBenchmark(
            fmt::format("batch/{}/ops:{}/threads:{}", rules, ops, threads).c_str(), Batch,
            SpeedCase{fmt::format("random_dag(ops={})", ops), "k80(gpus=3)", rules, "fifo"}, threads)
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
}

}  // namespace berth::bench
