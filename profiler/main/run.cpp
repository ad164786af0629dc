// berth-profile run: each probe is one part of one recording. The file is rewritten whole after each, so that a
// run that is cut off continues with the same command.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "profiler/host_machine.h"
#include "profiler/main/commands.h"
#include "profiler/recording.h"
#include "sim/error.h"

namespace berth::profiler {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Options {
  std::vector<std::string> probes;
  std::string out, device = "cuda";
  int cores = 0;      // of the CPU; 0 = all
  double budget = 0;  // [s]; 0 = none
  bool quick = false;
};

std::vector<const Probe*> Chosen(const std::vector<std::string>& names, const std::string& device) {
  std::vector<const Probe*> chosen;
  for (const std::string& name : names) {
    if (name == "all") {
      for (const Probe& probe : Probes()) {
        if (probe.device == nullptr || probe.device == device) chosen.push_back(&probe);
      }
      continue;
    }
    const Probe* const probe = FindProbe(name);
    if (probe == nullptr) {
      throw InputError(fmt::format(
          "there is no probe \"{}\"; `berth-profile list` shows them, `all` runs them all.", name));
    }
    if (probe->device != nullptr && probe->device != device)
      throw InputError(fmt::format("{} is measured with --device {} alone.", name, probe->device));
    chosen.push_back(probe);
  }
  return chosen;
}

sim::Attributes TimingFacts(const Timing& timing) {
  return {{"warmups", {std::int64_t{timing.warmups}}},
          {"least", {std::int64_t{timing.least}}},
          {"most", {std::int64_t{timing.most}}},
          {"seconds", {timing.seconds}}};
}

Recording Fresh(const Backend& backend, const Options& options, const MeasureOptions& how) {
  Recording recording;
  recording.kind = kProbesKind;
  recording.device = options.device;
  recording.quick = options.quick;
  recording.machine = DescribeHost();
  for (const auto& [key, value] : backend.Machine()) recording.machine.emplace_back(key, value);
  if (options.device == "cpu")
    recording.machine.emplace_back("probe_cores",
                                   sim::Attribute{static_cast<std::int64_t>(how.cores.size())});
  recording.software = backend.Software();
  recording.timing = TimingFacts(how.timing);
  for (const Probe& probe : Probes())
    recording.meaning.emplace_back(probe.name, sim::Attribute{std::string(probe.meaning)});
  return recording;
}

// What is there already, if it is of this machine and these libraries.
Recording Resumed(const Recording& fresh, const std::string& path) {
  if (!std::filesystem::exists(path)) return fresh;
  Recording old = ReadRecording(path);
  Recording without_parts = old;
  without_parts.parts.clear();
  if (without_parts != fresh) {
    throw InputError(path +
                     ": was recorded on another machine or device, with other libraries, other --cores or "
                     "another --quick, and "
                     "recordings are not mixed; give another --out.");
  }
  return old;
}

Part Measure(Backend& backend, const Probe& probe, const MeasureOptions& options) {
  Part part;
  part.date = NowUtc();
  part.command = CommandLine();
  part.revision = Revision();
  part.clocks = backend.Clocks();
  const Clock::time_point start = Clock::now();
  try {
    part.result = backend.Run(probe, options);
  } catch (const Unavailable& reason) {
    part.outcome = Part::Outcome::kSkipped;
    part.reason = reason.what();
  } catch (const RunError& error) {
    part.outcome = Part::Outcome::kFailed;
    part.reason = error.what();
  }
  part.wall_s = SecondsSince(start);
  return part;
}

int Run(const Options& options) {
  const BackendRow& row = FindBackend(options.device);
  const std::vector<const Probe*> probes = Chosen(options.probes, options.device);
  std::vector<int> cores = AvailableCores();
  if (options.cores < 0 || options.cores > static_cast<int>(cores.size()))
    throw InputError(fmt::format("--cores must be from 1 to {}, which this process may use.", cores.size()));
  if (options.cores > 0) cores.resize(static_cast<std::size_t>(options.cores));
  const std::unique_ptr<Backend> backend = OpenBackend(row);
  const MeasureOptions how{options.quick ? kQuickTiming : Timing{}, options.quick, cores};
  Recording recording = Resumed(Fresh(*backend, options, how), options.out);
  const Clock::time_point start = Clock::now();
  int missing = 0;
  for (const Probe* probe : probes) {
    if (recording.Done(probe->name)) continue;
    if (Interrupted() || (options.budget > 0 && SecondsSince(start) > options.budget)) {
      fmt::print(stderr, "stopped before {}; the same command continues there\n", probe->name);
      return 1;
    }
    Part part = Measure(*backend, *probe, how);
    missing += part.outcome == Part::Outcome::kFailed ? 1 : 0;
    fmt::print(stderr, "{:18} {:7.1f} s  {}{}{}\n", probe->name, part.wall_s,
               kOutcomeNames[static_cast<std::size_t>(part.outcome)], part.reason.empty() ? "" : ": ",
               part.reason);
    recording.Put(probe->name, std::move(part));
    WriteRecording(options.out, recording);
  }
  if (missing > 0) fmt::print(stderr, "{} failed; the reasons are in {}\n", missing, options.out);
  return missing > 0 ? 1 : 0;
}

}  // namespace

RunVerb DeclareRun(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("PROBE", options->probes, "names from `berth-profile list`, or all")->required();
  app.add_option("--out", options->out, "the berth.trace to write or to continue; .zst compresses")
      ->required()
      ->option_text("FILE");
  app.add_option("--device", options->device, "what is measured: " + BackendNames())
      ->capture_default_str()
      ->option_text("D");
  app.add_option("--cores", options->cores, "of the CPU, for an op to use; else all there are")
      ->option_text("N");
  app.add_option("--budget", options->budget, "seconds after which no further probe starts")
      ->option_text("S");
  app.add_flag("--quick", options->quick, "few sizes, few repeats: to try, not to use");
  return [options] { return Run(*options); };
}

}  // namespace berth::profiler
