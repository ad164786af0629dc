// How the executor's threads wait for one another and talk: spinning, a barrier, a ring of messages.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include <sched.h>

namespace stowplan::profiler {

// Waits without sleeping: to be woken takes longer than most ops. Beyond some milliseconds it lets others have
// the core, as where two devices have one between them.
class Spin {
 public:
  void Pause() {
    constexpr int kPatience = 1 << 17;
    if (++pauses_ < kPatience) {
      __builtin_ia32_pause();
    } else {
      ::sched_yield();
    }
  }

 private:
  int pauses_ = 0;
};

// When to ask an accelerator again what is done: asking costs about a microsecond and a lock that all threads of the
// process share, so it is asked less often the longer nothing happens. Times in nanoseconds of one clock.
class PollInterval {
 public:
  bool Due(std::int64_t now) const { return now >= next_; }
  void Found() {
    next_ = 0;
    wait_ = kLeast;
  }
  void FoundNothing(std::int64_t now) {
    next_ = now + wait_;
    wait_ = wait_ * 2 < kMost ? wait_ * 2 : kMost;
  }

 private:
  static constexpr std::int64_t kLeast = 250, kMost = 4000;
  std::int64_t next_ = 0;
  std::int64_t wait_ = kLeast;
};

class Barrier {
 public:
  explicit Barrier(int threads) : threads_(threads) {}
  void Wait() {
    const int round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    Spin spin;
    while (round_.load(std::memory_order_acquire) == round) spin.Pause();
  }

 private:
  int threads_;
  std::atomic<int> arrived_ = 0;
  std::atomic<int> round_ = 0;
};

// From one device to another, at most `capacity` messages a step.
class Ring {
 public:
  void Prepare(std::size_t capacity) {
    messages_.resize(capacity);
    Reset();
  }
  void Reset() {
    sent_.store(0, std::memory_order_relaxed);
    taken_ = 0;
  }
  void Send(std::int32_t message) {
    const std::size_t at = sent_.load(std::memory_order_relaxed);
    messages_[at] = message;
    sent_.store(at + 1, std::memory_order_release);
  }
  bool Take(std::int32_t* message) {
    if (taken_ == sent_.load(std::memory_order_acquire)) return false;
    *message = messages_[taken_++];
    return true;
  }
  // The first that is wanted of those that were sent and not taken; -1: none.
  template <typename Wanted>
  std::int32_t FindNext(Wanted wanted) const {
    for (std::size_t i = taken_; i < sent_.load(std::memory_order_acquire); ++i)
      if (wanted(messages_[i])) return messages_[i];
    return -1;
  }

 private:
  std::vector<std::int32_t> messages_;
  alignas(64) std::atomic<std::size_t> sent_ = 0;  // by the sender
  alignas(64) std::size_t taken_ = 0;              // by the receiver
};

}  // namespace stowplan::profiler
