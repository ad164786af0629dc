// Collectives as rings: an AllReduce, ReduceScatter or AllGather of a graph becomes the ops and edges of its ring steps
// (docs/model.md, "Collectives"), so that the simulator's rules price it: each step is a transfer over the links between
// two neighbours, and shares them with all else that is sent. ParseGraph does it for every reader.
#pragma once

#include "sim/op_graph.h"

namespace berth::formats {

inline constexpr std::int64_t kMostRanks = 512;

// Ops of type AllReduce, ReduceScatter and AllGather.
bool IsCollective(const sim::Op& op);
bool HasCollectives(const sim::OpGraph& graph);

// Of a tensor cut into as many as there are ranks, alike but for a byte.
sim::Bytes ChunkOf(sim::Bytes bytes, int of, int ranks);

// The graph with each collective in place replaced by its ring; consumers read what the ring makes, and each rank's
// tensor, ring ops and result share a device. The program of one rank (rank_program.h) is written out before. `graph` is Finish()ed, and so is what comes back. Throws InputError, naming
// the op, for fewer than two ranks and more than 512, more than 2^20 ops of rings, two tensors of one producer, tensors whose
// sizes do not suit, and fields that a ring has no place for.
sim::OpGraph ExpandCollectives(const sim::OpGraph& graph);

}  // namespace berth::formats
