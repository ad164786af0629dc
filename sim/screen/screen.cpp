#include "sim/screen/screen.h"

#include <algorithm>
#include <string>
#include <utility>

#include "sim/base/error.h"
#include "sim/base/parallel.h"
#include "sim/screen/pass.h"
#include "sim/screen/plan.h"

namespace stowplan::sim {

struct Screen::Impl {
  ScreenPlan plan;
  std::size_t cluster_devices;
  // By device of the cluster: where the first placement's bit is in a set; 0 = it is none of the screen's.
  struct Bit {
    ScreenPlan::Word first = 0;
    std::size_t word = 0;
  };
  std::vector<Bit> bits;
  int threads;
  std::vector<std::unique_ptr<ScreenState>> states;  // by slot, made by the thread that uses it

  Impl(const Problem& problem, std::span<const std::int32_t> unit_of_op, std::span<const DeviceIndex> devices,
       int the_threads, std::span<const OpIndex> order)
      : plan(problem, unit_of_op, devices, order),
        cluster_devices(problem.cluster().devices.size()),
        bits(cluster_devices),
        threads(ResolveThreads(the_threads)),
        states(static_cast<std::size_t>(threads)) {
    for (std::size_t d = 0; d < plan.devices.size(); ++d) {
      const std::size_t place = d % ScreenPlan::kDevicesOfWord * ScreenPlan::kAbreast;
      bits[static_cast<std::size_t>(plan.devices[d])] = {ScreenPlan::Word{1} << place,
                                                         d / ScreenPlan::kDevicesOfWord};
    }
  }

  static std::size_t Groups(std::size_t placements) {
    return (placements + ScreenPlan::kAbreast - 1) / ScreenPlan::kAbreast;
  }
  Result Empty(std::size_t placements) const {
    return {std::vector<Picos>(placements), std::vector<Bytes>(placements * cluster_devices)};
  }

  void Place(std::span<const std::vector<DeviceIndex>> placements, ScreenState& state) const {
    for (const std::vector<DeviceIndex>& placement : placements)
      STOWPLAN_CHECK_EQ(placement.size(), static_cast<std::size_t>(plan.units));
    std::ranges::fill(state.place, 0);
    bool known = true;
    for (std::size_t unit = 0; unit < static_cast<std::size_t>(plan.units); ++unit) {
      ScreenPlan::Word* const set = state.place.data() + unit * plan.words;
      for (std::size_t i = 0; i < placements.size(); ++i) {
        const Bit& bit = bits[static_cast<std::size_t>(placements[i][unit])];
        set[bit.word] |= bit.first << i;
        known = known && bit.first != 0;
      }
    }
    STOWPLAN_CHECK(known);  // else a placement uses what is none of the screen's devices
  }

  void RunGroup(std::span<const std::vector<DeviceIndex>> placements, std::size_t first, int slot,
                Result& result) {
    std::unique_ptr<ScreenState>& state = states[static_cast<std::size_t>(slot)];
    if (state == nullptr) state = std::make_unique<ScreenState>(plan);
    const std::size_t count = std::min(ScreenPlan::kAbreast, placements.size() - first);
    Place(placements.subspan(first, count), *state);
    ScreenPasses().front().run(plan, *state);
    for (std::size_t i = 0; i < count; ++i) {
      result.runtime[first + i] = state->runtime.of[i];
      for (std::size_t d = 0; d < plan.devices.size(); ++d)
        result.peak[(first + i) * cluster_devices + static_cast<std::size_t>(plan.devices[d])] =
            state->peak[d].of[i];
    }
  }
};

void Screen::Require(const Problem& problem, std::size_t devices) {
  if (devices > kMostDevices) {
    throw InputError("a screen takes at most " + std::to_string(kMostDevices) + " devices, cluster " +
                     problem.cluster().name + " gives it " + std::to_string(devices));
  }
  if (!problem.graph().collectives().empty())
    throw InputError("a screen knows no collectives, and graph " + problem.graph().name + " has some");
}

Screen::Screen(const Problem& problem, std::span<const std::int32_t> unit_of_op,
               std::span<const DeviceIndex> devices, int threads, std::span<const OpIndex> order) {
  Require(problem, devices.size());
  impl_ = std::make_unique<Impl>(problem, unit_of_op, devices, threads, order);
}
Screen::~Screen() = default;
Screen::Screen(Screen&&) noexcept = default;
Screen& Screen::operator=(Screen&&) noexcept = default;

Screen::Result Screen::Run(std::span<const std::vector<DeviceIndex>> placements) {
  Result result = impl_->Empty(placements.size());
  ParallelFor(Impl::Groups(placements.size()), impl_->threads, [&](std::size_t group, int slot) {
    impl_->RunGroup(placements, group * ScreenPlan::kAbreast, slot, result);
  });
  return result;
}

Screen::Result Screen::RunOn(int slot, std::span<const std::vector<DeviceIndex>> placements) {
  Result result = impl_->Empty(placements.size());
  for (std::size_t group = 0; group < Impl::Groups(placements.size()); ++group)
    impl_->RunGroup(placements, group * ScreenPlan::kAbreast, slot, result);
  return result;
}

}  // namespace stowplan::sim
