// Live bytes of every device over a run, and the first request that does not fit (docs/model.md section 5).
// Internal to sim/native/.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "sim/compiled.h"

namespace berth::sim {

class MemoryTracker {
 public:
  explicit MemoryTracker(const Cluster& cluster) {
    for (const Device& device : cluster.devices) limits_.push_back({device.granularity, device.capacity()});
    use_.resize(limits_.size());
  }
  void Reset(std::vector<MemoryPoint>* record) {
    std::fill(use_.begin(), use_.end(), Use{});
    oom_.reset();
    record_ = record;
  }
  Bytes Rounded(DeviceIndex device, Bytes bytes) const { return RoundUp(bytes, limits_[device].granularity); }
  // `bytes` must have been rounded.
  void Allocate(Picos now, DeviceIndex device, OpIndex op, OutOfMemory::What what, Bytes bytes) {
    if (bytes == 0) return;
    Use& use = use_[device];
    use.live += bytes;
    use.peak = std::max(use.peak, use.live);
    if (use.live > limits_[device].capacity && !oom_)
      oom_ = {device, op, what, now, use.live, limits_[device].capacity};
    if (record_ != nullptr) record_->push_back({now, device, use.live, op, what, bytes});
  }
  void Free(Picos now, DeviceIndex device, OpIndex op, OutOfMemory::What what, Bytes bytes) {
    if (bytes == 0) return;
    Bytes& live = use_[device].live;
    live -= bytes;
    if (record_ != nullptr) record_->push_back({now, device, live, op, what, -bytes});
  }
  Bytes peak(DeviceIndex device) const { return use_[device].peak; }
  const std::optional<OutOfMemory>& oom() const { return oom_; }

 private:
  struct Limits {
    Bytes granularity, capacity;
  };
  struct Use {
    Bytes live = 0, peak = 0;
  };
  ById<Limits> limits_;
  ById<Use> use_;
  std::optional<OutOfMemory> oom_;
  std::vector<MemoryPoint>* record_ = nullptr;
};

}  // namespace berth::sim
