#include "cli/place/memory_need.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "agents/agent.h"
#include "agents/bounds/bounds.h"
#include "output/console.h"
#include "sim/base/spec.h"

namespace stowplan::cli {
namespace {

constexpr double kPrecision = 0.05;

// Whether it is proven that nothing fits where those devices have so much.
bool ProvenTooLittle(const agents::Task& task, const std::vector<sim::DeviceIndex>& devices,
                     sim::Bytes capacity) {
  sim::Cluster cluster = task.problem->cluster();
  for (const sim::DeviceIndex device : devices) {
    sim::Device& raised = cluster.devices[static_cast<std::size_t>(device)];
    raised.memory = std::max(raised.memory, capacity + raised.reserve);
  }
  const sim::Problem problem(task.problem->graph(), cluster, task.problem->costs(),
                             task.problem->collective_prices());
  return agents::ComputeLowerBound(problem, task.devices).nothing_fits;
}

std::string JoinDevices(const std::vector<sim::DeviceIndex>& devices, const sim::Cluster& cluster) {
  std::vector<std::string> names;
  for (const sim::DeviceIndex device : devices)
    names.push_back(cluster.devices[static_cast<std::size_t>(device)].name);
  return JoinNames(names);
}

}  // namespace

std::int64_t NeedSamples(const sim::OpGraph& graph) {
  constexpr std::int64_t kSampledOps = 1'000'000, kLeast = 50, kMost = 1000;
  return std::clamp(kSampledOps / graph.size(), kLeast, kMost);
}

std::string NeedAgent(const sim::OpGraph& graph) {
  constexpr std::int64_t kScreenedOps = 40'000'000, kPlan = 40'000;
  return fmt::format("portfolio(plan={})", std::min(kPlan, kScreenedOps / graph.size()));
}

Leanest::Leanest(const agents::Task& task) : task_(task), devices_(agents::Accelerators(task)) {}

void Leanest::See(const agents::UnitPlacement& placement, const agents::Evaluation& evaluation) {
  if (evaluation.stopped) return;
  sim::Bytes most = 0;
  for (std::size_t d = 0; d < evaluation.peak.size(); ++d) {
    const auto device = static_cast<sim::DeviceIndex>(d);
    if (std::ranges::find(devices_, device) != devices_.end()) {
      most = std::max(most, evaluation.peak[d]);
    } else if (evaluation.peak[d] > task_.device(device).capacity()) {
      return;
    }
  }
  if (placement_ && most >= most_) return;
  most_ = most;
  placement_ = placement;
}

MemoryNeed FindMemoryNeed(const agents::Task& task, Leanest seen, std::int64_t samples,
                          const agents::SearchOptions& options, const std::atomic<bool>* stop,
                          std::function<void(std::int64_t)> on_sample) {
  const auto stopped = [&] { return stop != nullptr && *stop; };
  MemoryNeed need;
  need.devices = seen.devices();
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
  if (ProvenTooLittle(task, need.devices, everything)) {
    need.too_little = everything;
    need.never = true;
    return need;
  }
  if (samples > 0) {
    agents::Evaluator::Options limits;
    limits.budget = samples;
    limits.threads = options.threads;
    limits.stop = stop;
    if (on_sample) limits.on_sample = [&](const agents::Evaluator& now) { on_sample(now.samples()); };
    agents::Evaluator evaluator(task, limits);
    evaluator.observer = [&](std::int64_t, const agents::UnitPlacement& placement,
                             const agents::Evaluation& evaluation) { seen.See(placement, evaluation); };
    agents::MakeAgent(NeedAgent(task.problem->graph()))
        ->Search(task, evaluator, {.seed = options.seed, .threads = options.threads});
  }
  sim::Bytes open = everything;  // not proven to be too little
  if (seen.placement()) {
    need.placement = agents::Expand(task, *seen.placement());
    const sim::Outcome outcome = sim::MakeSimulator(*task.problem)->Run(need.placement);
    need.fits = outcome.feasible();
    for (const sim::DeviceIndex device : need.devices) {
      const sim::Bytes peak = outcome.devices[static_cast<std::size_t>(device)].peak;
      need.enough = std::max(need.enough, peak);
      if (const sim::Bytes capacity = task.device(device).capacity(); peak > capacity)
        need.shortage.push_back({device, peak - capacity});
    }
    open = need.enough;
  }
  if (ProvenTooLittle(task, need.devices, smallest)) {
    need.too_little = smallest;
    while (static_cast<double>(open - need.too_little) > kPrecision * static_cast<double>(open) &&
           !stopped()) {
      const sim::Bytes middle = need.too_little + (open - need.too_little) / 2;
      (ProvenTooLittle(task, need.devices, middle) ? need.too_little : open) = middle;
    }
  }
  need.stopped = stopped();
  return need;
}

std::string MemoryNeedText(const MemoryNeed& need, const sim::Cluster& cluster) {
  const std::string devices = JoinDevices(need.devices, cluster);
  if (need.enough == 0) {
    if (need.never) return fmt::format("No memory of {} would be enough.", devices);
    return fmt::format("No memory of {} was found that is enough{}.", devices,
                       need.stopped ? " before this was interrupted" : "");
  }
  // A framework reserves more of a larger GPU, so what is needed is said beside it.
  const bool reserved = std::ranges::any_of(need.devices, [&](sim::DeviceIndex device) {
    return cluster.devices[static_cast<std::size_t>(device)].reserve > 0;
  });
  std::string text = fmt::format(
      "It fits with {} on {}{}{}", output::BytesText(static_cast<double>(need.enough)),
      need.devices.size() > 1 ? "each of " : "", devices, reserved ? ", beside what is reserved" : "");
  for (std::size_t i = 0; i < need.shortage.size(); ++i) {
    text += i == 0 ? ": " : ", ";
    text +=
        fmt::format("{} is {} short", cluster.devices[static_cast<std::size_t>(need.shortage[i].device)].name,
                    output::BytesText(static_cast<double>(need.shortage[i].bytes)));
  }
  text += need.stopped ? " (interrupted: less may do)." : ".";
  if (need.too_little > 0) {
    text += fmt::format(" Below {} nothing fits (proven).",
                        output::BytesText(static_cast<double>(need.too_little)));
  }
  return text;
}

}  // namespace stowplan::cli
