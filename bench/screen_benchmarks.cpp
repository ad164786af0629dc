// Screens on one thread beside the simulator on one thread. Both run within each iteration, so that what else the machine
// does hits them alike; the time shown is that of the screens.
#include <algorithm>
#include <chrono>
#include <string>

#include <fmt/format.h>

#include "bench/benchmarks.h"

namespace stowplan::bench {
namespace {

void ScreenAndSimulate(benchmark::State& state, const SpeedCase& from) {
  const LoadedCase& one = Load(from);
  const auto rows = DevicesOf(one);
  sim::Screen screen = ScreenByOp(one, 1);
  sim::BatchSimulator simulator(one.loaded.problem(), 1);
  screen.Run(rows);
  const std::size_t simulated = std::min<std::size_t>(rows.size(), 32);
  double screening = 0, simulating = 0;  // seconds a placement, summed over the iterations
  for (auto _ : state) {
    const Clock::time_point start = Clock::now();
    benchmark::DoNotOptimize(screen.Run(rows).runtime.data());
    const double seconds = SecondsSince(start);
    state.SetIterationTime(seconds);
    screening += seconds / static_cast<double>(rows.size());
    const Clock::time_point then = Clock::now();
    benchmark::DoNotOptimize(simulator.Run(std::span(one.placements).first(simulated)).data());
    simulating += SecondsSince(then) / static_cast<double>(simulated);
  }
  DescribeProblem(state, one.loaded.problem());
  CountOps(state, static_cast<std::int64_t>(rows.size()) * one.loaded.graph().size());
  state.counters["exact/screen"] = simulating / screening;
  state.counters["goal"] = 10;
}

}  // namespace

void RegisterScreenBenchmarks() {
  for (const char* interconnect : {"fifo", "fair"}) {
    for (const int ops : {1'000, 10'000}) {
      benchmark::RegisterBenchmark(
          fmt::format("screen/{}/ops:{}", interconnect, ops).c_str(), ScreenAndSimulate,
          SpeedCase{fmt::format("random_dag(ops={})", ops), "k80(gpus=3)", "native", interconnect})
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
}

}  // namespace stowplan::bench
