// The engine on one thread: random placements unless said otherwise, peak memory tracked, nothing recorded.
#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <string>

#include <fmt/format.h>

#include "bench/benchmarks.h"

namespace stowplan::bench {
namespace {

struct Rules {
  const char* name;
  const char* interconnect;
  double goal_ops_per_second;  // of 10 000 and 50 000 ops; 0 = none
};

constexpr std::array kRules = {Rules{"published", "", 12e6}, Rules{"native", "ideal", 0},
                               Rules{"native", "fifo", 6e6}, Rules{"native", "fair", 1e6}};

std::string NameOf(const Rules& rules) {
  return *rules.interconnect == '\0' ? rules.name : fmt::format("{}/{}", rules.name, rules.interconnect);
}

void Simulate(benchmark::State& state, const SpeedCase& from, double goal_ops_per_second) {
  const LoadedCase& one = Load(from);
  const auto simulator = sim::MakeSimulator(one.loaded.problem());
  simulator->Run(one.placements.front());  // its scratch memory is there then
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(simulator->Run(one.placements[next]).runtime);
    if (++next == one.placements.size()) next = 0;
  }
  DescribeProblem(state, one.loaded.problem());
  CountOps(state, one.loaded.graph().size());
  if (goal_ops_per_second > 0) state.counters["goal"] = goal_ops_per_second;
}

void Register(const std::string& name, const SpeedCase& from, double goal_ops_per_second = 0) {
  benchmark::RegisterBenchmark(name.c_str(), Simulate, from, goal_ops_per_second)
      ->Unit(benchmark::kMillisecond);
}

constexpr std::size_t kTurn = 50;  // placements at most, of one case before the other

double SecondsOf(sim::Simulator& simulator, std::span<const sim::Placement> placements) {
  const auto start = std::chrono::steady_clock::now();
  for (const sim::Placement& placement : placements)
    benchmark::DoNotOptimize(simulator.Run(placement).runtime);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A case beside another one of the same graph: how much of the other's speed it has. Both run within each iteration, so that
// what else the machine does hits them alike; the time shown is that of the former.
struct Beside {
  SpeedCase shown, other;
  const char* counter;  // as the report knows it
  double goal;
};

void SimulateBeside(benchmark::State& state, const Beside& both) {
  const LoadedCase& shown = Load(both.shown);
  const LoadedCase& other = Load(both.other);
  const auto simulator = sim::MakeSimulator(shown.loaded.problem());
  const auto other_simulator = sim::MakeSimulator(other.loaded.problem());
  const std::size_t turn = std::min(shown.placements.size(), kTurn);
  double in_shown = 0, in_other = 0;
  for (auto _ : state) {
    in_other += SecondsOf(*other_simulator, std::span(other.placements).first(turn));
    const double seconds = SecondsOf(*simulator, std::span(shown.placements).first(turn));
    state.SetIterationTime(seconds);
    in_shown += seconds;
  }
  DescribeProblem(state, shown.loaded.problem());
  CountOps(state, static_cast<std::int64_t>(turn) * shown.loaded.graph().size());
  state.counters[both.counter] = in_other / in_shown;
  state.counters["goal"] = both.goal;
}

void RegisterBeside(const std::string& name, const Beside& both) {
  benchmark::RegisterBenchmark(name.c_str(), SimulateBeside, both)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

SpeedCase RandomDag(const Rules& rules, int ops, int fan_in, const std::string& cluster) {
  return {fmt::format("random_dag(ops={},fan_in={})", ops, fan_in), cluster, rules.name, rules.interconnect};
}

}  // namespace

void RegisterEngineBenchmarks() {
  for (const Rules& rules : kRules) {
    for (const int ops : {1'000, 10'000, 50'000}) {
      const double goal =
          ops > 1'000 || rules.name != std::string("published") ? rules.goal_ops_per_second : 0;
      Register(fmt::format("engine/{}/ops:{}", NameOf(rules), ops), RandomDag(rules, ops, 3, "k80(gpus=3)"),
               goal);
    }
  }
  for (const char* interconnect : {"fifo", "fair"}) {
    for (const int ops : {1'000, 10'000}) {
      const auto in_order = [&](const char* order) {
        return RandomDag({"native", interconnect, 0}, ops, 3, fmt::format("k80(gpus=3,order={})", order));
      };
      // Threads that are first come first served beside lists.
      RegisterBeside(fmt::format("order/{}/ready/ops:{}", interconnect, ops),
                     {in_order("ready"), in_order("program"), "program/ready", 0.8});
    }
  }
  // What many devices cost where each has few ops.
  for (const char* interconnect : {"fifo", "fair"}) {
    const auto on = [&](int devices) {
      SpeedCase from = RandomDag({"native", interconnect, 0}, 10'000, 3, StarName(devices));
      from.contiguous = true;
      return from;
    };
    for (const int devices : {64, 256, 1024, 2048})
      RegisterBeside(fmt::format("devices/{}/{}", interconnect, devices),
                     {on(devices), on(8), "eight/many", 1 / 1.5});
  }
  constexpr double kGnmtOps = 59'624, kGnmtGoalSeconds = 8e-3;
  Register("engine/native/fifo/gnmt8_unfused",
           {"gnmt(layers=8,granularity=unfused)", "k80(gpus=7)", "native", "fifo"},
           kGnmtOps / kGnmtGoalSeconds);
}

void RegisterScalingBenchmarks() {
  for (const Rules& rules : kRules) {
    for (const int ops : {1'000, 3'000, 10'000, 30'000, 100'000, 1'000'000})
      Register(fmt::format("scaling/ops/{}/{}", NameOf(rules), ops), RandomDag(rules, ops, 3, StarName(4)));
    for (const int fan_in : {1, 2, 4, 8, 16, 32})
      Register(fmt::format("scaling/edges/{}/{}", NameOf(rules), fan_in),
               RandomDag(rules, 10'000, fan_in, StarName(4)));
    for (const int devices : {2, 4, 8, 16, 32, 64})
      Register(fmt::format("scaling/devices/{}/{}", NameOf(rules), devices),
               RandomDag(rules, 10'000, 3, StarName(devices)));
  }
}

}  // namespace stowplan::bench
