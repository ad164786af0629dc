// How tensor ranks hold a tensor.
#pragma once

#include <cstdint>

namespace stowplan::scenarios {

struct Shard {
  enum class Kind : std::uint8_t { kWhole, kCut, kTerm };  // the same on all; a part; a term of their sum
  Kind kind = Kind::kWhole;
  int dimension = -1;   // that is cut; of a term that along which the sum may be scattered, -1 = none
  bool tokens = false;  // cut along the sequence, as sequence parallelism does, not by heads or columns
  std::int64_t outer =
      1;  // that is cut in each of so many equal parts of the dimension, as heads merged behind a batch are
  bool operator==(const Shard&) const = default;

  bool IsWhole() const { return kind == Kind::kWhole; }
  bool IsCut() const { return kind == Kind::kCut; }
  bool IsTerm() const { return kind == Kind::kTerm; }
};

// What is done to an input before an op reads it.
enum class Exchange : std::uint8_t { kNone, kAllReduce, kReduceScatter, kAllGather };

struct ShardOptions {
  std::int64_t ranks = 2;
  bool sequence_parallel = false;
};

// What a rank has of `size` in a cut by `ranks`: the largest part.
inline std::int64_t PartOf(std::int64_t size, std::int64_t ranks) {
  return (size + ranks - 1) / ranks;
}

}  // namespace stowplan::scenarios
