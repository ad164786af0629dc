// A batch on n threads against n processes of one thread each, which share nothing: what DESIGN 11 measures parallel
// evaluation by. Both run within each iteration, so that what else the machine does hits them alike; the time shown is
// that of the batch.
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

namespace berth::bench {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A pipe whose ends close themselves.
class Pipe {
 public:
  Pipe() {
    if (pipe(ends_.data()) != 0) throw std::runtime_error("a benchmark got no pipe for its processes");
  }
  ~Pipe() {
    CloseReader();
    CloseWriter();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  // Blocks until there is a number, or until all writers are gone: false.
  bool Read(double& number) const { return read(ends_[0], &number, sizeof number) == sizeof number; }
  bool Write(double number) const { return write(ends_[1], &number, sizeof number) == sizeof number; }
  void CloseReader() { Close(ends_[0]); }
  void CloseWriter() { Close(ends_[1]); }

 private:
  static void Close(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }
  std::array<int, 2> ends_{-1, -1};
};

[[noreturn]] void RunAsProcess(const sim::Problem& problem, std::span<const sim::Placement> placements,
                               Pipe& go, Pipe& done) {
  go.CloseWriter();
  sim::BatchSimulator simulator(problem, 1);
  simulator.Run(placements.first(1));
  done.Write(0);
  double ignored = 0;
  go.Read(ignored);
  const Clock::time_point start = Clock::now();
  const auto outcomes = simulator.Run(placements);
  benchmark::DoNotOptimize(outcomes.data());
  done.Write(static_cast<double>(placements.size()) / SecondsSince(start));
  std::_Exit(0);
}

// What `processes` processes reach together when they start at once [placements/s].
double RateOfProcesses(const sim::Problem& problem, std::span<const sim::Placement> placements,
                       int processes) {
  Pipe go, done;
  const std::size_t share = placements.size() / static_cast<std::size_t>(processes);
  for (int i = 0; i < processes; ++i) {
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("a benchmark could not start its processes");
    if (child == 0)
      RunAsProcess(problem, placements.subspan(static_cast<std::size_t>(i) * share, share), go, done);
  }
  done.CloseWriter();
  double rate = 0, number = 0;
  bool all = true;
  for (int i = 0; i < processes; ++i) all = done.Read(number) && all;  // each is warm
  go.CloseWriter();
  for (int i = 0; i < processes; ++i) {
    all = done.Read(number) && all;
    rate += number;
  }
  while (wait(nullptr) > 0) {
  }
  if (!all) throw std::runtime_error("a process of a benchmark ended early");
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
  for (const char* preset : {"placeto", "native"}) {
    for (const int ops : {100, 1'000, 10'000}) {
      for (int threads = 2; threads <= cores; threads *= 2) {
        benchmark::RegisterBenchmark(
            fmt::format("batch/{}/ops:{}/threads:{}", preset, ops, threads).c_str(), Batch,
            SpeedCase{fmt::format("random_dag(ops={})", ops), "placeto(gpus=3)", preset, "fifo"}, threads)
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
}

}  // namespace berth::bench
