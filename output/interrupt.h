// Ctrl-C (SIGINT) and SIGTERM end long work cleanly, in every verb alike: the first one asks, what is finished is kept,
// one sentence says how to go on, and the exit status is kInterruptedStatus. The second one kills.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

namespace stowplan::output {

// As shells report a program that SIGINT ended.
inline constexpr int kInterruptedStatus = 130;

// Thrown once everything that is finished has been kept. One full sentence: how far it came, how to go on.
class Interrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Installs the handlers at the first call; the flag is set once the user asks to stop.
const std::atomic<bool>& StopRequested();

// Work that does not look at the flag, in a library of others above all, ends all the same: where one of these still lives a
// second and a half after the first signal, another thread calls `rescue`, which keeps what is finished and returns
// Interrupted's sentence, and the program ends. One at a time.
class EndsInTime {
 public:
  explicit EndsInTime(std::function<std::string()> rescue);
  ~EndsInTime();  // waits for ever where `rescue` was called
  EndsInTime(const EndsInTime&) = delete;
  EndsInTime& operator=(const EndsInTime&) = delete;

 private:
  struct Watch;
  std::unique_ptr<Watch> watch_;
};

}  // namespace stowplan::output
