// The memory of one device of the executor: counts what is live, as docs/model.md section 5 does, refuses what
// is beyond the limit, and keeps the blocks that were given back for the next request of the same size. Any
// thread may count; blocks are for the device's own.
#pragma once

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <unordered_map>
#include <vector>

#include "sim/units.h"

namespace berth::profiler {

// Memory of the process, freed with its owner; 64-byte aligned, never of size 0.
struct FreeBlock {
  void operator()(void* block) const { std::free(block); }
};
using Block = std::unique_ptr<void, FreeBlock>;
inline Block NewBlock(sim::Bytes bytes) {
  Block block(std::aligned_alloc(64, static_cast<std::size_t>((bytes + 64) / 64 * 64)));
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

class DeviceMemory {
 public:
  // limit = 0: none.
  DeviceMemory(sim::Bytes granularity, sim::Bytes limit) : granularity_(granularity), limit_(limit) {}

  sim::Bytes Rounded(sim::Bytes bytes) const {
    return (bytes + granularity_ - 1) / granularity_ * granularity_;
  }

  // False if it does not fit; it is counted all the same. `bytes` as they come from Rounded().
  // live: what is needed then.
  bool Request(sim::Bytes bytes, sim::Bytes* live) {
    *live = live_.fetch_add(bytes) + bytes;
    sim::Bytes peak = peak_;
    while (*live > peak && !peak_.compare_exchange_weak(peak, *live)) {
    }
    return limit_ == 0 || *live <= limit_;
  }
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
      all_.push_back(NewBlock(bytes));
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
  std::atomic<sim::Bytes> live_ = 0;
  std::atomic<sim::Bytes> peak_ = 0;
  std::unordered_map<sim::Bytes, std::vector<void*>> free_;
  std::vector<Block> all_;
};

}  // namespace berth::profiler
