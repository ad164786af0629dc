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
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/host_machine.h"
#include "profiler/injection.h"
#include "profiler/main/commands.h"
#include "profiler/traces/kineto.h"
#include "profiler/traces/recording.h"
#include "profiler/traces/sanitiser.h"
#include "sim/base/error.h"
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

// Until the child ends. Once we are to stop, it is to stop too: from a terminal it has been told already, and may be about
// to; later it is asked, and in the end killed.
Ended WaitFor(pid_t child) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kLook = std::chrono::milliseconds(20);
  constexpr std::chrono::seconds kAsk(1), kKill(10);
  Ended ended;
  Clock::time_point told;
  int last_signal = 0, status = 0;
  for (;;) {
    const pid_t found = ::waitpid(child, &status, WNOHANG);
    if (found == child) break;
    if (found < 0 && errno != EINTR)
      throw RunError(std::string("the command cannot be waited for: ") + std::strerror(errno));
    if (Interrupted() && !ended.stopped) {
      ended.stopped = true;
      told = Clock::now();
    }
    const auto signal = [&](int number) {
      if (last_signal != number) ::kill(child, last_signal = number);
    };
    if (ended.stopped && Clock::now() - told > kKill) {
      signal(SIGKILL);
    } else if (ended.stopped && Clock::now() - told > kAsk) {
      signal(SIGTERM);
    }
    std::this_thread::sleep_for(kLook);
  }
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
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
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::setenv("CUDA_INJECTION64_PATH", library.c_str(), 1);
  ::setenv("NVTX_INJECTION64_PATH", library.c_str(), 1);
  ::setenv(kInjectionFolder, folder.c_str(), 1);
  std::fflush(nullptr);
  (void)Interrupted();  // from here on a signal is for the command to end on
  const pid_t child = ::fork();
  if (child < 0) throw RunError(std::string("the command cannot be started: ") + std::strerror(errno));
  if (child == 0) {
    ::execvp(arguments[0], arguments.data());
    std::fprintf(stderr, "stowplan-profile: %s cannot be run: %s\n", arguments[0], std::strerror(errno));
    ::_exit(127);
  }
  return WaitFor(child);
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
