#include "cli/place/place_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/place/device_modules.h"
#include "output/console.h"
#include "problem/explain/memory_parts.h"
#include "problem/explain/report.h"
#include "problem/explain/rules_text.h"

namespace stowplan::cli {
namespace {

constexpr std::size_t kMostModules = 12;

std::string Bytes(sim::Bytes count) {
  return count == 0 ? "-" : output::BytesText(static_cast<double>(count));
}

// How far from the best it can be, and what of the machine is idle.
std::string BoundText(const problem::Study& study) {
  std::string text;
  if (study.bound.nothing_fits) {
    text = "It is proven that no placement fits.";
  } else if (const auto gap = study.gap(); gap && study.outcome.feasible()) {
    text = fmt::format("No placement takes less than {} (proven): at most {:.0f} % can be saved.",
                       output::TimeText(study.bound.best()), 100 * (1 - 1 / *gap));
  }
  sim::Picos busy = 0;
  std::size_t used = 0;
  for (const sim::DeviceUse& use : study.outcome.devices) {
    busy += use.busy;
    used += use.busy > 0 ? 1 : 0;
  }
  if (used > 1 && study.outcome.runtime > 0) {
    text += fmt::format("{}Of {} devices in use {:.1f} are at work on average.", text.empty() ? "" : " ",
                        used, static_cast<double>(busy) / static_cast<double>(study.outcome.runtime));
  }
  return output::Wrapped(text, 0, output::kLineWidth);
}

std::string HeadText(const problem::Study& study) {
  const sim::Problem& problem = study.problem;
  const problem::Bottleneck most = problem::FindBottleneck(study.path);
  return output::Wrapped(
             fmt::format("{} on {} ({}): {} a step.", problem.graph().name, problem.cluster().name,
                         problem::RulesText(problem.cluster()), problem::VerdictText(study.outcome, problem)),
             0, output::kLineWidth) +
         output::Wrapped(fmt::format("What bounds it: {}, {} of the critical path.",
                                     problem::BottleneckText(most, problem.cluster()),
                                     problem::ShareText(most.time, study)),
                         0, output::kLineWidth) +
         BoundText(study);
}

std::string DevicesText(const problem::Study& study) {
  output::TextTable table("lrrrrl", {"device", "ops", "busy", "peak memory", "of", ""});
  for (std::size_t d = 0; d < study.outcome.devices.size(); ++d) {
    const sim::DeviceUse& use = study.outcome.devices[d];
    const sim::Device& device = study.problem.cluster().devices[d];
    const double full =
        device.capacity() > 0 ? static_cast<double>(use.peak) / static_cast<double>(device.capacity()) : 0;
    const auto ops = std::count(study.placement.device.begin(), study.placement.device.end(),
                                static_cast<sim::DeviceIndex>(d));
    table.AddRow({device.name, output::CountText(ops), problem::ShareText(use.busy, study), Bytes(use.peak),
                  Bytes(device.capacity()), fmt::format("{} {:.0f} %", output::Bar(full, 16), 100 * full)});
  }
  return "\n" + table.ToString() +
         output::Wrapped(problem::ReserveText(study.problem.cluster()), 0, output::kLineWidth) +
         output::Wrapped(problem::HostText(study.problem), 0, output::kLineWidth);
}

std::string MemoryText(const problem::Study& study) {
  const std::vector<problem::MemoryParts> parts = problem::MemoryAtPeak(study.problem.graph(), study.why);
  output::TextTable table("lrrrrr",
                          {"at its peak", "weights", "gradients", "optimizer", "activations", "copies"});
  for (std::size_t d = 0; d < parts.size(); ++d) {
    if (study.outcome.devices[d].peak == 0) continue;
    table.AddRow({study.problem.cluster().devices[d].name, Bytes(parts[d].weights), Bytes(parts[d].gradients),
                  Bytes(parts[d].optimizer), Bytes(parts[d].activations), Bytes(parts[d].copies)});
  }
  return table.empty() ? "" : "\n" + table.ToString();
}

std::string ModulesText(const problem::Study& study) {
  const std::vector<std::string> modules = ModulesByDevice(study.problem, study.placement, kMostModules);
  std::string text;
  bool parts = false;
  std::size_t widest = 0;
  for (const sim::Device& device : study.problem.cluster().devices)
    widest = std::max(widest, device.name.size());
  const std::size_t indent = std::min<std::size_t>(widest, 20) + 2;
  for (std::size_t d = 0; d < modules.size(); ++d) {
    if (modules[d].empty()) continue;
    parts = parts || modules[d].find('*') != std::string::npos;
    const std::string& name = study.problem.cluster().devices[d].name;
    std::string lines = output::Wrapped(modules[d], indent, output::kLineWidth);
    lines.replace(0, std::min(name.size(), indent - 2), name.substr(0, indent - 2));
    text += lines;
  }
  if (text.empty()) return "";
  return "\nmodules\n" + text + (parts ? "* in part: other ops of it run elsewhere\n" : "");
}

}  // namespace

std::string PrintPlaceReport(const problem::Study& study) {
  return HeadText(study) + DevicesText(study) + MemoryText(study) + ModulesText(study) + "\n" +
         output::Wrapped(problem::PricesText(study.problem, study.placement), 0, output::kLineWidth);
}

}  // namespace stowplan::cli
