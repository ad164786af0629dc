// stowplan_benchmarks: the hot paths, each beside its goal. The options are Google Benchmark's:
//
//   stowplan_benchmarks --benchmark_filter='engine/native/fifo' --benchmark_repetitions=5
//
// bench/README.md says how the committed figures are made.
#include "bench/benchmarks.h"

#include <cstdio>
#include <exception>

#include "problem/provenance.h"

namespace stowplan::bench {

void CountOps(benchmark::State& state, std::int64_t ops_each) {
  state.counters["ops/s"] =
      benchmark::Counter(static_cast<double>(ops_each * state.iterations()), benchmark::Counter::kIsRate);
}

void DescribeProblem(benchmark::State& state, const sim::Problem& problem) {
  state.counters["ops"] = static_cast<double>(problem.graph().size());
  state.counters["edges"] = static_cast<double>(problem.graph().edges());
  state.counters["devices"] = static_cast<double>(problem.cluster().size());
}

}  // namespace stowplan::bench

int main(int argc, char** argv) {
  using namespace stowplan;
  using namespace stowplan::bench;
  problem::RememberCommandLine(argc, argv, "stowplan_benchmarks");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  try {
    const problem::Provenance now = problem::CurrentProvenance();
    benchmark::AddCustomContext("command", now.command);
    benchmark::AddCustomContext("revision", now.RevisionText());
    benchmark::AddCustomContext("machine", now.machine);
    RegisterEngineBenchmarks();
    RegisterBatchBenchmarks();
    RegisterEvaluatorBenchmarks();
    RegisterSearchBenchmarks();
    RegisterScreenBenchmarks();
    RegisterLoadBenchmarks();
    RegisterScalingBenchmarks();
    benchmark::RunSpecifiedBenchmarks();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stowplan_benchmarks: %s\n", error.what());
    return 1;
  }
  return 0;
}
