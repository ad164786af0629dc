#include "sim/native/shared_device.h"

#include <algorithm>

namespace stowplan::sim {

std::int64_t OpRate(const Device& device, int running, Beside beside) {
  const auto k = static_cast<std::size_t>(running);
  const std::int64_t concurrency = k <= device.concurrency_ppm.size()
                                       ? kRateUnit * device.concurrency_ppm[k - 1]
                                       : kRateUnit * kPpm / running;
  return concurrency * std::min(beside.copy ? device.overlap_copy_ppm : kPpm,
                                beside.collective ? device.overlap_collective_ppm : kPpm);
}

bool HasFixedRate(const Device& device) {
  return device.streams == 1 && device.overlap_copy_ppm == kPpm && OpRate(device, 1, {}) == kRateOne;
}

SharedDevice::SharedDevice(const Device& device, OpIndex ops) : device_(&device) {
  ops_.reserve(static_cast<std::size_t>(std::min(device.streams, ops)));
  for (int k = 1; k <= device.streams; ++k)
    no_faster_ = no_faster_ && Int128{k} * OpRate(device, k, {}) <= kRateOne;
}

}  // namespace stowplan::sim
