// What each rank of a tensor-parallel group holds of each tensor, found from the graph's structure.
//
// A product with weights that reads a whole tensor is cut by columns, one that reads the result by rows, what is between them
// along with it; a table that data reads is cut by rows. Where an op cannot work on a part, the products that made the part stay
// whole, and all is looked at again. Backward and update ops follow by the same rules. So the cuts are those of Megatron-LM
// (Shoeybi et al. 2019) where a model is a transformer, whatever its ops are called.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/op_graph.h"

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

struct Shards {
  std::vector<std::vector<Shard>> outputs;       // by op and output
  std::vector<std::vector<Exchange>> exchanges;  // by op and input
  std::vector<double> share;                     // by op: of its work a rank's
  std::set<sim::OpIndex> shared_softmax;  // whose rows are cut, so that their maxima and sums are exchanged
};

// `graph` is Finish()ed. Throws InputError where heads that a product was cut into are not divisible by the ranks.
Shards FindShards(const sim::OpGraph& graph, const ShardOptions& options);

// What a rank has of `size` in a cut by `ranks`: the largest part.
inline std::int64_t PartOf(std::int64_t size, std::int64_t ranks) {
  return (size + ranks - 1) / ranks;
}

}  // namespace stowplan::scenarios
