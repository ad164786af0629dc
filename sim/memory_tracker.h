// Live bytes of every device over a run, and the first request that does not fit (docs/model.md section 5).
// Internal to sim/.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "sim/compiled.h"

namespace berth::sim {

class MemoryTracker {
 public:
  explicit MemoryTracker(const Cluster& cluster) : cluster_(&cluster) {
    for (const Device& device : cluster.devices) {
      granularity_.push_back(device.granularity);
      capacity_.push_back(device.capacity());
    }
  }
  void Reset(std::vector<MemoryPoint>* record) {
    live_.assign(cluster_->devices.size(), 0);
    peak_.assign(cluster_->devices.size(), 0);
    oom_.reset();
    record_ = record;
  }
  Bytes Rounded(DeviceIndex device, Bytes bytes) const {
    return RoundUp(bytes, granularity_[static_cast<std::size_t>(device)]);
  }
  // `bytes` must have been rounded.
  void Allocate(Picos now, DeviceIndex device, OpIndex op, OutOfMemory::What what, Bytes bytes) {
    if (bytes == 0) return;
    const auto d = static_cast<std::size_t>(device);
    live_[d] += bytes;
    peak_[d] = std::max(peak_[d], live_[d]);
    if (live_[d] > capacity_[d] && !oom_) oom_ = {device, op, what, now, live_[d], capacity_[d]};
    if (record_ != nullptr) record_->push_back({now, device, live_[d], op, what, bytes});
  }
  void Free(Picos now, DeviceIndex device, OpIndex op, OutOfMemory::What what, Bytes bytes) {
    if (bytes == 0) return;
    const auto d = static_cast<std::size_t>(device);
    live_[d] -= bytes;
    if (record_ != nullptr) record_->push_back({now, device, live_[d], op, what, -bytes});
  }
  Bytes peak(DeviceIndex device) const { return peak_[static_cast<std::size_t>(device)]; }
  const std::optional<OutOfMemory>& oom() const { return oom_; }

 private:
  const Cluster* cluster_;
  std::vector<Bytes> granularity_, capacity_, live_, peak_;
  std::optional<OutOfMemory> oom_;
  std::vector<MemoryPoint>* record_ = nullptr;
};

}  // namespace berth::sim
