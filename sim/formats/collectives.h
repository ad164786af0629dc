// Collectives as what their ranks do: an AllReduce, ReduceScatter, AllGather, Broadcast, Reduce or AllToAll of a graph
// becomes the ops and edges of its steps (docs/model.md, "Collectives"), so that the simulator's rules price it: each step
// is a transfer over the links between two ranks, and shares them with all else that is sent. ParseGraph does it for every
// reader.
#pragma once

#include <string>
#include <vector>

#include "sim/op_graph.h"

namespace stowplan::formats {

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

// The graph with each collective replaced in place by its ops; consumers read what they make, and each rank's tensor, ops
// and result share a device. The program of one rank (rank_program.h) is written out before. `graph` is Finish()ed, and
// so is what comes back. Throws InputError, naming the op, for fewer than two ranks and more than 512, more than 2^20
// ops or kMostCopiedBytes, two tensors of one producer, tensors whose sizes do not suit, and fields that would be lost.
sim::OpGraph ExpandCollectives(const sim::OpGraph& graph);

}  // namespace stowplan::formats
