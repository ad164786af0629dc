#include "profiler/probe_rows.h"

#include <chrono>

#include "profiler/statistics.h"

namespace berth::profiler {

std::vector<double> Repeat(const Timing& timing, const std::function<double()>& sample) {
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < timing.warmups; ++i) sample();
  std::vector<double> samples;
  const auto end = Clock::now() + std::chrono::duration<double>(timing.seconds);
  while (static_cast<int>(samples.size()) < timing.least ||
         (static_cast<int>(samples.size()) < timing.most && Clock::now() < end)) {
    samples.push_back(sample());
  }
  return samples;
}

sim::Attributes KeyOf(const OpCase& one) {
  sim::Attributes shape;
  for (const auto& [name, value] : one.shape) shape.emplace_back(name, sim::Attribute{value});
  sim::Attributes key = {{"op", {one.op}},   {"phase", {one.phase}}, {"format", {one.format}},
                         {"shape", {shape}}, {"flops", {one.flops}}, {"bytes", {one.bytes}}};
  if (!one.workload.empty()) key.emplace_back("workload", sim::Attribute{one.workload});
  return key;
}

sim::Attribute Rows(sim::Attribute::List rows) {
  return {sim::Attributes{{"rows", {std::move(rows)}}}};
}

sim::Attribute Summary(const std::vector<double>& samples_us) {
  return {Summarise(samples_us)};
}

}  // namespace berth::profiler
