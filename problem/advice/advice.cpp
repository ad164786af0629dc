#include "problem/advice/advice.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "output/console.h"

namespace stowplan::problem {
namespace {

using agents::FittingPlacement;
using agents::Task;
using agents::UnitPlacement;
using sim::DeviceIndex;

class Chooser {
 public:
  Chooser(const Task& task, const agents::Evaluator& evaluator, const std::atomic<bool>* stop)
      : task_(task), stop_(stop), plainest_(evaluator.plainest()) {}

  Advice Run() {
    Advice advice;
    advice.rivals = SimplestRivals(task_);
    const UnitPlacement winner = plainest_.kept().back().placement;
    for (const Rival& rival : advice.rivals) Offer(rival);
    TryOneDevice(winner);
    Empty(plainest_.kept().front());
    for (int parts = 2; parts <= plainest_.kept().front().plainness.devices; ++parts) {
      const auto accelerators = static_cast<std::size_t>(parts);
      if (accelerators < agents::Accelerators(task_).size()) Try(EvenSplit(task_, accelerators));
    }
    advice.chosen = plainest_.kept().front();
    advice.fastest = plainest_.kept().back();
    for (const Rival& rival : advice.rivals) {
      if (rival.placement == advice.chosen.placement) advice.name = rival.name;
    }
    return advice;
  }

 private:
  bool stopped() const { return stop_ != nullptr && *stop_; }

  bool Offer(const Rival& one) {
    if (!one.fits || !plainest_.Wants(one.runtime)) return false;
    plainest_.Offer({one.placement, one.runtime, one.plainness});
    return true;
  }

  bool Try(UnitPlacement placement) {
    return !placement.empty() && !stopped() && Offer(Simulated(task_, "", std::move(placement)));
  }

  void TryOneDevice(const UnitPlacement& winner) {
    std::set<std::tuple<std::string, sim::Bytes>> seen;
    for (const DeviceIndex device : std::set<DeviceIndex>(winner.begin(), winner.end())) {
      const sim::Device& what = task_.device(device);
      if (seen.emplace(what.kind, what.capacity()).second) Try(UnitPlacement(task_.units.ops.size(), device));
    }
  }

  // Takes devices away as long as that costs next to nothing, the one with the least to do first.
  void Empty(const FittingPlacement& from) {
    UnitPlacement placement = from.placement;
    for (bool emptied = true; emptied;) {
      emptied = false;
      for (const auto& [work, device] : ByWork(placement)) {
        const DeviceIndex to = MostExchanged(placement, device);
        if (to < 0) continue;
        UnitPlacement without = placement;
        std::ranges::replace(without, device, to);
        if (!Try(without)) continue;
        placement = std::move(without);
        emptied = true;
        break;
      }
    }
  }

  std::vector<std::pair<sim::Picos, DeviceIndex>> ByWork(const UnitPlacement& placement) const {
    std::map<DeviceIndex, sim::Picos> work;
    for (std::size_t unit = 0; unit < placement.size(); ++unit)
      work[placement[unit]] += task_.unit_cost(static_cast<agents::UnitIndex>(unit), placement[unit]);
    std::vector<std::pair<sim::Picos, DeviceIndex>> order;
    for (const auto& [device, time] : work) order.emplace_back(time, device);
    std::sort(order.begin(), order.end());
    return order;
  }

  // -1 = there is no other.
  DeviceIndex MostExchanged(const UnitPlacement& placement, DeviceIndex device) const {
    std::map<DeviceIndex, sim::Bytes> exchanged;
    for (const agents::UnitEdge& edge : task_.edges) {
      const DeviceIndex from = placement[static_cast<std::size_t>(edge.from)];
      const DeviceIndex to = placement[static_cast<std::size_t>(edge.to)];
      if (from != to && (from == device || to == device)) exchanged[from == device ? to : from] += edge.bytes;
    }
    const auto most = std::ranges::max_element(exchanged, {}, [](const auto& other) { return other.second; });
    return most == exchanged.end() ? -1 : most->first;
  }

  const Task& task_;
  const std::atomic<bool>* stop_;
  agents::PlainestPlacements plainest_;
};

// "15.12 GB of 15.32 GB on gpu0", where most of a device is taken.
std::string PeakText(const Rival& rival, const Task& task) {
  std::size_t fullest = 0;
  double most = -1;
  for (std::size_t d = 0; d < rival.peak.size(); ++d) {
    const sim::Device& device = task.device(static_cast<DeviceIndex>(d));
    const double full =
        static_cast<double>(rival.peak[d]) / static_cast<double>(std::max<sim::Bytes>(device.capacity(), 1));
    if (full > most) {
      most = full;
      fullest = d;
    }
  }
  const sim::Device& device = task.device(static_cast<DeviceIndex>(fullest));
  return fmt::format("{} of {} on {}", output::BytesText(static_cast<double>(rival.peak[fullest])),
                     output::BytesText(static_cast<double>(device.capacity())),
                     output::Shortened(device.name, 8));
}

std::string AgainstText(sim::Picos runtime, sim::Picos chosen) {
  const double more = static_cast<double>(runtime) / static_cast<double>(std::max<sim::Picos>(chosen, 1)) - 1;
  if (more >= 1) return fmt::format("{:.3g} times", more + 1);
  return fmt::format("{:+.1f} %", 100 * more);
}

}  // namespace

Advice Advise(const Task& task, const agents::Evaluator& evaluator, const std::atomic<bool>* stop) {
  return Chooser(task, evaluator, stop).Run();
}

std::string PrintAdvice(const Advice& advice, const Task& task) {
  std::string text;
  if (advice.fastest.runtime < advice.chosen.runtime) {
    const double more = static_cast<double>(advice.chosen.runtime) /
                            static_cast<double>(std::max<sim::Picos>(advice.fastest.runtime, 1)) -
                        1;
    text = output::Wrapped(
        fmt::format("The fastest found takes {}, on {} device{}. This one is plainer for {:.2g} % more time; "
                    "--within 0 takes the fastest.",
                    output::TimeText(advice.fastest.runtime), advice.fastest.plainness.devices,
                    advice.fastest.plainness.devices == 1 ? "" : "s", 100 * more),
        0, output::kLineWidth);
  }
  output::TextTable table("lrrrl", {"simplest rivals", "a step", "", "devices", "fullest"});
  const auto add = [&](const std::string& name, const Rival& one) {
    table.AddRow({name, one.fits ? output::TimeText(one.runtime) : "does not fit",
                  one.fits ? AgainstText(one.runtime, advice.chosen.runtime) : "",
                  std::to_string(one.plainness.devices), PeakText(one, task)});
  };
  for (const Rival& rival : advice.rivals) add(rival.name, rival);
  return text + (text.empty() ? "" : "\n") + table.ToString();
}

}  // namespace stowplan::problem
