// stowplan-profile run: each probe, and the ops of each graph, are one part of one recording. The file is rewritten whole after each, and every second
// within one, so that a run that is cut off continues with the same command, behind the last row.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "profiler/host_machine.h"
#include "profiler/main/commands.h"
#include "profiler/probe_rows.h"
#include "profiler/traces/recording_stream.h"
#include "sim/base/error.h"
#include "sim/formats/formats.h"
#include "sim/formats/outputs.h"

namespace stowplan::profiler {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct RunOptions {
  std::vector<std::string> probes, graphs;
  std::string out, device = "cuda";
  int cores = 0;      // of the CPU; 0 = all
  double budget = 0;  // [s]; 0 = none
  int rows = 0;       // of each probe of ops; 0 = all
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
          "there is no probe \"{}\"; `stowplan-profile list` shows them, `all` runs them all.", name));
    }
    if (probe->device != nullptr && probe->device != device)
      throw InputError(fmt::format("{} is measured with --device {} alone.", name, probe->device));
    chosen.push_back(probe);
  }
  return chosen;
}

// What becomes one part of the recording: a probe, or the ops of a graph.
struct Job {
  std::string name;
  std::function<sim::Attribute(Backend& backend, const MeasureOptions& options)> run;
  bool of_graph = false;
  bool of_cases = false;  // its rows are in an order that may end anywhere (CasesToMeasure)
};

std::vector<Job> JobsOf(const RunOptions& options) {
  std::vector<Job> jobs;
  for (const Probe* probe : Chosen(options.probes, options.device)) {
    jobs.push_back({probe->name,
                    [probe](Backend& backend, const MeasureOptions& how) { return backend.Run(*probe, how); },
                    false, probe->cases != nullptr});
  }
  std::set<std::string> names;
  for (const std::string& path : options.graphs) {
    const auto graph = std::make_shared<const sim::OpGraph>(formats::ReadGraph(path));
    if (!names.insert(graph->name).second)
      throw InputError(fmt::format("{}: is the second graph that is called \"{}\"; give each its own --out.",
                                   path, graph->name));
    jobs.push_back(
        {"ops of " + graph->name,
         [graph](Backend& backend, const MeasureOptions& how) { return backend.RunOps(*graph, how); }, true});
  }
  if (jobs.empty())
    throw InputError("PROBE... (names of `stowplan-profile list`, or all) or --graph G is wanted.");
  return jobs;
}

sim::Attributes TimingFacts(const Timing& timing) {
  return {{"warmups", {std::int64_t{timing.warmups}}},
          {"least", {std::int64_t{timing.least}}},
          {"most", {std::int64_t{timing.most}}},
          {"seconds", {timing.seconds}}};
}

Recording Fresh(const Backend& backend, const RunOptions& options, const MeasureOptions& how) {
  Recording recording;
  recording.kind = kProbesKind;
  recording.device = options.device;
  recording.quick = options.quick;
  recording.machine = MachineOf(backend);
  if (options.device == "cpu")
    recording.machine.emplace_back("probe_cores",
                                   sim::Attribute{static_cast<std::int64_t>(how.cores.size())});
  recording.software = backend.Software();
  recording.timing = TimingFacts(how.timing);
  for (const Probe& probe : Probes())
    recording.meaning.emplace_back(probe.name, sim::Attribute{std::string(probe.meaning)});
  recording.meaning.emplace_back("ops of a graph", sim::Attribute{std::string(kOpsOfGraphMeaning)});
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

sim::Attribute::List RowsOf(const Part& part) {
  const auto* const result = std::get_if<sim::Attributes>(&part.result.value);
  const sim::Attribute* const found = result == nullptr ? nullptr : sim::FindAttribute(*result, "rows");
  const auto* const rows = found == nullptr ? nullptr : std::get_if<sim::Attribute::List>(&found->value);
  return rows == nullptr ? sim::Attribute::List{} : *rows;
}

// The measurements of one call.
class Session {
 public:
  Session(const RunOptions& options, Backend& backend, MeasureOptions how)
      : options_(options), backend_(backend), how_(std::move(how)) {
    recording_ = Resumed(Fresh(backend, options, how_), options.out);
    how_.rows = &rows_;
    how_.go_on = [this] { return GoOn(); };
  }

  int Run(const std::vector<Job>& jobs) {
    int missing = 0;
    for (const Job& job : jobs) {
      if (recording_.Done(job.name)) {
        CheckGraph(job);
        continue;
      }
      if (Stopped()) {
        fmt::print(stderr, "stopped before {}; the same command continues there\n", job.name);
        return 1;
      }
      Measure(job);
      if (stopped_) return 1;
      missing += recording_.Done(job.name) || HasEnoughRows() ? 0 : 1;
    }
    if (missing > 0) fmt::print(stderr, "{} failed; the reasons are in {}\n", missing, options_.out);
    return missing > 0 ? 1 : 0;
  }

 private:
  bool Stopped() const {
    return Interrupted() || (options_.budget > 0 && SecondsSince(start_) > options_.budget);
  }

  // That what is there is this graph's; measures nothing where all rows are.
  void CheckGraph(const Job& job) {
    const Part& part = *recording_.Find(job.name);
    if (!job.of_graph || part.outcome != Part::Outcome::kMeasured) return;
    rows_ = RowsOf(part);
    job.run(backend_, how_);
  }

  void Measure(const Job& job) {
    const Part* const before = recording_.Find(job.name);
    rows_ = before == nullptr ? sim::Attribute::List{} : RowsOf(*before);
    spent_before_ = before == nullptr ? 0 : before->wall_s;
    job_ = job.name;
    most_rows_ = job.of_cases ? static_cast<std::size_t>(options_.rows) : 0;
    part_ = {};
    part_.date = NowUtc();
    part_.command = CommandLine();
    part_.revision = Revision();
    part_.clocks = backend_.Clocks();
    part_start_ = written_ = Clock::now();
    try {
      part_.result = job.run(backend_, how_);
      if (stopped_ || HasEnoughRows()) part_.incomplete = StoppedText();
    } catch (const Unavailable& reason) {
      EndEarly(Part::Outcome::kSkipped, reason.what());
    } catch (const RunError& error) {
      EndEarly(Part::Outcome::kFailed, error.what());
    }
    Write();
    const std::string& why = part_.incomplete.empty() ? part_.reason : part_.incomplete;
    fmt::print(
        stderr, "{:18} {:7.1f} s  {}{}{}\n", job_, part_.wall_s,
        part_.incomplete.empty() ? kOutcomeNames[static_cast<std::size_t>(part_.outcome)] : "incomplete",
        why.empty() ? "" : ": ", why);
  }

  // Rows that are there are not lost to what comes behind them.
  void EndEarly(Part::Outcome outcome, const std::string& reason) {
    if (rows_.empty()) {
      part_.outcome = outcome;
      part_.reason = reason;
    } else {
      part_.result = Rows(rows_);
      part_.incomplete = fmt::format("row {} failed: {}", rows_.size() + 1, reason);
    }
  }

  // Between two rows.
  bool GoOn() {
    constexpr double kEvery = 1;  // [s]: writing takes the caches from what is measured
    if (HasEnoughRows()) return false;
    stopped_ = Stopped();
    if (stopped_ || rows_.empty() || SecondsSince(written_) < kEvery) return !stopped_;
    part_.result = Rows(rows_);
    part_.incomplete = StoppedText();
    Write();
    part_.incomplete.clear();
    written_ = Clock::now();
    return true;
  }

  bool HasEnoughRows() const { return most_rows_ > 0 && rows_.size() >= most_rows_; }

  std::string StoppedText() const {
    return fmt::format("stopped behind {} rows; the same command continues there", rows_.size());
  }

  void Write() {
    part_.wall_s = spent_before_ + SecondsSince(part_start_);
    recording_.Put(job_, part_);
    WriteRecording(options_.out, recording_);
  }

  const RunOptions& options_;
  Backend& backend_;
  MeasureOptions how_;
  Recording recording_;
  const Clock::time_point start_ = Clock::now();
  // Of the part that is being measured:
  std::string job_;
  Part part_;
  sim::Attribute::List rows_;
  std::size_t most_rows_ = 0;  // 0 = all
  double spent_before_ = 0;    // by earlier calls [s]
  Clock::time_point part_start_, written_;
  bool stopped_ = false;
};

int RunProbes(const RunOptions& options) {
  if (options.rows < 0) throw InputError("--rows must be 1 or more.");
  const BackendRow& row = FindBackend(options.device);
  const std::vector<Job> jobs = JobsOf(options);
  std::vector<int> cores = AvailableCores();
  if (options.cores < 0 || options.cores > static_cast<int>(cores.size()))
    throw InputError(fmt::format("--cores must be from 1 to {}, which this process may use.", cores.size()));
  if (options.cores > 0) cores.resize(static_cast<std::size_t>(options.cores));
  const std::unique_ptr<Backend> backend = OpenBackend(row);
  formats::PrepareOutput(options.out);
  const Timing timing = options.quick ? kQuickTiming : options.device == "cpu" ? kCpuTiming : Timing{};
  const MeasureOptions how{.timing = timing, .quick = options.quick, .cores = cores};
  return Session(options, *backend, how).Run(jobs);
}

}  // namespace

RunVerb DeclareRun(CLI::App& app) {
  const auto options = std::make_shared<RunOptions>();
  app.add_option("PROBE", options->probes, "names from `stowplan-profile list`, or all");
  app.add_option("--graph", options->graphs,
                 "a graph file: each of its ops alone, as an executed step runs it, so that steps of the "
                 "graph can be "
                 "predicted from measured ops (may be repeated)")
      ->option_text("G");
  app.add_option("--out", options->out, "the stowplan.trace to write or to continue; .zst compresses")
      ->required()
      ->option_text("FILE");
  app.add_option("--device", options->device, "what is measured: " + BackendNames())
      ->capture_default_str()
      ->option_text("D");
  app.add_option("--cores", options->cores, "of the CPU, for an op to use; else all there are")
      ->option_text("N");
  app.add_option("--budget", options->budget, "seconds after which no further row is measured")
      ->option_text("S");
  app.add_option("--rows", options->rows,
                 "no more of each probe of ops, of which the first are of all formats and far apart in size; "
                 "without it the same command measures the rest")
      ->option_text("N");
  app.add_flag("--quick", options->quick, "few sizes, few repeats: to try, not to use");
  return [options] { return RunProbes(*options); };
}

}  // namespace stowplan::profiler
