// Probes of what CPU devices do to one another, for berth-profile: by the executor, as steps do it.
#include <algorithm>

#include <fmt/format.h>

#include "profiler/cpu/probe_table.h"
#include "profiler/cpu/probes.h"
#include "profiler/host_machine.h"
#include "profiler/probe_rows.h"

namespace berth::profiler {
namespace {

// Two devices; the second has as many cores as were given, of those that are left.
class Devices {
 public:
  explicit Devices(const std::vector<int>& cores) : cores_{cores, {}} {
    for (const int core : AvailableCores()) {
      if (std::ranges::find(cores, core) == cores.end() && cores_[1].size() < cores.size())
        cores_[1].push_back(core);
    }
    cluster_.name = "two";
    for (const char* name : {"cpu0", "cpu1"})
      cluster_.devices.push_back({.name = name,
                                  .kind = "cpu",
                                  .device_class = sim::DeviceClass::kCpu,
                                  .memory = sim::Bytes{1} << 30});
    cluster_.links.push_back({.name = "copies", .ends = {0, 1}, .bandwidth = 1'000'000'000});
    cluster_.Finish();
  }

  const sim::Cluster& cluster() const { return cluster_; }
  const CoresByDevice& cores() const { return cores_; }

  void RequireTwo() const {
    if (cores_[1].size() == cores_[0].size()) return;
    throw Unavailable(
        fmt::format("a second device of {} more cores is needed and {} are left; give fewer with --cores",
                    cores_[0].size(), cores_[1].size()));
  }

 private:
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

// What `probe` measures in undisturbed steps. On a machine where none is, others do no better.
template <typename Probe, typename Lacks>
auto Undisturbed(const MeasureOptions& options, const Probe& probe, const Lacks& lacks) {
  constexpr int kTries = 10;  // for an undisturbed one
  ProbeOptions steps{.warm_up = options.timing.warmups,
                     .repeats = options.timing.most,
                     .at_most = kTries * options.timing.most};
  auto probed = probe(steps);
  if (!lacks(probed)) return probed;
  steps.at_most = steps.repeats;
  steps.disturbed = true;
  return probe(steps);
}

}  // namespace

sim::Attribute MeasureCopiesBetweenDevices(const Probe&, const MeasureOptions& options) {
  const Devices devices(options.cores);
  devices.RequireTwo();
  sim::Attribute::List rows;
  const auto probed = Undisturbed(
      options,
      [&](const ProbeOptions& steps) {
        return ProbeCopies(devices.cluster(), devices.cores(), ProbedCopySizes(), steps);
      },
      [](const std::vector<ProbedCopy>& copies) { return copies.front().ns.empty(); });
  for (const ProbedCopy& copy : probed)
    rows.push_back({sim::Attributes{{"bytes", {copy.bytes}}, {"host", Summary(Micros(copy.ns))}}});
  return Rows(std::move(rows));
}

sim::Attribute MeasureDispatch(const Probe&, const MeasureOptions& options) {
  // The second device has nothing to do; where no core is left for it, it waits on the first one's.
  const Devices devices(options.cores);
  const CoresByDevice cores = {options.cores,
                               devices.cores()[1].empty() ? options.cores : devices.cores()[1]};
  const auto gaps = Undisturbed(
      options, [&](const ProbeOptions& steps) { return ProbeDispatch(devices.cluster(), cores, steps); },
      [](const std::vector<std::int64_t>& ns) { return ns.empty(); });
  return {sim::Attributes{{"gap", Summary(Micros(gaps))}}};
}

sim::Attribute MeasureOverlap(const Probe&, const MeasureOptions& options) {
  const Devices devices(options.cores);
  devices.RequireTwo();
  sim::Attribute::List rows;
  const auto ends = Undisturbed(
      options,
      [&](const ProbeOptions& steps) { return ProbeOverlap(devices.cluster(), devices.cores(), steps); },
      [](const std::vector<ProbedOverlap>& probed) {
        return std::ranges::any_of(probed, [](const ProbedOverlap& end) { return end.Rates().empty(); });
      });
  for (const ProbedOverlap& end : ends) {
    const std::string here = fmt::format("cpu{}", end.device), other = fmt::format("cpu{}", 1 - end.device);
    rows.push_back({sim::Attributes{{"pair",
                                     {fmt::format("ops of {} | copy {} to {}", here,
                                                  end.receives ? other : here, end.receives ? here : other)}},
                                    {"calls", {std::int64_t{1}}},
                                    {"first", Summary(Micros(end.alone))},
                                    {"second", Summary(Micros(end.copying))},
                                    {"both", Summary(Micros(end.both))}}});
  }
  return Rows(std::move(rows));
}

}  // namespace berth::profiler
