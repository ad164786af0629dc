// What a sample of a search costs beside one of random search, whose placements are unrelated and are all run to their end.
// Both searches run within each iteration, so that what else the machine does hits them alike; the time shown is that of the
// search. A sample includes what the agent does between evaluations.
#include <array>
#include <chrono>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "agents/agent.h"
#include "agents/evaluator.h"
#include "agents/task.h"
#include "bench/benchmarks.h"

namespace stowplan::bench {
namespace {

constexpr std::int64_t kSamples = 300;

double SecondsOf(const agents::Task& task, const std::string& name) {
  agents::Evaluator evaluator(task, {.budget = kSamples});
  const auto start = std::chrono::steady_clock::now();
  agents::MakeAgent(name)->Search(task, evaluator, {});
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void Search(benchmark::State& state, const SpeedCase& from, const std::string& agent) {
  const LoadedCase& one = Load(from);
  const agents::Task task = agents::MakeTask(one.loaded.problem(), "colocation");
  double ours = 0, random = 0;
  for (auto _ : state) {
    random += SecondsOf(task, "random");
    const double seconds = SecondsOf(task, agent);
    state.SetIterationTime(seconds);
    ours += seconds;
  }
  DescribeProblem(state, one.loaded.problem());
  CountOps(state, kSamples * one.loaded.graph().size());
  state.counters["random/search"] = random / ours;
  if (agent == "local_search") state.counters["goal"] = 2;
}

}  // namespace

void RegisterSearchBenchmarks() {
  for (const auto& [rules, interconnect] :
       {std::array{"native", "fifo"}, std::array{"native", "fair"}, std::array{"published", ""}}) {
    for (const char* graph : {"nmt(layers=4)", "inception_v3"}) {
      for (const char* agent : {"local_search", "annealing"}) {
        benchmark::RegisterBenchmark(fmt::format("search/{}/{}{}{}/{}", agent, rules,
                                                 *interconnect == 0 ? "" : "/", interconnect, graph)
                                         .c_str(),
                                     Search, SpeedCase{graph, "k80(gpus=3)", rules, interconnect}, agent)
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
}

}  // namespace stowplan::bench
