#include "bench/move_speed.h"

#include <algorithm>
#include <chrono>

#include "agents/placements.h"
#include "agents/random.h"
#include "agents/task.h"
#include "sim/error.h"
#include "sim/incremental.h"

namespace berth::bench {
namespace {

double MicrosOf(const auto& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

double Quantile(std::vector<double> values, double share) {
  const auto nth =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

bool Same(const sim::Outcome& a, const sim::Outcome& b) {
  return a.runtime == b.runtime && a.feasible() == b.feasible() &&
         std::equal(a.devices.begin(), a.devices.end(), b.devices.begin(),
                    [](const auto& x, const auto& y) { return x.busy == y.busy && x.peak == y.peak; });
}

}  // namespace

std::vector<MoveSpeed> MeasureMoves(const LoadedProblem& loaded, std::int64_t bases, std::int64_t moves,
                                    std::uint64_t seed) {
  agents::Task task = agents::MakeTask(loaded.problem(), "colocation");
  task.devices = agents::Accelerators(task);
  if (task.devices.size() < 2 || task.units.size() == 0) {
    throw InputError("--moves: there must be an op and two devices to move it between.");
  }
  const auto incremental = sim::MakeIncrementalSimulator(loaded.problem());
  const auto simulator = sim::MakeSimulator(loaded.problem());
  std::vector<MoveSpeed> speeds;
  for (const char* kind : {"blocks", "random"}) {
    agents::Rng rng(seed, kind);
    std::vector<double> base_us, scratch_us, incremental_us, ratios;
    for (std::int64_t b = 0; b < bases; ++b) {
      const agents::UnitPlacement units = kind == std::string_view("blocks")
                                              ? agents::BlockPlacement(task, rng)
                                              : agents::UniformPlacement(task, rng);
      const sim::Placement base = agents::Expand(task, units);
      base_us.push_back(MicrosOf([&] { incremental->Base(base); }));
      for (std::int64_t m = 0; m < moves; ++m) {
        const auto unit = static_cast<std::size_t>(rng.Below(units.size()));
        sim::DeviceIndex device = rng.Pick(task.devices);
        while (device == units[unit]) device = rng.Pick(task.devices);
        sim::Placement moved = base;
        std::vector<sim::Move> set;
        for (const sim::OpIndex op : task.units.ops[unit]) {
          moved.device[static_cast<std::size_t>(op)] = device;
          set.push_back({op, device});
        }
        const sim::Outcome* from_scratch = nullptr;
        const sim::Outcome* tried = nullptr;
        const auto run = [&] {
          scratch_us.push_back(MicrosOf([&] { from_scratch = &simulator->Run(moved); }));
        };
        if (m % 2 == 0) run();
        incremental_us.push_back(MicrosOf([&] { tried = &incremental->RunTrial(set); }));
        if (m % 2 != 0) run();
        BERTH_CHECK(Same(*from_scratch, *tried));
        ratios.push_back(scratch_us.back() / incremental_us.back());
      }
    }
    speeds.push_back({kind, static_cast<std::int64_t>(ratios.size()), Quantile(base_us, 0.5),
                      Quantile(scratch_us, 0.5), Quantile(incremental_us, 0.5), Quantile(ratios, 0.5),
                      Quantile(ratios, 0.1), Quantile(ratios, 0.9)});
  }
  return speeds;
}

}  // namespace berth::bench
