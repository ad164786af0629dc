#include "bench/place/memory_need.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "agents/agent.h"
#include "agents/bounds.h"
#include "bench/console.h"
#include "sim/spec.h"

namespace berth::bench {
namespace {

constexpr double kPrecision = 0.05;

// The task on the same cluster with other memory.
class RaisedMemory {
 public:
  RaisedMemory(const agents::Task& task, const std::vector<sim::DeviceIndex>& devices, sim::Bytes capacity)
      : cluster_(task.problem->cluster()) {
    std::vector<std::string> names;
    for (const sim::DeviceIndex device : task.devices) names.push_back(task.device(device).name);
    for (const sim::DeviceIndex device : devices) {
      sim::Device& raised = cluster_.devices[static_cast<std::size_t>(device)];
      raised.memory = std::max(raised.memory, capacity + raised.reserve);
    }
    problem_ = std::make_unique<sim::Problem>(task.problem->graph(), cluster_, task.problem->costs());
    task_ = agents::MakeTask(*problem_, task.units.grouper, names);
  }

  bool ProvenTooLittle() const { return agents::ComputeLowerBound(*problem_, task_.devices).nothing_fits; }

  std::optional<sim::Placement> Place(std::int64_t samples, int threads,
                                      const std::atomic<bool>* stop) const {
    agents::Evaluator::Options limits;
    limits.budget = samples;
    limits.threads = threads;
    limits.stop = stop;
    agents::Evaluator evaluator(task_, limits);
    agents::SearchOptions options;
    options.threads = threads;
    agents::MakeAgent("portfolio")->Search(task_, evaluator, options);
    if (!evaluator.has_best()) return std::nullopt;
    return agents::Expand(task_, evaluator.best());
  }

  // By device.
  std::vector<sim::DeviceUse> Uses(const sim::Placement& placement) const {
    return sim::MakeSimulator(*problem_)->Run(placement).devices;
  }

 private:
  sim::Cluster cluster_;
  std::unique_ptr<sim::Problem> problem_;
  agents::Task task_;
};

// Halves (low, high] until it is narrow; `holds` of a size, then of all above it.
template <typename Holds>
sim::Bytes Smallest(sim::Bytes low, sim::Bytes high, const std::atomic<bool>* stop, const Holds& holds) {
  while (static_cast<double>(high - low) > kPrecision * static_cast<double>(high)) {
    if (stop != nullptr && *stop) break;
    const sim::Bytes middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

std::string JoinDevices(const std::vector<sim::DeviceIndex>& devices, const sim::Cluster& cluster) {
  std::vector<std::string> names;
  for (const sim::DeviceIndex device : devices)
    names.push_back(cluster.devices[static_cast<std::size_t>(device)].name);
  return JoinNames(names);
}

}  // namespace

MemoryNeed FindMemoryNeed(const agents::Task& task, std::int64_t samples, int threads,
                          const std::atomic<bool>* stop) {
  const sim::Cluster& cluster = task.problem->cluster();
  MemoryNeed need;
  need.devices = agents::Accelerators(task);
  sim::Bytes smallest = std::numeric_limits<sim::Bytes>::max();
  for (const sim::DeviceIndex device : need.devices)
    smallest = std::min(smallest, task.device(device).capacity());

  // Everything that there is at once is enough, if anything is.
  const auto totals = task.problem->graph().totals();
  sim::Bytes workspace = 0;
  for (const sim::Op& op : task.problem->graph().ops) workspace = std::max(workspace, op.workspace_bytes);
  const sim::Bytes everything =
      std::max(smallest, 2 * (totals.persistent_bytes + totals.output_bytes) + workspace +
                             1024 * static_cast<sim::Bytes>(task.problem->graph().size()));
  if (RaisedMemory(task, need.devices, everything).ProvenTooLittle()) {
    need.too_little = everything;
    need.never = true;
    return need;
  }
  if (RaisedMemory(task, need.devices, smallest).ProvenTooLittle()) {
    need.too_little = smallest;
    const sim::Bytes open = Smallest(smallest, everything, stop, [&](sim::Bytes capacity) {
      const bool nothing = RaisedMemory(task, need.devices, capacity).ProvenTooLittle();
      if (nothing) need.too_little = std::max(need.too_little, capacity);
      return !nothing;
    });
    smallest = std::min(open, everything);
  }
  std::optional<sim::Placement> found;
  Smallest(std::max(need.too_little, smallest / 2), everything, stop, [&](sim::Bytes capacity) {
    const auto placement = RaisedMemory(task, need.devices, capacity).Place(samples, threads, stop);
    if (placement) {
      found = placement;
      need.enough = capacity;
    }
    return placement.has_value();
  });
  need.stopped = stop != nullptr && *stop;
  if (!found) return need;
  const std::vector<sim::DeviceUse> uses = RaisedMemory(task, need.devices, need.enough).Uses(*found);
  // What it takes, not what it was given.
  sim::Bytes most = 0;
  for (const sim::DeviceIndex device : need.devices) {
    const sim::Bytes peak = uses[static_cast<std::size_t>(device)].peak;
    most = std::max(most, peak);
    if (const sim::Bytes capacity = cluster.devices[static_cast<std::size_t>(device)].capacity();
        peak > capacity)
      need.shortage.push_back({device, peak - capacity});
  }
  need.enough = most;
  need.placement = std::move(*found);
  return need;
}

std::string MemoryNeedText(const MemoryNeed& need, const sim::Cluster& cluster) {
  const std::string devices = JoinDevices(need.devices, cluster);
  if (need.enough == 0) {
    if (need.never) return fmt::format("No memory of {} would be enough.", devices);
    return fmt::format("No memory of {} was found that is enough{}.", devices,
                       need.stopped ? " before this was interrupted" : "");
  }
  const auto reserve = [&](sim::DeviceIndex device) {
    return cluster.devices[static_cast<std::size_t>(device)].reserve;
  };
  sim::Bytes kept = 0;
  for (const sim::DeviceIndex device : need.devices) kept = std::max(kept, reserve(device));
  std::string text =
      fmt::format("It fits with {} on {}{}", BytesText(static_cast<double>(need.enough + kept)),
                  need.devices.size() > 1 ? "each of " : "", devices);
  if (kept > 0) text += fmt::format(" ({} of it reserved)", BytesText(static_cast<double>(kept)));
  for (std::size_t i = 0; i < need.shortage.size(); ++i) {
    text += i == 0 ? ": " : ", ";
    text +=
        fmt::format("{} is {} short", cluster.devices[static_cast<std::size_t>(need.shortage[i].device)].name,
                    BytesText(static_cast<double>(need.shortage[i].bytes)));
  }
  text += need.stopped ? " (interrupted: less may do)." : ".";
  if (need.too_little > 0) {
    text += fmt::format(" Below {} nothing fits (proven).",
                        BytesText(static_cast<double>(need.too_little + kept)));
  }
  return text;
}

}  // namespace berth::bench
