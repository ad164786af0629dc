#include "sim/base/process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/error.h"

extern char** environ;

namespace stowplan {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds kLookEvery = 100ms;
constexpr std::chrono::nanoseconds kPatienceWithKilled = 2s;

// SIGPIPE is held back while this lives, and one that came is taken: whoever handles it elsewhere never sees it.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoBrokenPipe() {
    constexpr timespec kAtOnce{};
    if (!was_pending_) {
      while (sigtimedwait(&pipe_, nullptr, &kAtOnce) < 0 && errno == EINTR) continue;
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

void Close(int& end) {
  if (end >= 0) close(end);
  end = -1;
}

// What a program is started with: a pipe's end or /dev/null for each stream that is not ours.
class Spawn {
 public:
  explicit Spawn(bool own_group) {
    posix_spawn_file_actions_init(&files_);
    posix_spawnattr_init(&attributes_);
    sigset_t defaults, none;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (const int signal : {SIGPIPE, SIGINT, SIGTERM}) sigaddset(&defaults, signal);
    posix_spawnattr_setsigdefault(&attributes_, &defaults);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setpgroup(&attributes_, 0);
    const int flags =
        POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | (own_group ? POSIX_SPAWN_SETPGROUP : 0);
    posix_spawnattr_setflags(&attributes_, static_cast<short>(flags));
  }
  ~Spawn() {
    for (int& end : theirs_) Close(end);
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&files_);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  // Our end of a pipe, which does not block us; else none. Programs that other threads start meanwhile close both ends: else
  // one of those would hold the pipe open.
  int Connect(int number, Process::Stream stream) {
    const bool is_input = number == STDIN_FILENO;
    if (stream == Process::Stream::kNull)
      posix_spawn_file_actions_addopen(&files_, number, "/dev/null", is_input ? O_RDONLY : O_WRONLY, 0);
    if (stream != Process::Stream::kPipe) return -1;
    std::array<int, 2> ends{-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
      throw RunError(std::string("no pipe to another program: ") + std::strerror(errno));
    const int ours = ends[is_input ? 1 : 0];
    theirs_.push_back(ends[is_input ? 0 : 1]);
    posix_spawn_file_actions_adddup2(&files_, theirs_.back(), number);
    fcntl(ours, F_SETFL, fcntl(ours, F_GETFL) | O_NONBLOCK);
    return ours;
  }

  pid_t Start(const std::vector<std::string>& words) const {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_t pid = -1;
    const int error = posix_spawnp(&pid, arguments[0], &files_, &attributes_, arguments.data(), environ);
    if (error == 0) return pid;
    const std::string why = words.front() + " cannot be started: " + std::strerror(error);
    if (error == EAGAIN || error == ENOMEM) throw RunError(why);
    throw InputError(why);
  }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
  std::vector<int> theirs_;
};

// Asks `is_done` until it says so, for `patience`.
template <typename Condition>
bool Poll(Condition is_done, std::chrono::nanoseconds patience) {
  const Clock::time_point deadline = Clock::now() + patience;
  for (std::chrono::nanoseconds pause = 1ms; !is_done();
       pause = std::min<std::chrono::nanoseconds>(2 * pause, 50ms)) {
    const auto left = deadline - Clock::now();
    if (left <= 0ns) return false;
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(pause, left));
  }
  return true;
}

}  // namespace

std::string ProcessEnd::Sentence() const {
  return signal != 0 ? "was ended by signal " + std::to_string(signal)
                     : "ended with status " + std::to_string(status);
}

Process::Process(const std::vector<std::string>& words, const Options& options)
    : own_group_(options.own_group) {
  Spawn spawn(own_group_);
  try {
    input_ = spawn.Connect(STDIN_FILENO, options.input);
    output_ = spawn.Connect(STDOUT_FILENO, options.output);
    spawn.Connect(STDERR_FILENO, options.errors);
    pid_ = spawn.Start(words);
  } catch (const std::runtime_error&) {
    Close(input_);
    Close(output_);
    throw;
  }
}

// It is waited for last: until then its number is nobody else's, and what it has started is of its group.
Process::~Process() {
  Close(input_);
  Close(output_);
  Signal(SIGKILL);
  Poll([&] { return waitpid(pid_, nullptr, WNOHANG) != 0; }, kPatienceWithKilled);
}

bool Process::Write(std::string_view& rest) {
  const NoBrokenPipe guard;
  while (!rest.empty()) {
    const ssize_t written = write(input_, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      return errno == EAGAIN;
    }
  }
  return true;
}

void Process::CloseInput() {
  Close(input_);
}

bool Process::Await(std::chrono::nanoseconds patience, bool to_write, std::string& output, std::size_t most) {
  std::array<pollfd, 2> ends = {pollfd{output_ended_ ? -1 : output_, POLLIN, 0},
                                pollfd{to_write ? input_ : -1, POLLOUT, 0}};
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(std::clamp<std::chrono::nanoseconds>(
      patience, 0ns, kLookEvery));  // poll() waits for ever for less than 0;
  const int ready = poll(ends.data(), ends.size(), static_cast<int>(wait.count()));
  // What it has started may hold its output open for ever.
  const bool has_ended = ready == 0 && !to_write && AwaitEnd(0ns);
  if (has_ended || (ready > 0 && ends[0].revents != 0)) Receive(output, most);
  if (has_ended) output_ended_ = true;
  return has_ended || ready > 0;
}

void Process::Receive(std::string& output, std::size_t most) {
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  std::array<char, kPiece> piece{};
  while (output.size() <= most) {
    const ssize_t got = read(output_, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got == 0 || (got < 0 && errno != EAGAIN)) output_ended_ = true;
    if (got <= 0) return;
    output.append(piece.data(), static_cast<std::size_t>(got));
  }
}

void Process::Signal(int number) const {
  kill(own_group_ ? -pid_ : pid_, number);
}

// A shell ends at once; the program that it started has our pipe until it has saved what it wants to.
void Process::Terminate(std::chrono::nanoseconds patience) {
  Signal(SIGTERM);
  const Clock::time_point deadline = Clock::now() + patience;
  while (!output_ended_ && Clock::now() < deadline) {
    pollfd end{output_, POLLIN, 0};
    std::string ignored;
    if (poll(&end, 1, static_cast<int>(kLookEvery / 1ms)) > 0) Receive(ignored, 0);
  }
}

std::optional<ProcessEnd> Process::AwaitEnd(std::chrono::nanoseconds patience) const {
  siginfo_t info{};
  const auto is_known = [&] {
    if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) < 0)
      throw RunError(std::string("a program cannot be waited for: ") + std::strerror(errno));
    return info.si_pid == pid_;
  };
  if (!Poll(is_known, patience)) return std::nullopt;
  if (info.si_code == CLD_EXITED) return ProcessEnd{.status = info.si_status};
  return ProcessEnd{.status = 128 + info.si_status, .signal = info.si_status};
}

ProcessResult RunProcess(const std::vector<std::string>& words, const ProcessLimits& limits,
                         Process::Stream errors) {
  const Clock::time_point deadline = Clock::now() + limits.time;
  ProcessResult result;
  std::optional<Process> process;
  try {
    process.emplace(words, Process::Options{.errors = errors});
  } catch (const InputError& error) {
    result.failure = std::string(error.what()).substr(words.front().size() + 1);
    return result;
  }
  result.started = true;
  while (!process->output_ended() && result.output.size() <= limits.output && Clock::now() < deadline)
    process->Await(deadline - Clock::now(), false, result.output, limits.output);
  if (result.output.size() > limits.output) {
    result.output.resize(limits.output);
    result.failure = "has written more than " + std::to_string(limits.output) + " bytes";
  } else if (result.end = process->AwaitEnd(deadline - Clock::now()); !result.end) {
    std::ostringstream failure;
    failure << "has not ended within " << std::chrono::duration<double>(limits.time).count() << " s";
    result.failure = failure.str();
  } else if (result.end->status != 0) {
    result.failure = result.end->Sentence();
  }
  return result;
}

}  // namespace stowplan
