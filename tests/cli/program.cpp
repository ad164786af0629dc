#include "tests/cli/program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/testing.h"

namespace stowplan::testing {
namespace {

constexpr char kProgram[] = STOWPLAN_BINARY_DIR "/cli/stowplan";

// Starts a program; its input and output are files.
struct Streams {
  std::string in = "/dev/null", out = "/dev/null", err = "/dev/null";
};
int Start(const std::vector<std::string>& words, const std::string& directory, const Streams& streams) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const int pid = fork();
  if (pid != 0) return pid;
  if (!directory.empty() && chdir(directory.c_str()) != 0) _exit(125);
  const int in_file = open(streams.in.c_str(), O_RDONLY);
  const int out_file = open(streams.out.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  const int err_file = open(streams.err.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  if (in_file < 0 || out_file < 0 || err_file < 0) _exit(126);
  dup2(in_file, 0);
  dup2(out_file, 1);
  dup2(err_file, 2);
  execv(words.front().c_str(), argv.data());
  _exit(127);
}

std::vector<std::string> Call(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {kProgram};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

int WaitFor(int pid) {
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

ProgramResult Run(const std::vector<std::string>& words, const std::string& directory,
                  const std::string& input) {
  const tests::TempFolder folder;
  std::ofstream(folder / "in", std::ios::binary) << input;
  ProgramResult result;
  result.status = WaitFor(Start(words, directory, {folder / "in", folder / "out", folder / "err"}));
  result.out = ReadAll(folder / "out");
  result.err = ReadAll(folder / "err");
  return result;
}

}  // namespace

ProgramResult RunStowplan(const std::vector<std::string>& arguments, const std::string& directory,
                          const std::string& input) {
  return Run(Call(arguments), directory, input);
}

ProgramResult RunShell(const std::string& line) {
  const tests::TempFolder folder;
  constexpr std::string_view kName = "STOWPLAN";
  std::string call = line;
  for (std::size_t at = call.find(kName); at != std::string::npos;
       at = call.find(kName, at + sizeof kProgram))
    call.replace(at, kName.size(), kProgram);
  return Run({"/bin/bash", "-c", call}, folder.path(), "");
}

nlohmann::json JsonOf(const ProgramResult& result) {
  EXPECT_EQ(result.status, 0) << result.err;
  return nlohmann::json::parse(result.out);
}

void ExpectRefused(const std::vector<std::string>& arguments, const std::string& says) {
  const ProgramResult result = RunStowplan(arguments);
  EXPECT_EQ(result.status, 2) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_THAT(result.err, ::testing::HasSubstr(says));
}

RunningProgram::RunningProgram(const std::vector<std::string>& arguments, const std::string& directory)
    : pid_(Start(Call(arguments), directory, {})) {}

RunningProgram::~RunningProgram() {
  if (pid_ > 0) StopAndWait(SIGKILL);
}

int RunningProgram::StopAndWait(int signal) {
  kill(pid_, signal);
  const int status = WaitFor(pid_);
  pid_ = -1;
  return status;
}

}  // namespace stowplan::testing
