#include <algorithm>

#include <fmt/format.h>

#include "output/console.h"
#include "problem/explain/memory_parts.h"
#include "problem/explain/report.h"
#include "problem/explain/rules_text.h"
#include "problem/explain/study.h"

namespace stowplan::problem {
namespace {

constexpr std::size_t kTopTypes = 8;
constexpr int kBarWidth = 20;

std::string Part(sim::Picos time, const Study& study) {
  const double share =
      static_cast<double>(time) / static_cast<double>(std::max<sim::Picos>(study.outcome.runtime, 1));
  return output::Bar(share, kBarWidth);
}

std::string HeadText(const Study& study) {
  const sim::Problem& problem = study.problem;
  std::string text =
      output::Wrapped(fmt::format("{} on {} ({}): {}", problem.graph().name, problem.cluster().name,
                                  RulesText(problem.cluster()), VerdictText(study.outcome, problem)),
                      0, output::kLineWidth);
  if (study.bound.nothing_fits) {
    text += "It is proven that no placement fits.\n";
  } else if (const auto gap = study.gap(); gap && *gap > 1.005) {
    text += output::Wrapped(
        fmt::format("No placement takes less than {} (proven), so this one takes at most {:.2f} "
                    "times as long as the best.",
                    output::TimeText(study.bound.best()), *gap),
        0, output::kLineWidth);
  } else if (gap) {
    text += "It is proven that no placement is faster by more than 0.5 %.\n";
  }
  text += output::Wrapped(HostText(problem), 0, output::kLineWidth);
  const Bottleneck most = FindBottleneck(study.path);
  return text + fmt::format("Most of the critical path is {}: {}.\n", BottleneckText(most, problem.cluster()),
                            ShareText(most.time, study));
}

std::string PathText(const Study& study) {
  output::TextTable table("lrrl", {"critical path", "takes", "share", ""});
  for (const auto& [what, time] : PathParts(study))
    table.AddRow(
        {output::Shortened(what), output::TimeText(time), ShareText(time, study), Part(time, study)});
  return table.empty() ? "" : "\n" + table.ToString();
}

std::string TypesText(const Study& study) {
  output::TextTable table("lrrl", {"its ops by type", "take", "share", ""});
  sim::Picos rest = 0;
  for (std::size_t i = 0; i < study.path.types.size(); ++i) {
    const auto& [type, time] = study.path.types[i];
    if (i < kTopTypes) {
      table.AddRow(
          {output::Shortened(type), output::TimeText(time), ShareText(time, study), Part(time, study)});
    } else {
      rest += time;
    }
  }
  if (rest > 0) table.AddRow({"others", output::TimeText(rest), ShareText(rest, study), Part(rest, study)});
  return table.empty() ? "" : "\n" + table.ToString();
}

std::string WhatIfsText(const Study& study) {
  output::TextTable table("lrrl", {"what if", "takes", "saves", ""});
  bool slower = false;
  for (const sim::WhatIf& what_if : study.what_ifs) {
    if (!HasEffect(what_if, study)) continue;
    const double gain = study.Gain(what_if);
    slower = slower || gain < 0;
    std::string verdict;
    if (what_if.feasible != study.outcome.feasible()) verdict = what_if.feasible ? " fits" : " does not fit";
    table.AddRow({output::Shortened(WhatIfText(what_if, study)), output::TimeText(what_if.runtime),
                  fmt::format("{:.1f} %{}", 100 * gain, gain < 0 ? "*" : ""),
                  output::Bar(gain, kBarWidth) + verdict});
  }
  std::string text = table.empty() ? "" : "\n" + table.ToString();
  text += output::Wrapped(WithoutEffect(study), 0, output::kLineWidth);
  if (slower) text += output::Wrapped(kSlower, 0, output::kLineWidth);
  return text;
}

std::string DevicesText(const Study& study) {
  output::TextTable table("lrrrrrrr",
                          {"device", "busy", "peak", "of", "persistent", "outputs", "copies", "at"});
  const std::vector<MemoryParts> peaks = MemoryAtPeak(study.problem.graph(), study.why);
  const auto bytes = [](sim::Bytes count) {
    return count == 0 ? "-" : output::BytesText(static_cast<double>(count));
  };
  for (std::size_t d = 0; d < peaks.size(); ++d) {
    const sim::DeviceUse& use = study.outcome.devices[d];
    const sim::Device& device = study.problem.cluster().devices[d];
    table.AddRow({device.name, ShareText(use.busy, study), bytes(use.peak), bytes(device.capacity()),
                  bytes(peaks[d].persistent()), bytes(peaks[d].outputs()), bytes(peaks[d].copies),
                  use.peak == 0 ? "-" : output::TimeText(study.why.peak_time[d])});
  }
  return "\n" + table.ToString();
}

std::string BoundText(const Study& study) {
  const agents::LowerBound& bound = study.bound;
  std::string text = fmt::format("Proven lower bounds: critical path {}, work {}",
                                 output::TimeText(bound.critical_path), output::TimeText(bound.work));
  if (bound.window > 0) text += fmt::format(", in a window {}", output::TimeText(bound.window));
  if (bound.memory > 0) text += fmt::format(", with memory {}", output::TimeText(bound.memory));
  return "\n" + output::Wrapped(text + ".", 0, output::kLineWidth);
}

}  // namespace

std::string PrintStudy(const Study& study) {
  return HeadText(study) + PathText(study) + TypesText(study) + WhatIfsText(study) + DevicesText(study) +
         BoundText(study);
}

}  // namespace stowplan::problem
