#include "agents/search/screening.h"

#include <algorithm>

namespace stowplan::agents {

Screening::Screening(const Task& task, Evaluator& evaluator, int threads, std::span<const sim::OpIndex> order)
    : task_(task),
      evaluator_(evaluator),
      screen_(*task.problem, task.units.unit_of_op, task.devices, threads, order),
      peak_scale_(task.problem->cluster().devices.size(), 1.0) {}

sim::Bytes Screening::OverflowOf(std::span<const sim::Bytes> peak) const {
  if (task_.problem->cluster().rules == sim::Rules::kPublished) return 0;
  sim::Bytes overflow = 0;
  for (const sim::DeviceIndex d : task_.devices) {
    const auto device = static_cast<std::size_t>(d);
    const auto scaled = static_cast<sim::Bytes>(static_cast<double>(peak[device]) * peak_scale_[device]);
    overflow += std::max<sim::Bytes>(0, scaled - task_.device(d).capacity());
  }
  return overflow;
}

std::vector<Screened> Screening::Of(std::span<const UnitPlacement> placements, std::optional<int> slot) {
  evaluator_.CountScreens(static_cast<std::int64_t>(placements.size()));
  const sim::Screen::Result result = slot ? screen_.RunOn(*slot, placements) : screen_.Run(placements);
  const std::size_t devices = peak_scale_.size();
  std::vector<Screened> screened;
  screened.reserve(placements.size());
  for (std::size_t i = 0; i < placements.size(); ++i) {
    const std::span<const sim::Bytes> peak = std::span(result.peak).subspan(i * devices, devices);
    screened.push_back({{OverflowOf(peak), result.runtime[i]}, {peak.begin(), peak.end()}});
  }
  return screened;
}

std::vector<Candidate> Screening::Candidates(std::vector<UnitPlacement> placements, std::optional<int> slot) {
  std::vector<Screened> screened = Of(placements, slot);
  std::vector<Candidate> candidates;
  candidates.reserve(placements.size());
  for (std::size_t i = 0; i < placements.size(); ++i)
    candidates.push_back({std::move(placements[i]), std::move(screened[i])});
  return candidates;
}

void Screening::CorrectPeaks(const Screened& screened, const std::vector<sim::Bytes>& simulated) {
  constexpr double kForget = 0.05;  // of an old excess with every sample
  for (std::size_t d = 0; d < peak_scale_.size(); ++d) {
    if (screened.peak[d] <= 0) continue;
    const double ratio = static_cast<double>(simulated[d]) / static_cast<double>(screened.peak[d]);
    peak_scale_[d] = std::max(ratio, (1 - kForget) * peak_scale_[d] + kForget * ratio);
  }
}

}  // namespace stowplan::agents
