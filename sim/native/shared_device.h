// A device on which several ops run at once, or copies slow ops down: remaining work under changing rates
// (docs/model.md section 3, "Arithmetic"). Internal to sim/native/.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/base/exact.h"
#include "sim/base/units.h"
#include "sim/cluster.h"

namespace stowplan::sim {

// Rates are integers of which kRateOne means 1, so that 1/k and parts per million are exact.
inline constexpr std::int64_t kRateUnit = 720'720;
inline constexpr std::int64_t kRateOne = kRateUnit * kPpm * kPpm;

// What runs on a device besides its ops.
struct Beside {
  bool copy = false, collective = false;
};
// The rate of each op while so many run.
std::int64_t OpRate(const Device& device, int running, Beside beside);

// Whether one op runs at a time and always at rate 1: its end is known at its start, and no SharedDevice is
// needed.
bool HasFixedRate(const Device& device);

class SharedDevice {
 public:
  SharedDevice(const Device& device, OpIndex ops);

  void Reset() {
    ops_.clear();
    copies_ = 0;
    collective_ = false;
    last_ = 0;
    rate_ = kRateOne;
  }
  int running() const { return static_cast<int>(ops_.size()); }
  int streams() const { return device_->streams; }
  // Whether its ops together never progress faster than one that is alone.
  bool IsNoFaster() const { return no_faster_; }
  bool full() const { return running() >= device_->streams; }

  // After each of these Update() is due at the end of the pass.
  void Start(Picos now, OpIndex op, Picos cost) {
    Advance(now);
    ops_.push_back({op, static_cast<Int128>(cost) * kRateOne});
  }
  // Removes those that end now and calls ended(op) for each.
  template <typename Ended>
  void PopEnded(Picos now, const Ended& ended) {
    Advance(now);
    std::erase_if(ops_, [&](const Running& running) {
      if (running.remaining > 0) return false;
      ended(running.op);
      return true;
    });
  }
  // Counts copies from and to the device that have started and not ended.
  void AddCopies(Picos now, int change) {
    Advance(now);
    copies_ += change;
  }
  // Whether a collective runs on the device from now on.
  void SetCollective(Picos now, bool runs) {
    Advance(now);
    collective_ = runs;
  }

  // Puts the rate from now on in force; when the next op ends under it, kNever if none runs.
  Picos Update(Picos now) {
    Advance(now);
    rate_ = ops_.empty() ? kRateOne : OpRate(*device_, running(), {copies_ > 0, collective_});
    Picos next = kNever;
    for (const Running& running : ops_)
      next = std::min(next, EndAfter(now, std::max<Int128>(running.remaining, 0), rate_));
    return next;
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
  bool no_faster_ = true;
  std::vector<Running> ops_;
  int copies_ = 0;
  bool collective_ = false;
  Picos last_ = 0;  // when `remaining` was true
  std::int64_t rate_ = kRateOne;
};

}  // namespace stowplan::sim
