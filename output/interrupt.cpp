#include "output/interrupt.h"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "output/console.h"

namespace stowplan::output {
namespace {

constexpr auto kPatience = std::chrono::milliseconds(1500);
constexpr auto kLook = std::chrono::milliseconds(100);

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

struct EndsInTime::Watch {
  std::function<std::string()> rescue;
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  std::thread thread;

  void Look() {
    std::unique_lock lock(mutex);
    for (auto waited = kLook - kLook; waited < kPatience;) {
      if (changed.wait_for(lock, kLook, [this] { return over; })) return;
      if (stop_requested) waited += kLook;
    }
    // The lock is kept: the work does not come to its end any more.
    std::string sentence;
    int status = kInterruptedStatus;
    try {
      sentence = rescue();
    } catch (const std::exception& error) {
      sentence = error.what();
      status = 1;
    }
    std::fflush(stdout);
    TellSentence(fmt::format("stowplan: {}\n", sentence));
    std::_Exit(status);
  }
};

EndsInTime::EndsInTime(std::function<std::string()> rescue) : watch_(std::make_unique<Watch>()) {
  StopRequested();
  watch_->rescue = std::move(rescue);
  watch_->thread = std::thread([this] { watch_->Look(); });
}

EndsInTime::~EndsInTime() {
  {
    const std::lock_guard lock(watch_->mutex);
    watch_->over = true;
  }
  watch_->changed.notify_one();
  watch_->thread.join();
}

}  // namespace stowplan::output
