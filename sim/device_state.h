// What runs on one device: in-order queue, streams, rates (docs/model.md section 3). Internal to sim/.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/transfer.h"

namespace berth::sim {

// Rates are integers of which kRateOne means 1, so that 1/k and parts per million are exact.
inline constexpr std::int64_t kRateUnit = 720'720;
inline constexpr std::int64_t kRateOne = kRateUnit * kPpm * kPpm;

// The rate of each op while `running` ops and, if `copying`, a copy run.
std::int64_t OpRate(const Device& device, int running, bool copying);

// The running ops of a device. A device with one stream and no slow-down by copies never changes a rate; then
// the end of an op is known when it starts and nothing below is computed.
class RunningOps {
 public:
  explicit RunningOps(const Device& device)
      : device_(&device),
        fixed_rate_(device.streams == 1 && device.overlap_copy_ppm == kPpm &&
                    OpRate(device, 1, false) == kRateOne) {}

  void Reset() {
    ops_.clear();
    copies_ = 0;
    last_ = since_ = busy_ = 0;
    rate_ = kRateOne;
    changed_ = false;
    next_ = kNever;
  }
  bool full() const { return static_cast<int>(ops_.size()) >= device_->streams; }
  Picos next() const { return next_; }
  Picos busy() const { return busy_; }

  void Start(Picos now, OpIndex op, Picos cost) {
    if (ops_.empty()) since_ = now;
    if (fixed_rate_) {
      ops_.push_back({op, 0});
      next_ = now + cost;
      return;
    }
    Advance(now);
    ops_.push_back({op, static_cast<Int128>(cost) * kRateOne});
    changed_ = true;
  }
  // Removes those that end now and appends them in op order.
  void PopEnded(Picos now, std::vector<OpIndex>& ended) {
    if (next_ != now) return;
    const std::size_t first = ended.size();
    if (fixed_rate_) {
      ended.push_back(ops_.front().op);
      ops_.clear();
      next_ = kNever;
    } else {
      Advance(now);
      std::erase_if(ops_, [&](const Running& running) {
        if (running.remaining > 0) return false;
        ended.push_back(running.op);
        return true;
      });
      std::sort(ended.begin() + static_cast<std::ptrdiff_t>(first), ended.end());
      changed_ = true;
      next_ = kNever;  // until Update() of this pass
    }
    if (ops_.empty()) busy_ += now - since_;
  }
  // Counts copies from and to the device that have started and not ended.
  void AddCopies(Picos now, int change) {
    if (fixed_rate_) return;
    Advance(now);
    copies_ += change;
    changed_ = true;
  }
  // At the end of a pass: the rate in force from now on, and when the next op ends under it.
  void Update(Picos now) {
    if (!changed_) return;
    changed_ = false;
    rate_ = ops_.empty() ? kRateOne : OpRate(*device_, static_cast<int>(ops_.size()), copies_ > 0);
    next_ = kNever;
    for (const Running& running : ops_)
      next_ = std::min(next_, now + DivCeil(std::max<Int128>(running.remaining, 0), rate_));
  }

 private:
  struct Running {
    OpIndex op;
    Int128 remaining;  // [1 / kRateOne ps]
  };
  void Advance(Picos now) {
    if (now == last_) return;
    for (Running& running : ops_) running.remaining -= static_cast<Int128>(rate_) * (now - last_);
    last_ = now;
  }

  const Device* device_;
  bool fixed_rate_;
  std::vector<Running> ops_;
  int copies_ = 0;
  Picos last_ = 0;   // when `remaining` was true
  Picos since_ = 0;  // when the device became busy
  Picos busy_ = 0;
  std::int64_t rate_ = kRateOne;
  bool changed_ = false;
  Picos next_ = kNever;
};

}  // namespace berth::sim
