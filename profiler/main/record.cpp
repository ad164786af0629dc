// stowplan-profile record: the CUDA driver itself opens libstowplan_injection.so in every process of the command
// (CUDA_INJECTION64_PATH), and NVTX does (NVTX_INJECTION64_PATH); it records there and appends what it has to one file
// while the command runs, so that neither the memory nor an end of ours or of the command's loses it.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "profiler/host_machine.h"
#include "profiler/injection.h"
#include "profiler/main/commands.h"
#include "profiler/traces/activity_merge.h"
#include "profiler/traces/kineto.h"
#include "profiler/traces/record_window.h"
#include "profiler/traces/recording_stream.h"
#include "profiler/traces/sanitiser.h"
#include "sim/base/error.h"
#include "sim/base/process.h"
#include "sim/formats/formats.h"
#include "sim/formats/outputs.h"

namespace stowplan::profiler {
namespace {

namespace fs = std::filesystem;

struct RecordOptions {
  std::vector<std::string> command;
  std::string out, kineto, after, length;
  int buffer_mib = 256;
};

// More than this is not held in memory, some 700 MB: it is neither judged nor written in another form.
constexpr std::int64_t kMostHeld = 1'000'000;

struct Ended {
  int status = 0;        // as a shell would say it
  bool stopped = false;  // by whoever stopped us
};

// Until the command ends. Once we are to stop, it is to stop too: from a terminal it has been told already, and may be about
// to; later it is asked, and in the end killed.
Ended WaitFor(const Process& command) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kAsk(1), kKill(10);
  bool stopped = false;
  Clock::time_point told;
  int last_signal = 0;
  for (;;) {
    if (const auto end = command.AwaitEnd(std::chrono::milliseconds(20))) return {end->status, stopped};
    if (!Interrupted()) continue;
    if (!std::exchange(stopped, true)) told = Clock::now();
    const auto waited = Clock::now() - told;
    const int signal = waited > kKill ? SIGKILL : waited > kAsk ? SIGTERM : 0;
    if (signal != last_signal) command.Signal(last_signal = signal);
  }
}

// The library that records, beside the plug-in.
std::string FindInjection(const BackendRow& row) {
  const fs::path found = fs::path(FindPlugin(row)).parent_path() / kInjectionLibrary;
  std::error_code ignored;
  if (!fs::exists(found, ignored))
    throw Unavailable(found.string() + " is missing, which records in the command's processes");
  // In the command's processes the driver would say nothing.
  if (const std::string why = WhyNotLoaded(found.string()); !why.empty())
    throw Unavailable(fmt::format("{} cannot be opened, which records by CUPTI ({})", found.string(), why));
  return found.string();
}

// Runs the command with the library injected.
Ended RunInjected(const RecordOptions& options, const std::string& library, const std::string& stream) {
  const std::pair<const char*, std::string> variables[] = {
      {"CUDA_INJECTION64_PATH", library},
      {"NVTX_INJECTION64_PATH", library},
      {kInjectionFile, fs::absolute(stream).string()},
      {kInjectionAfter, options.after},
      {kInjectionFor, options.length},
      {kInjectionBufferMib, std::to_string(options.buffer_mib)},
  };
  for (const auto& [name, value] : variables) ::setenv(name, value.c_str(), 1);
  std::fflush(nullptr);
  (void)Interrupted();  // from here on a signal is for the command to end on
  constexpr Process::Stream kOurs = Process::Stream::kOurs;
  return WaitFor(
      Process(options.command, {.input = kOurs, .output = kOurs, .errors = kOurs, .own_group = false}));
}

// The file that is written while the command runs: the output itself where that is packed.
std::string StreamOf(const std::string& out) {
  return out.ends_with(".zst") ? out : out + ".zst";
}

// Where a file will be that may not be there yet, also behind links.
fs::path Place(const std::string& path) {
  std::error_code ignored;
  fs::path place = fs::absolute(path);
  constexpr int kMostLinks = 40;  // as Linux follows
  for (int links = 0; links < kMostLinks && fs::is_symlink(place, ignored); ++links)
    place = place.parent_path() / fs::read_symlink(place, ignored);
  return fs::weakly_canonical(place, ignored);
}

// Before the command runs: what it takes hours to do must not be lost to a wrong name.
void CheckOutputs(const RecordOptions& options) {
  if (options.out == "-")
    throw InputError("--out: must name a file, which is written while the command runs.");
  if (!options.kineto.empty() && options.kineto != "-") {
    for (const std::string& path : {options.out, StreamOf(options.out)}) {
      if (Place(options.kineto) == Place(path))
        throw InputError(fmt::format("--kineto: {} is the file that --out writes ({}); give it another name.",
                                     options.kineto, path));
    }
  }
  for (const std::string& path : {options.out, StreamOf(options.out), options.kineto}) {
    if (path.empty()) continue;
    formats::RefuseExisting(path);
    formats::PrepareOutput(path);
  }
}

// The machine with the device that is recorded.
Recording Envelope(const Backend& backend) {
  Recording recording;
  recording.kind = kActivityKind;
  recording.device = "cuda";
  recording.machine = MachineOf(backend);
  recording.software = backend.Software();
  sim::Attribute::List disturbances;
  for (const std::string& sentence : backend.Disturbances()) {
    fmt::print(stderr, "{}\n", sentence);
    disturbances.push_back({sentence});
  }
  if (!disturbances.empty()) recording.timing = {{"disturbances", {std::move(disturbances)}}};
  return recording;
}

// What was recorded, as far as it is held.
class Recorded {
 public:
  explicit Recorded(const std::string& stream) {
    formats::FrameReader frames(stream);
    RecordingReader reader(frames);
    recording_ = ReadRecording(reader, [this](Recording& whole, Recording& more) { Count(whole, more); });
  }
  bool whole() const { return records_ <= kMostHeld; }
  Recording& recording() { return recording_; }
  std::string Verdict(const std::string& name) const {
    const Part& part = *recording_.Find(name);
    if (!part.activity) return part.reason;
    std::string verdict = fmt::format("{} records, {} lost; too many to be judged here",
                                      counts_.at(name).records, counts_.at(name).lost);
    if (whole()) verdict = Sanitise(*part.activity).sentence;
    for (const std::string& reason : part.activity->refused)
      verdict += fmt::format("; not recorded: {}", reason);
    return part.incomplete.empty() ? verdict : fmt::format("{}; incomplete: {}", verdict, part.incomplete);
  }

 private:
  struct Counts {
    std::int64_t records = 0, lost = 0;
  };

  void Count(Recording& so_far, Recording& more) {
    for (const auto& [name, part] : more.parts) {
      if (!part.activity) continue;
      const std::int64_t records = RecordsIn(*part.activity);
      records_ += records;
      counts_[name].records += records;
      counts_[name].lost += part.activity->lost_records;
    }
    if (whole()) return;
    for (Recording* const recording : {&so_far, &more}) {
      for (auto& [name, part] : recording->parts) {
        if (part.activity) DropRecords(*part.activity);
      }
    }
  }
  static void DropRecords(ActivityTrace& trace) {
    ActivityTrace without;
    without.refused = std::move(trace.refused);
    trace = std::move(without);
  }

  Recording recording_;
  std::int64_t records_ = 0;
  std::map<std::string, Counts> counts_;
};

// Who made the parts, behind what the processes said of themselves: of a command that is killed with us it lacks.
Recording Closing(const Recording& recorded, double wall_s) {
  Recording closing;
  closing.kind = recorded.kind;
  for (const auto& [name, known] : recorded.parts) {
    Part part;  // not its records, of which there are many
    part.outcome = known.outcome;
    part.reason = known.reason;
    part.incomplete = known.incomplete;
    part.date = known.date;
    part.clocks = known.clocks;
    if (known.activity) part.activity.emplace();
    part.command = CommandLine();
    part.revision = Revision();
    part.wall_s = wall_s;
    closing.Put(name, std::move(part));
  }
  return closing;
}

// Of several processes the last that has records; of none with activity nothing, which their reasons tell.
void WriteKineto(const RecordOptions& options, const Recording& recording) {
  if (options.kineto.empty()) return;
  const ActivityTrace* last = nullptr;
  for (const auto& [name, part] : recording.parts) {
    if (part.activity && (last == nullptr || RecordsIn(*part.activity) > 0)) last = &*part.activity;
  }
  if (last != nullptr) formats::WriteFile(options.kineto, PrintKineto(*last));
}

// In the forms that were asked for. Returns the file that holds the recording.
std::string WriteForms(const RecordOptions& options, Recorded& recorded, const std::string& stream) {
  const bool packed = stream == options.out;
  if (!recorded.whole()) {
    if (packed && options.kineto.empty()) return stream;
    throw RunError(
        fmt::format("what was recorded is in {}, and is too much for another form; --after and --for record "
                    "a part of a program",
                    stream));
  }
  if (!packed) {
    WriteRecording(options.out, recorded.recording());
    fs::remove(stream);
  }
  WriteKineto(options, recorded.recording());
  return options.out;
}

int RunRecord(const RecordOptions& options) {
  ParseWindowEdge("--after", options.after);  // refuses what is wrong
  ParseWindowEdge("--for", options.length);
  const BackendRow& row = FindBackend("cuda");
  const std::unique_ptr<Backend> backend = OpenBackend(row);  // says at once why nothing could be recorded
  const std::string injection = FindInjection(row);
  CheckOutputs(options);
  const std::string path = StreamOf(options.out);
  RecordingStream stream(path);
  const auto append = [&](const Recording& recording) {
    if (const std::string why = stream.Append(recording); !why.empty())
      throw RunError(fmt::format("{}: cannot be written: {}", path, why));
  };
  append(Envelope(*backend));
  const auto start = std::chrono::steady_clock::now();
  Ended ended;
  try {
    ended = RunInjected(options, injection, path);
  } catch (...) {
    fs::remove(path);
    throw;
  }
  const double wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Recorded recorded(path);
  if (recorded.recording().parts.empty()) {
    fs::remove(path);
    throw RunError(
        fmt::format("nothing was recorded: the command (status {}) never used CUDA, or was killed at once",
                    ended.status));
  }
  for (const auto& [name, part] : recorded.recording().parts)
    fmt::print(stderr, "{}: {}\n", name, recorded.Verdict(name));
  const Recording closing = Closing(recorded.recording(), wall_s);
  append(closing);
  Merge(recorded.recording(), closing);
  const std::string written = WriteForms(options, recorded, path);
  if (ended.stopped || ended.status != 0)
    throw RunError(fmt::format("the command {} (status {}); what it did until then is in {}",
                               ended.stopped ? "was stopped" : "failed", ended.status, written));
  const auto& parts = closing.parts;
  if (std::ranges::none_of(parts, [](const auto& entry) { return entry.second.activity.has_value(); }))
    throw RunError("nothing was recorded: " + parts.front().second.reason);
  return 0;
}

}  // namespace

RunVerb DeclareRecord(CLI::App& app) {
  const auto options = std::make_shared<RecordOptions>();
  app.add_option("--out", options->out,
                 "the stowplan.trace to write: packed and while the command runs where it ends in .zst, else "
                 "at the end")
      ->required()
      ->option_text("FILE");
  app.add_option(
         "--kineto", options->kineto,
         "also as torch.profiler writes it, which ui.perfetto.dev opens (of several processes the last "
         "that has records)")
      ->option_text("FILE");
  app.add_option("--after", options->after,
                 "record after so many launches (1000), so many seconds of using CUDA (2.5s), or the end of "
                 "the first "
                 "range of NVTX called so (warm-up, range:2)")
      ->option_text("WHEN");
  app.add_option("--for", options->length,
                 "record so many launches, so many seconds, or the next range of NVTX called so")
      ->option_text("LENGTH");
  app.add_option("--buffer-mib", options->buffer_mib,
                 "the most memory of records that wait to be written, by process; what comes while it is "
                 "full is counted "
                 "and lost (default 256)")
      ->check(CLI::Range(4, 1 << 20))
      ->option_text("MIB");
  app.add_option("COMMAND", options->command, "what to run, behind --")->required();
  return [options] { return RunRecord(*options); };
}

}  // namespace stowplan::profiler
