// What makes a thread a device: its cores, its arithmetic, its clock, and whether it was disturbed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

namespace stowplan::profiler {

// Pins the calling thread, makes it flush denormal numbers to zero as all devices do, and sets the threads
// that an op may use. Throws RunError where it cannot be pinned.
void BecomeDevice(const std::vector<int>& cores);

// Runs `work` on a thread of its own that is a device; what it throws is thrown here.
void OnDevice(const std::vector<int>& cores, const std::function<void()>& work);

// The clock of all spans [ns].
inline std::int64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Times of this thread's core being given to somebody else, so far.
std::int64_t Preemptions();

}  // namespace stowplan::profiler
