// How a time is taken on the device and on the host (profiler/probes.h says what each number means).
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "profiler/cuda/resources.h"
#include "profiler/probes.h"

namespace stowplan::profiler::cuda {

using Work = std::function<void()>;  // enqueues on the timer's stream and returns

// Holds a stream back until it is opened, so that what is enqueued meanwhile starts without waiting for the
// host. Opens by itself after two seconds: what waits for the device while it is closed must not wait forever.
class Gate {
 public:
  Gate();
  void Close(const Stream& stream);
  void Open();

 private:
  PinnedBuffer flag_;
};

// Samples in microseconds, already repeated as the timing says. Throws RunError if the work fails.
class Timer {
 public:
  Timer(const Timing& timing, const Stream& stream) : timing_(timing), stream_(stream) {}
  const Stream& stream() const { return stream_; }

  // Time between two events around `count` calls that were all queued before the first started, divided by count.
  // `before` is queued ahead of the first event.
  std::vector<double> OnDevice(const Work& work, int count = 1, const Work& before = nullptr);
  // Host clock, from idle to idle.
  std::vector<double> Host(const Work& work);
  // Host clock around `count` calls, the queue empty at the first, divided by count.
  std::vector<double> Call(const Work& work, int count = 1);
  // `sample` measures once; for what is neither of the above.
  std::vector<double> Samples(const std::function<double()>& sample);

 private:
  const Timing timing_;
  const Stream& stream_;
  Gate gate_;
  Event begin_, end_;
};

// Host clock [us].
double NowMicros();

}  // namespace stowplan::profiler::cuda
