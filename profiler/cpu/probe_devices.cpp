// Probes of what CPU devices do to one another, for stowplan-profile: by the executor, as steps do it.
#include <algorithm>

#include <fmt/format.h>

#include "profiler/cpu/probe_table.h"
#include "profiler/cpu/probes.h"
#include "profiler/host_machine.h"
#include "profiler/probe_rows.h"

namespace stowplan::profiler {
namespace {

// Devices of `cores` each, the second on cores that are left.
class Devices {
 public:
  Devices(const std::vector<int>& cores, std::size_t number) : cores_{cores} {
    if (number > 1) cores_.push_back(Others(cores));
    cluster_.name = "cpus";
    for (std::size_t d = 0; d < number; ++d)
      cluster_.devices.push_back({.name = fmt::format("cpu{}", d),
                                  .kind = "cpu",
                                  .device_class = sim::DeviceClass::kCpu,
                                  .memory = sim::Bytes{1} << 30});
    if (number > 1) cluster_.links.push_back({.name = "copies", .ends = {0, 1}, .bandwidth = 1'000'000'000});
    cluster_.Finish();
  }

  const sim::Cluster& cluster() const { return cluster_; }
  const CoresByDevice& cores() const { return cores_; }

 private:
  static std::vector<int> Others(const std::vector<int>& cores) {
    std::vector<int> others;
    for (const int core : AvailableCores()) {
      if (std::ranges::find(cores, core) == cores.end() && others.size() < cores.size())
        others.push_back(core);
    }
    if (others.size() == cores.size()) return others;
    throw Unavailable(
        fmt::format("a second device of {} more core{} is needed and {} are left; give fewer with --cores",
                    cores.size(), cores.size() == 1 ? "" : "s", others.size()));
  }

  CoresByDevice cores_;
  sim::Cluster cluster_;
};

// [ns] to [us]
template <typename T>
std::vector<double> Micros(const std::vector<T>& ns) {
  std::vector<double> us;
  for (const T value : ns) us.push_back(static_cast<double>(value) * 1e-3);
  return us;
}

// What `probe` measures in undisturbed steps. On a machine that has fewer than are wanted at least, others do no better:
// then `disturbed` of the result says so. enough(probed, steps): that so many steps are in it. Nothing if it is stopped.
template <typename Probe, typename Enough, typename Print>
sim::Attribute MeasureSteps(const MeasureOptions& options, const Probe& probe, const Enough& enough,
                            const Print& print) {
  constexpr int kTries = 10;  // for an undisturbed one
  bool stopped = false;
  ProbeOptions steps{.warm_up = options.timing.warmups,
                     .repeats = options.timing.most,
                     .at_most = kTries * options.timing.most,
                     .stop = [&] { return stopped = stopped || (options.go_on && !options.go_on()); }};
  auto probed = probe(steps);
  if (!stopped && !enough(probed, static_cast<std::size_t>(options.timing.least))) {
    steps.at_most = steps.repeats;
    steps.disturbed = true;
    probed = probe(steps);
  }
  if (stopped) return Rows({});
  sim::Attributes result = print(probed);
  if (steps.disturbed) result.emplace_back("disturbed", sim::Attribute{true});
  return {std::move(result)};
}

}  // namespace

sim::Attribute MeasureCopiesBetweenDevices(const Probe&, const MeasureOptions& options) {
  using Copies = std::vector<ProbedCopy>;
  const Devices devices(options.cores, 2);
  return MeasureSteps(
      options,
      [&](const ProbeOptions& steps) {
        return ProbeCopies(devices.cluster(), devices.cores(), ProbedCopySizes(), steps);
      },
      [](const Copies& copies, std::size_t steps) { return copies.front().ns.size() >= steps; },
      [](const Copies& copies) {
        sim::Attribute::List rows;
        for (const ProbedCopy& copy : copies)
          rows.push_back({sim::Attributes{{"bytes", {copy.bytes}}, {"host", Summary(Micros(copy.ns))}}});
        return sim::Attributes{{"rows", {std::move(rows)}}};
      });
}

sim::Attribute MeasureDispatch(const Probe&, const MeasureOptions& options) {
  using Gaps = std::vector<std::int64_t>;
  const Devices device(options.cores, 1);
  return MeasureSteps(
      options,
      [&](const ProbeOptions& steps) { return ProbeDispatch(device.cluster(), device.cores(), steps); },
      [](const Gaps& ns, std::size_t steps) { return ns.size() >= steps; },
      [](const Gaps& ns) {
        return sim::Attributes{{"gap", Summary(Micros(ns))}};
      });
}

sim::Attribute MeasureOverlap(const Probe&, const MeasureOptions& options) {
  using Ends = std::vector<ProbedOverlap>;
  const Devices devices(options.cores, 2);
  return MeasureSteps(
      options,
      [&](const ProbeOptions& steps) { return ProbeOverlap(devices.cluster(), devices.cores(), steps); },
      [](const Ends& ends, std::size_t steps) {
        return std::ranges::all_of(ends, [&](const ProbedOverlap& end) {
          return std::min(end.alone.size(), end.both.size()) >= steps;
        });
      },
      [](const Ends& ends) {
        sim::Attribute::List rows;
        for (const ProbedOverlap& end : ends) {
          const std::string here = fmt::format("cpu{}", end.device),
                            other = fmt::format("cpu{}", 1 - end.device);
          rows.push_back(
              {sim::Attributes{{"pair",
                                {fmt::format("ops of {} | copy {} to {}", here, end.receives ? other : here,
                                             end.receives ? here : other)}},
                               {"end", {std::string(end.receives ? "receiver" : "sender")}},
                               {"calls", {std::int64_t{1}}},
                               {"first", Summary(Micros(end.alone))},
                               {"second", Summary(Micros(end.copying))},
                               {"both", Summary(Micros(end.both))}}});
        }
        return sim::Attributes{{"rows", {std::move(rows)}}};
      });
}

}  // namespace stowplan::profiler
