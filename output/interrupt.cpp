#include "output/interrupt.h"

#include <csignal>

namespace stowplan::output {
namespace {

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

void OnSignal(int signal) {
  stop_requested.store(true);
  std::signal(signal, SIG_DFL);
}

}  // namespace

const std::atomic<bool>& StopRequested() {
  static const bool installed = [] {
    std::signal(SIGINT, OnSignal);
    std::signal(SIGTERM, OnSignal);
    return true;
  }();
  (void)installed;
  return stop_requested;
}

}  // namespace stowplan::output
