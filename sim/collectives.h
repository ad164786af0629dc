// The collectives of a graph: which ops are the members of one, and on which devices its ranks are (docs/model.md section 11).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster.h"
#include "sim/collective_prices.h"
#include "sim/op_graph.h"

namespace stowplan::sim {

// Of members of the symmetric form: for how many ranks each stands, and how many accelerators lie from one to the next.
inline constexpr char kRanksAttribute[] = "ranks";
inline constexpr char kStrideAttribute[] = "stride";
// Of a Broadcast or Reduce: whose tensor it is; else rank 0's.
inline constexpr char kRootAttribute[] = "root";

inline constexpr std::int64_t kMostRanks = 16'384;

// Empty for other types of ops.
std::optional<CollectiveType> CollectiveTypeOf(std::string_view op_type);
std::vector<std::string> CollectiveTypeNames();

struct Collective {
  CollectiveType type = CollectiveType::kAllReduce;
  Bytes bytes = 0;               // as CollectiveShape counts them
  std::vector<OpIndex> members;  // ascending, which is the order of their ranks
  std::int32_t copies = 1;       // ranks that each member stands for
  std::int32_t stride = 0;       // between them in the cluster's list of accelerators; 0 = there is one
  std::int32_t root = 0;

  std::int64_t ranks() const { return static_cast<std::int64_t>(members.size()) * copies; }
};

// In the order of their first members. Throws InputError, naming the op, for attributes that make no sense.
std::vector<Collective> CollectivesOf(const OpGraph& graph);

// By rank, the root's first. `placement`: by op. Throws InputError where a rank of the symmetric form has no accelerator.
std::vector<DeviceIndex> DevicesOf(const Collective& collective, const OpGraph& graph, const Cluster& cluster,
                                   std::span<const DeviceIndex> placement);

// Of a tensor cut into `ranks` parts, alike but for a byte, the size of one.
Bytes ChunkOf(Bytes bytes, std::int64_t part, std::int64_t ranks);

}  // namespace stowplan::sim
