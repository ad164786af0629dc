// Ctrl-C (SIGINT) and SIGTERM end long work cleanly, in every verb alike: the first one asks, what is finished is kept,
// one sentence says how to go on, and the exit status is kInterruptedStatus. The second one kills.
#pragma once

#include <atomic>
#include <stdexcept>

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

}  // namespace stowplan::output
