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

constexpr std::size_t kRivalColumns = 20;

class Chooser {
 public:
  Chooser(const Task& task, const agents::Evaluator& evaluator, const std::atomic<bool>* stop,
          const std::function<bool(const UnitPlacement&)>& allowed)
      : task_(task), stop_(stop), allowed_(allowed), plainest_(evaluator.plainest()) {}

  Advice Run() {
    Advice advice;
    if (!stopped()) advice.rivals = SimplestRivals(task_);
    if (!plainest_.kept().empty()) Choose(advice);
    return advice;
  }

 private:
  void Choose(Advice& advice) {
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
  }

  bool stopped() const { return stop_ != nullptr && *stop_; }

  bool Offer(const Rival& one) {
    if (!one.fits || !plainest_.Wants(one.runtime) || (allowed_ && !allowed_(one.placement))) return false;
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

  // Takes devices away as long as that costs next to nothing, the one with the least to do first: each unit of it goes where it
  // exchanges most, or all go where all of them do.
  void Empty(const FittingPlacement& from) {
    UnitPlacement placement = from.placement;
    for (bool emptied = true; emptied;) {
      emptied = false;
      for (const auto& [work, device] : ByWork(placement)) {
        const DeviceIndex to = MostOf(ExchangedBy(placement, device));
        if (to < 0) continue;
        UnitPlacement apart = Apart(placement, device, to), together = placement;
        std::ranges::replace(together, device, to);
        for (UnitPlacement* without : {&apart, &together}) {
          if (emptied || !Try(*without)) continue;
          placement = std::move(*without);
          emptied = true;
        }
        if (emptied) break;
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

  using Exchanged = std::map<DeviceIndex, sim::Bytes>;

  // -1 = there is none.
  static DeviceIndex MostOf(const Exchanged& exchanged) {
    const auto most = std::ranges::max_element(exchanged, {}, [](const auto& other) { return other.second; });
    return most == exchanged.end() ? -1 : most->first;
  }

  // By the device's units with those of others. `of_unit`: the same of each unit; may be null.
  Exchanged ExchangedBy(const UnitPlacement& placement, DeviceIndex device,
                        std::map<agents::UnitIndex, Exchanged>* of_unit = nullptr) const {
    Exchanged all;
    for (const agents::UnitEdge& edge : task_.edges) {
      const DeviceIndex from = placement[static_cast<std::size_t>(edge.from)];
      const DeviceIndex to = placement[static_cast<std::size_t>(edge.to)];
      if (from == to || (from != device && to != device)) continue;
      const DeviceIndex other = from == device ? to : from;
      all[other] += edge.bytes;
      if (of_unit != nullptr) (*of_unit)[from == device ? edge.from : edge.to][other] += edge.bytes;
    }
    return all;
  }

  // `rest`: where units go that exchange nothing with other devices.
  UnitPlacement Apart(const UnitPlacement& placement, DeviceIndex device, DeviceIndex rest) const {
    std::map<agents::UnitIndex, Exchanged> of_unit;
    ExchangedBy(placement, device, &of_unit);
    UnitPlacement without = placement;
    std::ranges::replace(without, device, rest);
    for (const auto& [unit, exchanged] : of_unit) without[static_cast<std::size_t>(unit)] = MostOf(exchanged);
    return without;
  }

  const Task& task_;
  const std::atomic<bool>* stop_;
  const std::function<bool(const UnitPlacement&)>& allowed_;
  agents::PlainestPlacements plainest_;
};

// The largest peak, and "99 % of gpu0": of the device that is fullest.
std::pair<std::string, std::string> PeakTexts(const Rival& rival, const Task& task) {
  std::size_t fullest = 0;
  double most = -1;
  for (std::size_t d = 0; d < rival.peak.size(); ++d) {
    const auto capacity = static_cast<double>(task.device(static_cast<DeviceIndex>(d)).capacity());
    const double full = static_cast<double>(rival.peak[d]) / std::max(capacity, 1.0);
    if (full > most) {
      most = full;
      fullest = d;
    }
  }
  return {output::BytesText(static_cast<double>(rival.peak[fullest])),
          fmt::format("{:.0f} % of {}", 100 * most,
                      output::Shortened(task.device(static_cast<DeviceIndex>(fullest)).name, 12))};
}

std::string AgainstText(sim::Picos runtime, sim::Picos chosen) {
  const double more = static_cast<double>(runtime) / static_cast<double>(std::max<sim::Picos>(chosen, 1)) - 1;
  if (more >= 1) return fmt::format("{:.3g} times", more + 1);
  return fmt::format("{:+.1f} %", 100 * more);
}

}  // namespace

Advice Advise(const Task& task, const agents::Evaluator& evaluator, const std::atomic<bool>* stop,
              const std::function<bool(const UnitPlacement&)>& allowed) {
  Advice advice = Chooser(task, evaluator, stop, allowed).Run();
  if (advice.chosen.placement.empty()) {
    const Rival best = Simulated(task, "", evaluator.best());
    advice.chosen = advice.fastest = {best.placement, best.runtime, best.plainness};
  }
  return advice;
}

std::string PrintRivals(const std::vector<Rival>& rivals, const Task& task, sim::Picos chosen) {
  output::TextTable table("lrrrrl", {"simplest rivals", "a step", "", "devices", "peak", "fullest"});
  for (const Rival& rival : rivals) {
    const auto [peak, fullest] = PeakTexts(rival, task);
    table.AddRow({output::Shortened(rival.name, kRivalColumns),
                  rival.fits ? output::TimeText(rival.runtime) : "does not fit",
                  rival.fits && chosen > 0 ? AgainstText(rival.runtime, chosen) : "",
                  std::to_string(rival.plainness.devices), peak, fullest});
  }
  return table.empty() ? "" : table.ToString();
}

std::string PrintAdvice(const Advice& advice, const Task& task) {
  std::string text;
  if (advice.fastest.runtime < advice.chosen.runtime) {
    const double more = static_cast<double>(advice.chosen.runtime) /
                            static_cast<double>(std::max<sim::Picos>(advice.fastest.runtime, 1)) -
                        1;
    text = output::Wrapped(
        fmt::format(
            "The fastest found takes {}, on {} device{}. This one{} is plainer for {:.2g} % more time; "
            "--within 0 takes the fastest.",
            output::TimeText(advice.fastest.runtime), advice.fastest.plainness.devices,
            advice.fastest.plainness.devices == 1 ? "" : "s",
            advice.name.empty() ? "" : ", " + advice.name + ",", 100 * more),
        0, output::kLineWidth);
  }
  const std::string rivals = PrintRivals(advice.rivals, task, advice.chosen.runtime);
  return text + (text.empty() || rivals.empty() ? "" : "\n") + rivals;
}

}  // namespace stowplan::problem
