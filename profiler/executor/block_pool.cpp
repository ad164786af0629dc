#include "profiler/executor/block_pool.h"

#include <algorithm>
#include <iterator>

namespace stowplan::profiler {

void* EqualSizesPool::Take(sim::Bytes bytes) {
  auto& free = free_[bytes];
  if (free.empty()) {
    all_.push_back(maker_(bytes));
    return all_.back().get();
  }
  void* const block = free.back();
  free.pop_back();
  return block;
}

void EqualSizesPool::Clear() {
  free_.clear();
  all_.clear();
}

void* BestFitPool::Take(sim::Bytes bytes) {
  constexpr sim::Bytes kAlignment = 256;
  const sim::Bytes wanted = std::max<sim::Bytes>((bytes + kAlignment - 1) / kAlignment, 1) * kAlignment;
  const auto best = free_.lower_bound({wanted, nullptr});
  const auto piece = best == free_.end() ? Grow(wanted) : pieces_.find(best->second);
  free_.erase({piece->second.bytes, piece->first});
  if (piece->second.bytes > wanted) {
    const auto rest = pieces_.emplace(
        piece->first + wanted, Piece{.bytes = piece->second.bytes - wanted, .chunk = piece->second.chunk});
    free_.insert({rest.first->second.bytes, rest.first->first});
    piece->second.bytes = wanted;
  }
  piece->second.free = false;
  return piece->first;
}

void BestFitPool::GiveBack(void* block, sim::Bytes) {
  const auto piece = pieces_.find(static_cast<char*>(block));
  STOWPLAN_CHECK(piece != pieces_.end() && !piece->second.free);
  SetFree(piece);
}

void BestFitPool::SetFree(Pieces::iterator piece) {
  piece->second.free = true;
  const auto joins = [&](Pieces::iterator other) {
    return other != pieces_.end() && other->second.free && other->second.chunk == piece->second.chunk;
  };
  if (const auto next = std::next(piece); joins(next)) {
    free_.erase({next->second.bytes, next->first});
    piece->second.bytes += next->second.bytes;
    pieces_.erase(next);
  }
  if (piece != pieces_.begin() && joins(std::prev(piece))) {
    const auto previous = std::prev(piece);
    free_.erase({previous->second.bytes, previous->first});
    previous->second.bytes += piece->second.bytes;
    pieces_.erase(piece);
    piece = previous;
  }
  free_.insert({piece->second.bytes, piece->first});
}

BestFitPool::Pieces::iterator BestFitPool::Grow(sim::Bytes bytes) {
  for (const sim::Bytes size : {std::max(bytes, least_), bytes}) {
    try {
      return AddChunk(size);
    } catch (const NoMemory&) {
      if (size == bytes && !ReturnFreeChunks()) throw;
    }
  }
  return AddChunk(bytes);
}

BestFitPool::Pieces::iterator BestFitPool::AddChunk(sim::Bytes bytes) {
  Block block = maker_(bytes);
  auto* const begin = static_cast<char*>(block.get());
  chunks_.emplace(begin, Chunk{std::move(block), bytes});
  reserved_ += bytes;
  const auto piece = pieces_.emplace(begin, Piece{.bytes = bytes, .chunk = begin}).first;
  free_.insert({bytes, begin});
  return piece;
}

bool BestFitPool::ReturnFreeChunks() {
  idle_();
  bool any = false;
  for (auto chunk = chunks_.begin(); chunk != chunks_.end();) {
    auto* const begin = static_cast<char*>(chunk->second.block.get());
    const auto whole = pieces_.find(begin);
    if (!whole->second.free || whole->second.bytes != chunk->second.bytes) {
      ++chunk;
      continue;
    }
    free_.erase({chunk->second.bytes, begin});
    pieces_.erase(whole);
    reserved_ -= chunk->second.bytes;
    chunk = chunks_.erase(chunk);
    any = true;
  }
  return any;
}

void BestFitPool::Clear() {
  free_.clear();
  pieces_.clear();
  chunks_.clear();
  reserved_ = 0;
}

}  // namespace stowplan::profiler
