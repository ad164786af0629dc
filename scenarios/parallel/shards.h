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

#include "scenarios/parallel/shard.h"
#include "sim/op_graph.h"

namespace stowplan::scenarios {

struct Shards {
  std::vector<std::vector<Shard>> outputs;       // by op and output
  std::vector<std::vector<Exchange>> exchanges;  // by op and input
  std::vector<double> share;                     // by op: of its work a rank's
  std::set<sim::OpIndex> shared_softmax;  // whose rows are cut, so that their maxima and sums are exchanged
};

// `graph` is Finish()ed. Throws InputError where heads that a product was cut into are not divisible by the ranks.
Shards FindShards(const sim::OpGraph& graph, const ShardOptions& options);

}  // namespace stowplan::scenarios
