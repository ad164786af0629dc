// The types of collectives, and what their ranks do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/op_graph.h"

namespace stowplan::formats {

struct CollectiveKind {
  const char* type;
  bool reduces = false;    // around the ring; each rank has the sum of its chunk
  bool gathers = false;    // around the ring; each rank has all chunks
  bool spreads = false;    // along a chain from the root; each rank has the root's chunks
  bool collects = false;   // along a chain to the root, which has the sums of all chunks
  bool exchanges = false;  // each rank gets its chunk of every rank's tensor

  bool ends() const { return gathers || has_root() || exchanges; }
  bool has_root() const { return spreads || collects; }
  // Of tensors alike, in which the result stands.
  bool in_place() const { return reduces || has_root(); }
  bool cuts() const { return in_place() || exchanges; }
};
const CollectiveKind* KindOf(const sim::Op& op);  // nullptr = it is no collective

inline constexpr std::int64_t kMostRanks = 512;
// That ops written out for ranks may take beside themselves: a name of a megabyte would be copied for each.
inline constexpr std::int64_t kMostCopiedBytes = std::int64_t{1} << 28;
// Of a Broadcast or Reduce: the attribute that says whose tensor it is; else rank 0's.
inline constexpr char kRootRank[] = "root";

std::vector<std::string> CollectiveTypes();
// By its type.
bool IsCollective(const sim::Op& op);
// The type of an op that only has a collective's name, as ops of other files may: that with "other." in front; all others as
// they are.
std::string NoCollective(const std::string& type);
// Of what a rank gives to all, or gets of all.
bool HasRoot(const sim::Op& collective);
bool HasCollectives(const sim::OpGraph& graph);

// Of a tensor cut into as many as there are ranks, alike but for a byte.
sim::Bytes ChunkOf(sim::Bytes bytes, int of, int ranks);

}  // namespace stowplan::formats
