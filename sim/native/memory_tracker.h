// Live bytes of every device over a run, and the first request that does not fit (docs/model.md section 5).
// Internal to sim/native/.
#pragma once

#include <algorithm>
#include <compare>
#include <optional>
#include <tuple>
#include <vector>

#include "sim/native/event_tree.h"

namespace berth::sim {

class MemoryTracker {
 public:
  // Where a request stands among those of its instant: the pass, then the step of docs/model.md section 6, then
  // the op or queue number.
  struct Turn {
    std::int32_t pass = 0;
    std::int32_t step = 0;
    std::int32_t number = 0;
    friend auto operator<=>(const Turn&, const Turn&) = default;
  };
  struct Request {
    Picos time = 0;
    Turn turn;
    OpIndex op = -1;
    OutOfMemory::What what = OutOfMemory::What::kOutput;
    Bytes bytes = 0;  // rounded
  };

  explicit MemoryTracker(const Cluster& cluster) {
    for (const Device& device : cluster.devices) {
      const Bytes granularity = device.granularity;
      const bool power_of_two = (granularity & (granularity - 1)) == 0;
      limits_.push_back({granularity, power_of_two ? granularity - 1 : -1, device.capacity()});
    }
    use_.resize(limits_.size());
  }
  void Reset(std::vector<MemoryPoint>* record) {
    std::fill(use_.begin(), use_.end(), Use{});
    oom_.reset();
    record_ = record;
  }
  Bytes Rounded(DeviceIndex device, Bytes bytes) const { return RoundUp(bytes, limits_[device].granularity); }
  // Requests and frees of a device come in their order, but for one that is announced: it takes its turn
  // before the first call for its device whose `before` is later than its time. Only one can be announced.
  void Announce(DeviceIndex device, const Request& request) {
    if (request.bytes != 0) use_[device].announced = request;
  }
  void Settle(DeviceIndex device, Picos before) {
    Use& use = use_[device];
    if (use.announced.time >= before) return;
    Grant(device, use.announced);
    use.announced.time = kNever;
  }
  void Allocate(DeviceIndex device, const Request& request, Picos before) {
    if (request.bytes == 0) return;
    Settle(device, before);
    Grant(device, request);
  }
  // `bytes` must have been rounded.
  void Free(Picos now, DeviceIndex device, OpIndex op, OutOfMemory::What what, Bytes bytes, Picos before) {
    if (bytes == 0) return;
    Settle(device, before);
    Bytes& live = use_[device].live;
    live -= bytes;
    if (record_ != nullptr) record_->push_back({now, device, live, op, what, -bytes});
  }
  Bytes peak(DeviceIndex device) const { return use_[device].peak; }
  Bytes capacity(DeviceIndex device) const { return limits_[device].capacity; }
  const std::optional<OutOfMemory>& oom() const { return oom_; }

  struct Use {
    Bytes live = 0, peak = 0;
    Request announced{.time = kNever};
  };
  const ById<Use>& use() const { return use_; }
  // As it was, with nothing refused yet.
  void Restart(const ById<Use>& use) {
    use_ = use;
    oom_.reset();
    record_ = nullptr;
  }
  // The peaks from now on.
  void RestartPeaks() {
    for (Use& use : use_) use.peak = use.live;
  }
  // At the start of a run: persistent bytes of the device are more by these (rounded).
  void AddPersistent(DeviceIndex device, Bytes bytes) {
    use_[device].live += bytes;
    use_[device].peak = use_[device].live;
  }
  bool Equals(const ById<Use>& other, Picos shift) const {
    return std::equal(use_.begin(), use_.end(), other.begin(), [shift](const Use& mine, const Use& theirs) {
      const Request &a = mine.announced, &b = theirs.announced;
      return a.time == Later(b.time, shift) &&
             (a.time == kNever || (a.turn == b.turn && a.op == b.op && a.bytes == b.bytes));
    });
  }
  // From what equals `from` to what equals `to`, `shift` later, but for bytes that are live all the while:
  // between them the device had this peak where `from` and `to` were taken.
  void Advance(DeviceIndex device, const Use& from, const Use& to, Bytes peak, Picos shift) {
    Use& use = use_[device];
    const Bytes more = use.live - from.live;
    use.peak = std::max(use.peak, peak + more);
    use.live = to.live + more;
    use.announced = to.announced;
    use.announced.time = Later(to.announced.time, shift);
  }

 private:
  struct Limits {
    Bytes granularity;
    Bytes mask;  // granularity - 1 if that is a power of two, else -1
    Bytes capacity;
  };
  void Grant(DeviceIndex device, const Request& request) {
    Use& use = use_[device];
    use.live += request.bytes;
    use.peak = std::max(use.peak, use.live);
    if (use.live > limits_[device].capacity) Refuse(device, request);
    if (record_ != nullptr)
      record_->push_back({request.time, device, use.live, request.op, request.what, request.bytes});
  }
  // Not the first call but the first request is the run's.
  void Refuse(DeviceIndex device, const Request& request) {
    if (oom_ && std::tie(oom_->time, oom_turn_) < std::tie(request.time, request.turn)) return;
    oom_ = {device, request.op, request.what, request.time, use_[device].live, limits_[device].capacity};
    oom_turn_ = request.turn;
  }

  ById<Limits> limits_;
  ById<Use> use_;
  std::optional<OutOfMemory> oom_;
  Turn oom_turn_;
  std::vector<MemoryPoint>* record_ = nullptr;
};

}  // namespace berth::sim
