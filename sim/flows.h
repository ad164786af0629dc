// Transfers in their bytes phase: remaining bytes under changing rates (docs/model.md section 4,
// "Arithmetic"). Internal to sim/.
#pragma once

#include <vector>

#include "sim/transfer.h"

namespace berth::sim {

class Flows {
 public:
  struct Flow {
    TransferIndex transfer = 0;
    Int128 remaining = 0;   // [1e-15 B] = rate [mB/s] x time [ps]
    std::int64_t rate = 0;  // [mB/s]
    Picos end = kNever;
  };

  void Clear() {
    active_.clear();
    changed_ = false;
    last_ = 0;
    next_ = kNever;
  }
  void Add(TransferIndex index, const Transfer& transfer) {
    const Flow flow{index, static_cast<Int128>(transfer.move) * transfer.route->narrowest * 1000, 0, kNever};
    const auto before = [](const Flow& a, const Flow& b) { return a.transfer < b.transfer; };
    active_.insert(std::upper_bound(active_.begin(), active_.end(), flow, before), flow);
    changed_ = true;
  }
  // Removes those that end now and appends their transfers to `ended`.
  void PopEnded(Picos now, std::vector<TransferIndex>& ended);
  // After Add and PopEnded of one pass: lets `rate_of(flows)` set new rates and finds the new ends.
  template <typename SetRates>
  void Update(Picos now, SetRates&& set_rates) {
    if (!changed_) return;
    changed_ = false;
    for (Flow& flow : active_) flow.remaining -= static_cast<Int128>(flow.rate) * (now - last_);
    last_ = now;
    set_rates(active_);
    next_ = kNever;
    for (Flow& flow : active_) {
      flow.end = now + DivCeil(flow.remaining > 0 ? flow.remaining : 0, flow.rate);
      next_ = std::min(next_, flow.end);
    }
  }
  Picos next() const { return next_; }
  const std::vector<Flow>& active() const { return active_; }

 private:
  std::vector<Flow> active_;  // in order of queue numbers
  bool changed_ = false;
  Picos last_ = 0;
  Picos next_ = kNever;
};

inline void Flows::PopEnded(Picos now, std::vector<TransferIndex>& ended) {
  if (next_ != now) return;
  std::size_t kept = 0;
  for (const Flow& flow : active_) {
    if (flow.end == now) {
      ended.push_back(flow.transfer);
    } else {
      active_[kept++] = flow;
    }
  }
  active_.resize(kept);
  changed_ = true;
  next_ = kNever;
  for (const Flow& flow : active_) next_ = std::min(next_, flow.end);
}

}  // namespace berth::sim
