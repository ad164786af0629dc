// The memory of one device of the executor: counts what is live, as docs/model.md section 5 does, refuses what
// is beyond the limit, and has a pool of blocks that were given back. Any thread may count; blocks are for the device's
// own.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "profiler/executor/block_pool.h"

namespace stowplan::profiler {

class DeviceMemory {
 public:
  // limit = 0: none.
  DeviceMemory(sim::Bytes granularity, sim::Bytes limit, std::unique_ptr<BlockPool> pool)
      : granularity_(granularity), limit_(limit), pool_(std::move(pool)) {}

  sim::Bytes Rounded(sim::Bytes bytes) const {
    return (bytes + granularity_ - 1) / granularity_ * granularity_;
  }

  // What is live then. Counted also where it does not fit. `bytes` as they come from Rounded().
  sim::Bytes Request(sim::Bytes bytes) {
    const sim::Bytes live = live_.fetch_add(bytes) + bytes;
    for (sim::Bytes peak = peak_; live > peak && !peak_.compare_exchange_weak(peak, live);) {
    }
    return live;
  }
  bool Fits(sim::Bytes live) const { return limit_ == 0 || live <= limit_; }
  void Free(sim::Bytes bytes) { live_ -= bytes; }
  sim::Bytes live() const { return live_; }
  sim::Bytes peak() const { return peak_; }
  sim::Bytes limit() const { return limit_; }
  void ResetCount() {
    live_ = 0;
    peak_ = 0;
  }

  void* Take(sim::Bytes bytes) { return pool_->Take(bytes); }
  void GiveBack(void* block, sim::Bytes bytes) { pool_->GiveBack(block, bytes); }
  void ClearBlocks() { pool_->Clear(); }

 private:
  sim::Bytes granularity_;
  sim::Bytes limit_;
  std::unique_ptr<BlockPool> pool_;
  std::atomic<sim::Bytes> live_ = 0;
  std::atomic<sim::Bytes> peak_ = 0;
};

}  // namespace stowplan::profiler
