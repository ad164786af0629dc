// The memory of one device of the executor: counts what is live, as docs/model.md section 5 does, refuses what
// is beyond the limit, and keeps the blocks that were given back for the next request of the same size. Blocks
// are for the device's thread alone; counting is for several threads where the device says so.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <unordered_map>
#include <vector>

#include "sim/units.h"

namespace berth::profiler {

// Memory of some device, freed with its owner in the way it was made; 64-byte aligned, never of size 0.
using Block = std::unique_ptr<void, void (*)(void*)>;
using BlockMaker = std::function<Block(sim::Bytes)>;

// Of the process.
inline Block NewBlock(sim::Bytes bytes) {
  Block block(std::aligned_alloc(64, static_cast<std::size_t>((bytes + 64) / 64 * 64)), &std::free);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

class DeviceMemory {
 public:
  // limit = 0: none. shared: Request() and Free() are called by several threads.
  DeviceMemory(sim::Bytes granularity, sim::Bytes limit, BlockMaker maker = NewBlock, bool shared = false)
      : granularity_(granularity), limit_(limit), maker_(std::move(maker)), shared_(shared) {}

  sim::Bytes Rounded(sim::Bytes bytes) const {
    return (bytes + granularity_ - 1) / granularity_ * granularity_;
  }

  // What is live then. Counted also where it does not fit. `bytes` as they come from Rounded().
  sim::Bytes Request(sim::Bytes bytes) {
    if (!shared_) {
      live_ += bytes;
      peak_ = std::max(peak_, live_);
      return live_;
    }
    const sim::Bytes live = std::atomic_ref(live_).fetch_add(bytes) + bytes;
    std::atomic_ref peak(peak_);
    for (sim::Bytes seen = peak.load(); seen < live && !peak.compare_exchange_weak(seen, live);) {
    }
    return live;
  }
  bool Fits(sim::Bytes live) const { return limit_ == 0 || live <= limit_; }
  void Free(sim::Bytes bytes) {
    if (shared_) {
      std::atomic_ref(live_).fetch_sub(bytes);
    } else {
      live_ -= bytes;
    }
  }
  sim::Bytes peak() const { return peak_; }
  sim::Bytes limit() const { return limit_; }
  void ResetCount() {
    live_ = 0;
    peak_ = 0;
  }

  void* Take(sim::Bytes bytes) {
    auto& free = free_[bytes];
    if (free.empty()) {
      all_.push_back(maker_(bytes));
      return all_.back().get();
    }
    void* block = free.back();
    free.pop_back();
    return block;
  }
  void GiveBack(void* block, sim::Bytes bytes) { free_[bytes].push_back(block); }
  // Gives all blocks back to the system: other placements want other sizes.
  void Clear() {
    free_.clear();
    all_.clear();
  }

 private:
  sim::Bytes granularity_;
  sim::Bytes limit_;
  BlockMaker maker_;
  bool shared_;
  sim::Bytes live_ = 0;
  sim::Bytes peak_ = 0;
  std::unordered_map<sim::Bytes, std::vector<void*>> free_;
  std::vector<Block> all_;
};

}  // namespace berth::profiler
