// From the text of a file to a problem that can be simulated, and what an evaluation costs beside its simulation.
#include <fmt/format.h>

#include "agents/evaluator.h"
#include "agents/task.h"
#include "bench/benchmarks.h"
#include "sim/formats/formats.h"

namespace stowplan::bench {
namespace {

const SpeedCase kRandom10k{"random_dag(ops=10000)", "k80(gpus=3)", "native", "fifo"};
const SpeedCase kGnmt{"gnmt(layers=8,granularity=unfused)", "k80(gpus=7)", "native", "fifo"};

void Report(benchmark::State& state, const sim::Problem& problem) {
  DescribeProblem(state, problem);
  CountOps(state, problem.graph().size());
}

void Parse(benchmark::State& state, const SpeedCase& from) {
  const LoadedCase& one = Load(from);
  const std::string text = formats::PrintGraph(one.loaded.graph());
  for (auto _ : state) benchmark::DoNotOptimize(formats::ParseGraph(text, "text").size());
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
  Report(state, one.loaded.problem());
}

void Compile(benchmark::State& state, const SpeedCase& from) {
  const LoadedCase& one = Load(from);
  const sim::Problem& problem = one.loaded.problem();
  for (auto _ : state) {
    const sim::Problem again(problem.graph(), problem.cluster(), problem.costs());
    benchmark::DoNotOptimize(&again.compiled());
  }
  Report(state, problem);
}

// Beside engine/native/fifo: expanding units to ops, counting, keeping the best.
void Evaluate(benchmark::State& state, const SpeedCase& from) {
  const LoadedCase& one = Load(from);
  const agents::Task task = agents::MakeTask(one.loaded.problem(), "colocation");
  std::vector<agents::UnitPlacement> units;
  for (const sim::Placement& placement : one.placements) {
    agents::UnitPlacement& by_unit = units.emplace_back(task.units.size());
    for (std::size_t op = 0; op < placement.device.size(); ++op)
      by_unit[static_cast<std::size_t>(task.units.unit_of_op[op])] = placement.device[op];
  }
  agents::Evaluator evaluator(task, {.budget = std::int64_t{1} << 60});
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(evaluator.Evaluate(units[next]).runtime);
    if (++next == units.size()) next = 0;
  }
  Report(state, one.loaded.problem());
}

void Register(const char* name, void (*run)(benchmark::State&, const SpeedCase&), const SpeedCase& from) {
  benchmark::RegisterBenchmark(name, run, from)->Unit(benchmark::kMillisecond);
}

}  // namespace

void RegisterLoadBenchmarks() {
  Register("load/parse/random_dag/ops:10000", Parse, kRandom10k);
  Register("load/parse/gnmt8_unfused", Parse, kGnmt);
  Register("load/compile/random_dag/ops:10000", Compile, kRandom10k);
  Register("load/compile/gnmt8_unfused", Compile, kGnmt);
}

void RegisterEvaluatorBenchmarks() {
  Register("evaluator/native/fifo/ops:10000", Evaluate, kRandom10k);
}

}  // namespace stowplan::bench
