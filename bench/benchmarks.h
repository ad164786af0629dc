// What the files of stowplan_benchmarks share: how a benchmark says what it did and what is wanted of it. Each
// row has the counters
//
//   ops, edges, devices   of the problem
//   ops/s                 simulated (built, read, …) a second
//   goal                  in ops/s or of the counter that the row adds; absent where there is none
#pragma once

#include <chrono>
#include <cstdint>

#include <benchmark/benchmark.h>

#include "bench/speed_case.h"

namespace stowplan::bench {

using Clock = std::chrono::steady_clock;
inline double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// After the loop. `ops_each`: how many ops one iteration handled.
void CountOps(benchmark::State& state, std::int64_t ops_each);
void DescribeProblem(benchmark::State& state, const sim::Problem& problem);

void RegisterEngineBenchmarks();   // one placement after another, one thread
void RegisterScalingBenchmarks();  // the same over ops, edges and devices: what the plots show
void RegisterBatchBenchmarks();    // n threads against n processes
void RegisterScreenBenchmarks();   // screens beside the engine
void RegisterLoadBenchmarks();     // from a file's text to a problem that can be simulated
void RegisterEvaluatorBenchmarks();
void RegisterSearchBenchmarks();  // samples of searches against those of random search

}  // namespace stowplan::bench
