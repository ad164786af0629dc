// Blocks of one device's memory that are given back and taken again, so that a step asks the system for nothing. For one
// thread.
#pragma once

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/units.h"

namespace stowplan::profiler {

// Memory of some device, freed with its owner in the way it was made; 64-byte aligned, never of size 0.
using Block = std::unique_ptr<void, void (*)(void*)>;
using BlockMaker = std::function<Block(sim::Bytes)>;

// The device really has no such block left, whatever limit is counted: the end of a placement, not of the executor.
class NoMemory : public RunError {
 public:
  using RunError::RunError;
};

// Of the process.
inline Block NewBlock(sim::Bytes bytes) {
  Block block(std::aligned_alloc(64, static_cast<std::size_t>((bytes + 64) / 64 * 64)), &std::free);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

class BlockPool {
 public:
  virtual ~BlockPool() = default;
  // Throws what its maker throws where there is none.
  virtual void* Take(sim::Bytes bytes) = 0;
  // `bytes` as it was taken with.
  virtual void GiveBack(void* block, sim::Bytes bytes) = 0;
  // Gives all blocks back to the system: other placements want other sizes.
  virtual void Clear() = 0;
};

// The block that was given back last of those that had the same size: what a CPU's caches still hold. Takes more than
// the peak where sizes differ.
class EqualSizesPool : public BlockPool {
 public:
  explicit EqualSizesPool(BlockMaker maker) : maker_(std::move(maker)) {}
  void* Take(sim::Bytes bytes) override;
  void GiveBack(void* block, sim::Bytes bytes) override { free_[bytes].push_back(block); }
  void Clear() override;

 private:
  BlockMaker maker_;
  std::unordered_map<sim::Bytes, std::vector<void*>> free_;
  std::vector<Block> all_;
};

// The smallest free piece that is large enough, cut to size; neighbours that are both free become one. So little more
// than the peak is taken from a device of which the limit is near. Pieces are 256-byte aligned within what the maker
// gives, which must be so, too.
class BestFitPool : public BlockPool {
 public:
  // Asks the system for `least` bytes at once, or for as many as one request needs. idle: returns when nothing uses
  // blocks that were given back; called before memory is returned to the system, which happens where there is no more.
  BestFitPool(BlockMaker maker, std::function<void()> idle, sim::Bytes least = sim::Bytes{32} << 20)
      : maker_(std::move(maker)), idle_(std::move(idle)), least_(least) {}
  void* Take(sim::Bytes bytes) override;
  void GiveBack(void* block, sim::Bytes bytes) override;
  void Clear() override;
  // Taken from the system and not returned.
  sim::Bytes reserved() const { return reserved_; }

 private:
  struct Piece {
    sim::Bytes bytes = 0;
    const void* chunk = nullptr;  // where what it was cut from begins
    bool free = true;
  };
  struct Chunk {
    Block block;
    sim::Bytes bytes = 0;
  };
  using Pieces = std::map<char*, Piece>;  // by address: neighbours stand beside one another

  Pieces::iterator Grow(sim::Bytes bytes);
  Pieces::iterator AddChunk(sim::Bytes bytes);
  bool ReturnFreeChunks();
  void SetFree(Pieces::iterator piece);

  BlockMaker maker_;
  std::function<void()> idle_;
  sim::Bytes least_;
  sim::Bytes reserved_ = 0;
  Pieces pieces_;
  std::set<std::pair<sim::Bytes, char*>> free_;
  std::map<const void*, Chunk> chunks_;
};

}  // namespace stowplan::profiler
