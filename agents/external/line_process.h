// A program of the user's that is spoken with in lines: one in, one out.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/process.h"

namespace stowplan::agents {

// One thread at a time. Its standard error is ours. What goes wrong is thrown as an InputError that ends the sentence
// that the caller begins: "ended with status 3 …". No signal of ours is lost or left: a program that went away is no SIGPIPE.
class LineProcess {
 public:
  struct Options {
    std::chrono::nanoseconds timeout{};  // between a line's last byte in, or out, and the next progress
    std::size_t longest_line = 0;        // that it may write [B]
    std::function<bool()> stop;          // asked ten times a second
  };
  // `command`: a line for /bin/sh, which runs in a process group of its own, so that Ctrl-C is ours alone. Throws RunError
  // where the system has no process left.
  LineProcess(const std::string& command, Options options);
  // Kills what still runs, the processes that it started too, and waits for it.
  ~LineProcess();
  LineProcess(const LineProcess&) = delete;
  LineProcess& operator=(const LineProcess&) = delete;

  // Writes `line` and a line break. False where it was asked to stop.
  bool Write(std::string_view line);
  // The next line without its break; nothing where it was asked to stop.
  std::optional<std::string> Read();
  // Says that no more comes, and gives it a moment to end by itself.
  void Finish();

 private:
  bool WaitUntil(bool readable, std::chrono::steady_clock::time_point deadline);
  [[noreturn]] void FailAsEnded();

  Options options_;
  Process process_;
  std::string received_;
  std::size_t searched_ = 0;  // in received_: no line break before
};

}  // namespace stowplan::agents
