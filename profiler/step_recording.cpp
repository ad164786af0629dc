#include "profiler/step_recording.h"

#include <algorithm>
#include <chrono>
#include <set>

#include <fmt/format.h>

#include "profiler/statistics.h"
#include "sim/base/error.h"
#include "sim/base/statistics.h"

namespace stowplan::profiler {

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int TracedPlacement(const StepRecording& recording) {
  for (std::size_t i = 0; i < recording.placements.size(); ++i)
    if (recording.placements[i].traced) return static_cast<int>(i);
  return -1;
}

MeasuredPlacement MeasurePlacement(Executor& executor, const sim::OpGraph& graph,
                                   const FamilyPlacement& which, const StepPlan& plan) {
  MeasuredPlacement made{.family = which.family, .placement = which.placement};
  const auto out_of_memory = [&made](const std::vector<ExecutedStep>& steps) {
    if (!steps.back().oom) return false;
    made.oom = steps.back().oom;
    made.exhausted = steps.back().exhausted;
    made.peak_bytes = made.least_peak_bytes = made.most_peak_bytes = steps.back().peak;
    made.run = static_cast<int>(steps.size());
    return true;
  };
  const auto checked =
      executor.Run(which.placement, {.warm_up = 0, .steps = 1, .at_most = 1, .checked = true});
  if (out_of_memory(checked)) return made;
  if (checked.back().not_finite >= 0)
    throw RunError(fmt::format("op {} wrote a number that is not finite",
                               graph.ops[static_cast<std::size_t>(checked.back().not_finite)].name));
  int possible = plan.at_most;
  if (plan.seconds > 0) {  // one step tells how many there is time for
    const auto first = executor.Run(which.placement, {.warm_up = 2, .steps = 1, .at_most = 1});
    if (out_of_memory(first)) return made;
    const double seconds = static_cast<double>(first.back().ns) * 1e-9;
    possible = std::max(kFewSteps, static_cast<int>(plan.seconds / std::max(seconds, 1e-6)));
  }
  const auto steps = executor.Run(which.placement, {.warm_up = plan.warm_up,
                                                    .steps = std::min(plan.steps, possible),
                                                    .at_most = std::min(plan.at_most, possible),
                                                    .pause_us = plan.pause_us,
                                                    .pace = plan.pace});
  if (out_of_memory(steps)) return made;
  Summarise(steps, plan.steps, &made);
  if (plan.traced > 0) made.traced = TraceStep(executor, which.placement, plan);
  return made;
}

std::optional<ExecutedStep> TraceStep(Executor& executor, const sim::Placement& placement,
                                      const StepPlan& plan) {
  auto traced = executor.Run(placement, {.warm_up = plan.warm_up,
                                         .steps = plan.traced,
                                         .at_most = 3 * plan.traced,
                                         .pause_us = plan.pause_us,
                                         .pace = plan.pace,
                                         .traced = true});
  if (traced.back().oom) return std::nullopt;
  return MiddleStep(std::move(traced));
}

void Summarise(const std::vector<ExecutedStep>& steps, int wanted, MeasuredPlacement* into) {
  constexpr double kMicro = 1e-3;  // [us/ns]
  std::vector<double> all;
  std::vector<std::vector<double>> peaks(steps.back().peak.size());
  const bool none =
      std::all_of(steps.begin(), steps.end(), [](const ExecutedStep& step) { return step.disturbed; });
  for (const ExecutedStep& step : steps) {
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

ExecutedStep MiddleStep(std::vector<ExecutedStep> steps) {
  const auto disturbed = [](const ExecutedStep& step) { return step.disturbed; };
  if (!std::all_of(steps.begin(), steps.end(), disturbed)) std::erase_if(steps, disturbed);
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end(),
                   [](const ExecutedStep& a, const ExecutedStep& b) { return a.ns < b.ns; });
  return std::move(*middle);
}

std::vector<std::string> TypesOf(const sim::OpGraph& graph, const std::vector<sim::OpIndex>& ops) {
  std::set<std::string> types;
  for (const sim::OpIndex op : ops) types.insert(graph.ops[static_cast<std::size_t>(op)].type);
  return {types.begin(), types.end()};
}

}  // namespace stowplan::profiler
