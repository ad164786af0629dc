// Other programs: how one is started, spoken with and ended, and how one is run within limits of time and output.
// Its words are handed over as they are: no shell reads them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stowplan {

struct ProcessEnd {
  int status = 0;  // as a shell says it: the exit status; 128 + n where signal n ended it
  int signal = 0;  // 0 = it exited

  std::string Sentence() const;  // "ended with status 3", "was ended by signal 9"
};

// One thread at a time. No signal of ours is lost or left: a program that went away is no SIGPIPE. It starts with no signal
// blocked, and with SIGPIPE, SIGINT and SIGTERM as they are by default.
class Process {
 public:
  enum class Stream : std::uint8_t { kOurs, kPipe, kNull };  // kNull: /dev/null
  struct Options {
    Stream input = Stream::kNull;
    Stream output = Stream::kPipe;
    Stream errors = Stream::kOurs;  // no pipe
    bool own_group = true;          // Ctrl-C is ours alone, and our signals reach what it has started too
  };
  // `words`: the program, looked for on the PATH where it has no slash, and its arguments. Throws InputError where it is no program
  // that can be run, RunError where the system has no process left.
  Process(const std::vector<std::string>& words, const Options& options);
  // Kills what still runs and waits for it, but not for long: what is stuck in a driver does not end.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Writes of `rest` what it takes now, which is then gone from there. False where it reads no more.
  bool Write(std::string_view& rest);
  void CloseInput();
  // Waits for output or, `to_write`, for input that it takes: for `patience`, and a tenth of a second at most. False where
  // nothing happened. Output is appended to `output`, and left where it is once there are more than `most` bytes.
  bool Await(std::chrono::nanoseconds patience, bool to_write, std::string& output, std::size_t most);
  bool output_ended() const { return output_ended_; }

  void Signal(int number) const;
  // Asks it to end, and waits until neither it nor what it has started holds its output.
  void Terminate(std::chrono::nanoseconds patience);
  // Nothing where it still runs then. Throws RunError where the system does not tell.
  std::optional<ProcessEnd> AwaitEnd(std::chrono::nanoseconds patience) const;

 private:
  void Receive(std::string& output, std::size_t most);

  bool own_group_;
  int pid_ = -1;
  int input_ = -1;   // its standard input, our end
  int output_ = -1;  // its standard output, our end
  bool output_ended_ = false;
};

// At either it is killed, with what it has started.
struct ProcessLimits {
  std::chrono::nanoseconds time{};  // from its start to its end
  std::size_t output = 0;           // [B]
};

struct ProcessResult {
  bool started = false;
  std::optional<ProcessEnd> end;  // nothing where it did not start or was killed at a limit
  std::string output;             // no longer than the limit
  std::string failure;            // empty = status 0; else after its name: "has not ended within 10 s"
};

// Runs it to its end with nothing to read. Throws RunError where the system has no process left.
ProcessResult RunProcess(const std::vector<std::string>& words, const ProcessLimits& limits,
                         Process::Stream errors = Process::Stream::kOurs);

}  // namespace stowplan
