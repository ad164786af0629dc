#include "profiler/step_recording.h"

#include <algorithm>
#include <set>

#include "profiler/statistics.h"

namespace berth::profiler {

int TracedPlacement(const StepRecording& recording) {
  for (std::size_t i = 0; i < recording.placements.size(); ++i)
    if (recording.placements[i].traced) return static_cast<int>(i);
  return -1;
}

void Summarise(const std::vector<Step>& steps, int wanted, MeasuredPlacement* into) {
  constexpr double kMicro = 1e-3;  // [us/ns]
  std::vector<double> all;
  std::vector<std::vector<double>> peaks(steps.back().peak.size());
  const bool none = std::all_of(steps.begin(), steps.end(), [](const Step& step) { return step.disturbed; });
  for (const Step& step : steps) {
    const double us = static_cast<double>(step.ns) * kMicro;
    all.push_back(us);
    if (!step.disturbed) into->steps_us.push_back(us);
    // Where a device is held up, what was sent to it piles up: no peak of the placement.
    for (std::size_t d = 0; d < peaks.size() && (none || !step.disturbed); ++d)
      peaks[d].push_back(static_cast<double>(step.peak[d]));
  }
  for (const auto& of_device : peaks) {
    into->peak_bytes.push_back(static_cast<sim::Bytes>(Quantile(of_device, 0.5)));
    into->least_peak_bytes.push_back(static_cast<sim::Bytes>(Quantile(of_device, 0)));
    into->most_peak_bytes.push_back(static_cast<sim::Bytes>(Quantile(of_device, 1)));
  }
  into->run = static_cast<int>(steps.size());
  into->undisturbed = static_cast<int>(into->steps_us.size());
  if (into->undisturbed < std::min(kFewSteps, wanted)) into->steps_us = all;
}

void MeasureDisturbedAgain(const MeasureAgain& measure, int wanted,
                           std::vector<MeasuredPlacement>* placements) {
  constexpr int kTries = 2;
  const int enough = std::min(kFewSteps, wanted);
  const auto disturbed = [enough](const MeasuredPlacement& p) { return !p.oom && p.undisturbed < enough; };
  if (std::none_of(placements->begin(), placements->end(),
                   [enough](const MeasuredPlacement& p) { return p.undisturbed >= enough; }))
    return;
  for (int i = 0; i < kTries; ++i) {
    for (std::size_t p = 0; p < placements->size(); ++p) {
      MeasuredPlacement& measured = (*placements)[p];
      if (!disturbed(measured)) continue;
      std::optional<MeasuredPlacement> again = measure(p);
      if (!again) return;
      if (again->undisturbed > measured.undisturbed) measured = std::move(*again);
    }
  }
}

Step MiddleStep(std::vector<Step> steps) {
  const auto disturbed = [](const Step& step) { return step.disturbed; };
  if (!std::all_of(steps.begin(), steps.end(), disturbed)) std::erase_if(steps, disturbed);
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end(),
                   [](const Step& a, const Step& b) { return a.ns < b.ns; });
  return std::move(*middle);
}

std::vector<std::string> TypesOf(const sim::OpGraph& graph, const std::vector<sim::OpIndex>& ops) {
  std::set<std::string> types;
  for (const sim::OpIndex op : ops) types.insert(graph.ops[static_cast<std::size_t>(op)].type);
  return {types.begin(), types.end()};
}

}  // namespace berth::profiler
