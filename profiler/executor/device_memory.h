// The memory of one device of the executor: counts what is live, as docs/model.md section 5 does, refuses what
// is beyond the limit, and keeps the blocks that were given back for the next request of the same size. Any
// thread may count; blocks are for the device's own.
#pragma once

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
  // limit = 0: none.
  DeviceMemory(sim::Bytes granularity, sim::Bytes limit, BlockMaker maker = NewBlock)
      : granularity_(granularity), limit_(limit), maker_(std::move(maker)) {}

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
  std::atomic<sim::Bytes> live_ = 0;
  std::atomic<sim::Bytes> peak_ = 0;
  std::unordered_map<sim::Bytes, std::vector<void*>> free_;
  std::vector<Block> all_;
};

}  // namespace berth::profiler
