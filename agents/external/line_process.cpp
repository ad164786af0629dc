#include "agents/external/line_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/error.h"

extern char** environ;

namespace stowplan::agents {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kLookEvery = 100ms;
// To end by itself once it has nothing more to do, and then after it was asked to.
constexpr auto kGrace = 2s;

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

// Closed by programs that other threads start meanwhile: else one of those would hold the pipe open.
std::array<int, 2> Pipe() {
  std::array<int, 2> ends{-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw RunError(std::string("no pipe to another program: ") + std::strerror(errno));
  return ends;
}

void DoNotBlock(int end) {
  fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK);
}

void Close(int& end) {
  if (end >= 0) close(end);
  end = -1;
}

pid_t Spawn(const std::string& command, int in, int out) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
  posix_spawnattr_t how;
  posix_spawnattr_init(&how);
  sigset_t defaults, none;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM}) sigaddset(&defaults, signal);
  posix_spawnattr_setsigdefault(&how, &defaults);
  posix_spawnattr_setsigmask(&how, &none);
  posix_spawnattr_setpgroup(&how, 0);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  std::string shell = "sh", option = "-c", line = command;
  std::array<char*, 4> words = {shell.data(), option.data(), line.data(), nullptr};
  pid_t pid = -1;
  const int error = posix_spawn(&pid, "/bin/sh", &files, &how, words.data(), environ);
  posix_spawnattr_destroy(&how);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) throw RunError(std::string("/bin/sh cannot be started: ") + std::strerror(error));
  return pid;
}

}  // namespace

LineProcess::LineProcess(const std::string& command, Options options) : options_(std::move(options)) {
  std::array<int, 2> in = Pipe();
  std::array<int, 2> out = Pipe();
  try {
    pid_ = Spawn(command, in[0], out[1]);
  } catch (const RunError&) {
    for (int* end : {&in[0], &in[1], &out[0], &out[1]}) Close(*end);
    throw;
  }
  Close(in[0]);
  Close(out[1]);
  input_ = in[1];
  output_ = out[0];
  DoNotBlock(input_);
  DoNotBlock(output_);
}

// It is waited for last: until then its number is nobody else's, and what it has started is of its group.
LineProcess::~LineProcess() {
  CloseInput();
  if (!HasEnded(0ns)) {
    kill(-pid_, SIGTERM);
    AwaitEndOfOutput();
  }
  Close(output_);
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

// A shell ends at once; the program that it started has our pipe until it has saved what it wants to.
void LineProcess::AwaitEndOfOutput() {
  const Clock::time_point deadline = Clock::now() + kGrace;
  while (!output_ended_ && Clock::now() < deadline) {
    pollfd end{output_, POLLIN, 0};
    received_.clear();
    if (poll(&end, 1, static_cast<int>(kLookEvery.count())) > 0) Receive();
  }
}

void LineProcess::CloseInput() {
  Close(input_);
}

void LineProcess::Finish() {
  CloseInput();
  HasEnded(kGrace);
}

bool LineProcess::HasEnded(std::chrono::nanoseconds patience) {
  const Clock::time_point deadline = Clock::now() + patience;
  for (auto pause = 1ms;; pause = std::min(2 * pause, 50ms)) {
    end_ = {};
    if (waitid(P_PID, static_cast<id_t>(pid_), &end_, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        end_.si_pid == pid_)
      return true;
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(pause);
  }
}

// Its input is full, or its output empty, until something happens; what it says is taken at once in either case, so that
// neither waits for the other for ever. False where we are to stop.
bool LineProcess::WaitUntil(bool readable, Clock::time_point deadline) {
  for (;;) {
    if (options_.stop && options_.stop()) return false;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left <= 0ms)
      throw InputError(
          fmt::format("has said nothing for {:g} s; timeout=SECONDS gives it longer",
                      std::chrono::duration_cast<std::chrono::duration<double>>(options_.timeout).count()));
    std::array<pollfd, 2> ends = {pollfd{output_ended_ ? -1 : output_, POLLIN, 0},
                                  pollfd{readable ? -1 : input_, POLLOUT, 0}};
    const int ready =
        poll(ends.data(), ends.size(), static_cast<int>(std::min(left, kLookEvery + 0ms).count()));
    if (ready > 0 && ends[0].revents != 0) Receive();
    if (ready > 0) return true;
    // What it started may hold its output open for ever.
    if (ready == 0 && readable && HasEnded(0ns)) {
      Receive();
      output_ended_ = true;
      return true;
    }
  }
}

void LineProcess::Receive() {
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  std::array<char, kPiece> piece{};
  for (;;) {
    const ssize_t got = read(output_, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got == 0 || (got < 0 && errno != EAGAIN)) output_ended_ = true;
    if (got <= 0) return;
    received_.append(piece.data(), static_cast<std::size_t>(got));
    if (received_.size() > options_.longest_line) return;
  }
}

void LineProcess::FailAsEnded() {
  if (!HasEnded(kGrace)) throw InputError("closed its standard output, but did not end");
  if (end_.si_code != CLD_EXITED) throw InputError(fmt::format("was ended by signal {}", end_.si_status));
  constexpr int kShellFoundNone = 127;
  if (end_.si_status == kShellFoundNone) throw InputError("is no program that the shell finds (status 127)");
  throw InputError(fmt::format("ended with status {}", end_.si_status));
}

bool LineProcess::Write(std::string_view line) {
  const NoBrokenPipe guard;
  std::string text(line);
  text += '\n';
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = write(input_, rest.data(), rest.size());
    if (written > 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (written < 0 && errno == EAGAIN) {
      if (!WaitUntil(false, Clock::now() + options_.timeout)) return false;
      if (received_.size() > options_.longest_line)
        throw InputError(fmt::format("writes more than {} bytes without reading", options_.longest_line));
    } else if (errno != EINTR) {
      return true;  // it reads no more: what it has said is still read, and then how it ended
    }
  }
  return true;
}

std::optional<std::string> LineProcess::Read() {
  const Clock::time_point deadline = Clock::now() + options_.timeout;
  for (;;) {
    const std::size_t end = received_.find('\n', searched_);
    if (end != std::string::npos && end <= options_.longest_line) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      searched_ = 0;
      return line;
    }
    searched_ = received_.size();
    if (received_.size() > options_.longest_line)
      throw InputError(fmt::format("wrote a line of more than {} bytes", options_.longest_line));
    if (output_ended_) FailAsEnded();
    if (!WaitUntil(true, deadline)) return std::nullopt;
  }
}

}  // namespace stowplan::agents
