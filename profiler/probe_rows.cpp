#include "profiler/probe_rows.h"

#include <chrono>

#include "profiler/statistics.h"
#include "sim/formats/document/json_reader.h"
#include "sim/formats/formats.h"

namespace stowplan::profiler {

std::vector<double> Repeat(const Timing& timing, const std::function<double()>& sample) {
  using Clock = std::chrono::steady_clock;
  constexpr int kLeast = 3;  // of which a median says something
  constexpr double kPatience = 10;
  const auto after = [](double seconds) {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  };
  const auto warm = after(timing.seconds);
  for (int i = 0; i < timing.warmups && (i == 0 || Clock::now() < warm); ++i) sample();
  std::vector<double> samples;
  const auto end = after(timing.seconds), last = after(kPatience * timing.seconds);
  const auto wanted = [&](Clock::time_point now) {
    if (now >= last) return kLeast;
    return now < end ? timing.most : timing.least;
  };
  while (static_cast<int>(samples.size()) < wanted(Clock::now())) samples.push_back(sample());
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

sim::Attribute::List MeasureRows(std::size_t count, const MeasureOptions& options,
                                 const std::function<sim::Attributes(std::size_t)>& measure) {
  sim::Attribute::List own;
  sim::Attribute::List& rows = options.rows == nullptr ? own : *options.rows;
  while (rows.size() < count && (!options.go_on || options.go_on())) rows.push_back({measure(rows.size())});
  return rows;
}

sim::Attribute Rows(sim::Attribute::List rows) {
  return {sim::Attributes{{"rows", {std::move(rows)}}}};
}

sim::Attribute GraphValue(const sim::OpGraph& graph) {
  return formats::ParseJson(formats::PrintGraph(graph), graph.name).root().Free();
}

sim::Attribute Summary(const std::vector<double>& samples_us) {
  return {Summarise(samples_us)};
}

}  // namespace stowplan::profiler
