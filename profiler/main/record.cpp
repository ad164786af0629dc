// berth-profile record: the CUDA driver itself opens the plug-in in every process of the command
// (CUDA_INJECTION64_PATH), which records there and leaves one file for each process in a folder of ours.
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/chrome.h"
#include "profiler/host_machine.h"
#include "profiler/injection.h"
#include "profiler/kineto.h"
#include "profiler/main/commands.h"
#include "profiler/recording.h"
#include "profiler/sanitiser.h"
#include "sim/error.h"
#include "sim/formats/formats.h"

namespace berth::profiler {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> command;
  std::string out, kineto, chrome;
};

// A folder that goes when this goes.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "berth-profile-XXXXXX").string();
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

// Runs the command with the plug-in injected; returns its status as a shell would say it.
int RunInjected(const std::vector<std::string>& command, const std::string& plugin,
                const std::string& folder) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::setenv("CUDA_INJECTION64_PATH", plugin.c_str(), 1);
  ::setenv(kInjectionFolder, folder.c_str(), 1);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw RunError(std::string("the command cannot be started: ") + std::strerror(errno));
  if (child == 0) {
    ::execvp(arguments[0], arguments.data());
    std::fprintf(stderr, "berth-profile: %s cannot be run: %s\n", arguments[0], std::strerror(errno));
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Recording Collected(const std::string& folder) {
  Recording recording;
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.insert(entry.path());
  for (const fs::path& file : files) {
    Recording one = ReadRecording(file.string());
    recording.software = one.software;
    for (auto& [name, part] : one.parts) recording.Put(name, std::move(part));
  }
  return recording;
}

int Run(const Options& options) {
  const BackendRow& row = FindBackend("cuda");
  (void)OpenBackend(row);  // says at once why nothing could be recorded
  const TemporaryFolder folder;
  const auto start = std::chrono::steady_clock::now();
  const int status = RunInjected(options.command, FindPlugin(row), folder.path());
  const double wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Recording recording = Collected(folder.path());
  if (recording.parts.empty()) {
    throw RunError(
        fmt::format("nothing was recorded: the command (status {}) never used CUDA, or ended without "
                    "leaving main",
                    status));
  }
  recording.kind = kActivityKind;
  recording.device = "cuda";
  recording.machine = DescribeHost();
  for (auto& [name, part] : recording.parts) {
    part.command = CommandLine();
    part.revision = Revision();
    part.wall_s = wall_s;
    if (!part.activity) {
      fmt::print(stderr, "{}: {}\n", name, part.reason);
      continue;
    }
    fmt::print(stderr, "{}: {}\n", name, Sanitise(*part.activity).sentence);
    if (!options.kineto.empty()) formats::WriteFile(options.kineto, PrintKineto(*part.activity));
    if (!options.chrome.empty()) formats::WriteFile(options.chrome, PrintChrome(*part.activity));
  }
  WriteRecording(options.out, recording);
  if (status != 0)
    throw RunError(fmt::format("the command ended with status {}; what it did until then is in {}", status,
                               options.out));
  return 0;
}

}  // namespace

RunVerb DeclareRecord(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("--out", options->out, "the berth.trace to write; .zst compresses")
      ->required()
      ->option_text("FILE");
  app.add_option("--kineto", options->kineto,
                 "also as torch.profiler writes it (of several processes the last)")
      ->option_text("FILE");
  app.add_option("--chrome", options->chrome, "also for Perfetto (of several processes the last)")
      ->option_text("FILE");
  app.add_option("COMMAND", options->command, "what to run, behind --")->required();
  return [options] { return Run(*options); };
}

}  // namespace berth::profiler
