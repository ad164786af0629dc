// stowplan-profile record: the CUDA driver itself opens libstowplan_injection.so in every process of the command
// (CUDA_INJECTION64_PATH), and NVTX does (NVTX_INJECTION64_PATH); it records there and leaves one file for each process
// in a folder of ours.
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "profiler/host_machine.h"
#include "profiler/injection.h"
#include "profiler/main/commands.h"
#include "profiler/traces/kineto.h"
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
  std::string out, kineto;
};

// A folder that goes when this goes.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "stowplan-profile-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw RunError(pattern + ": cannot be made: " + std::strerror(errno));
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

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
  return found.string();
}

// Runs the command with the library injected.
Ended RunInjected(const std::vector<std::string>& command, const std::string& library,
                  const std::string& folder) {
  ::setenv("CUDA_INJECTION64_PATH", library.c_str(), 1);
  ::setenv("NVTX_INJECTION64_PATH", library.c_str(), 1);
  ::setenv(kInjectionFolder, folder.c_str(), 1);
  std::fflush(nullptr);
  (void)Interrupted();  // from here on a signal is for the command to end on
  constexpr Process::Stream kOurs = Process::Stream::kOurs;
  return WaitFor(Process(command, {.input = kOurs, .output = kOurs, .errors = kOurs, .own_group = false}));
}

Recording Collected(const std::string& folder) {
  Recording recording;
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.insert(entry.path());
  for (const fs::path& file : files) {
    Recording one = ReadRecording(file.string());
    for (auto& [name, part] : one.parts) recording.Put(name, std::move(part));
  }
  return recording;
}

// Before the command runs: what it takes hours to do must not be lost to a wrong name.
void CheckOutputs(const RecordOptions& options) {
  for (const std::string* path : {&options.out, &options.kineto}) {
    if (path->empty()) continue;
    formats::RefuseExisting(*path);
    formats::PrepareOutput(*path);
  }
}

// The machine with the device that was recorded.
void Describe(Recording* recording, const Backend& backend) {
  recording->kind = kActivityKind;
  recording->device = "cuda";
  recording->machine = MachineOf(backend);
  recording->software = backend.Software();
}

// Of several processes the last; of none with activity nothing, which their reasons tell.
void WriteKineto(const RecordOptions& options, const Recording& recording) {
  if (options.kineto.empty()) return;
  const ActivityTrace* last = nullptr;
  for (const auto& [name, part] : recording.parts) {
    if (part.activity) last = &*part.activity;
  }
  if (last != nullptr) formats::WriteFile(options.kineto, PrintKineto(*last));
}

int RunRecord(const RecordOptions& options) {
  const BackendRow& row = FindBackend("cuda");
  const std::unique_ptr<Backend> backend = OpenBackend(row);  // says at once why nothing could be recorded
  const std::string injection = FindInjection(row);
  CheckOutputs(options);
  const TemporaryFolder folder;
  const auto start = std::chrono::steady_clock::now();
  const Ended ended = RunInjected(options.command, injection, folder.path());
  const double wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Recording recording = Collected(folder.path());
  if (recording.parts.empty()) {
    throw RunError(
        fmt::format("nothing was recorded: the command (status {}) never used CUDA, or ended without "
                    "leaving main",
                    ended.status));
  }
  Describe(&recording, *backend);
  for (auto& [name, part] : recording.parts) {
    part.command = CommandLine();
    part.revision = Revision();
    part.wall_s = wall_s;
    fmt::print(stderr, "{}: {}\n", name, part.activity ? Sanitise(*part.activity).sentence : part.reason);
  }
  WriteRecording(options.out, recording);
  WriteKineto(options, recording);
  if (ended.stopped || ended.status != 0)
    throw RunError(fmt::format("the command {} (status {}); what it did until then is in {}",
                               ended.stopped ? "was stopped" : "failed", ended.status, options.out));
  return 0;
}

}  // namespace

RunVerb DeclareRecord(CLI::App& app) {
  const auto options = std::make_shared<RecordOptions>();
  app.add_option("--out", options->out, "the stowplan.trace to write; .zst compresses")
      ->required()
      ->option_text("FILE");
  app.add_option(
         "--kineto", options->kineto,
         "also as torch.profiler writes it, which ui.perfetto.dev opens (of several processes the last)")
      ->option_text("FILE");
  app.add_option("COMMAND", options->command, "what to run, behind --")->required();
  return [options] { return RunRecord(*options); };
}

}  // namespace stowplan::profiler
