#include "profiler/cuda/timer.h"

#include <chrono>

#include "profiler/cuda/kernels.h"
#include "profiler/probe_rows.h"

namespace stowplan::profiler::cuda {

double NowMicros() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Gate::Gate() : flag_(sizeof(std::int32_t)) {}

void Gate::Close(const Stream& stream) {
  auto* const flag = static_cast<std::int32_t*>(flag_.get());
  std::atomic_ref(*flag).store(0);
  LaunchHold(flag, stream.get());
}

void Gate::Open() {
  std::atomic_ref(*static_cast<std::int32_t*>(flag_.get())).store(1);
}

std::vector<double> Timer::Samples(const std::function<double()>& sample) {
  return Repeat(timing_, sample);
}

std::vector<double> Timer::OnDevice(const Work& work, int count, const Work& before) {
  // Once without the gate: loading a kernel may wait for the device, which would wait for the gate.
  if (before) before();
  work();
  stream_.Wait();
  return Samples([&] {
    gate_.Close(stream_);
    if (before) before();
    begin_.Record(stream_);
    for (int i = 0; i < count; ++i) work();
    end_.Record(stream_);
    gate_.Open();
    stream_.Wait();
    return end_.MicrosSince(begin_) / count;
  });
}

std::vector<double> Timer::Host(const Work& work) {
  return Samples([&] {
    stream_.Wait();
    const double start = NowMicros();
    work();
    stream_.Wait();
    return NowMicros() - start;
  });
}

std::vector<double> Timer::Call(const Work& work, int count) {
  return Samples([&] {
    stream_.Wait();
    const double start = NowMicros();
    for (int i = 0; i < count; ++i) work();
    const double end = NowMicros();
    stream_.Wait();
    return (end - start) / count;
  });
}

}  // namespace stowplan::profiler::cuda
