// Collectives as what their ranks do: an AllReduce, ReduceScatter, AllGather, Broadcast, Reduce or AllToAll of a graph
// becomes the ops and edges of its steps (docs/model.md, "Collectives"), so that the simulator's rules price it: each step
// is a transfer over the links between two ranks, and shares them with all else that is sent. ParseGraph does it for every
// reader.
#pragma once

#include "sim/formats/collective_types.h"
#include "sim/op_graph.h"

namespace stowplan::formats {

// The graph with each collective replaced in place by its ops; consumers read what they make, and each rank's tensor, ops
// and result share a device. The program of one rank (rank_program.h) is written out before. `graph` is Finish()ed, and
// so is what comes back. Throws InputError, naming the op, for fewer than two ranks and more than 512, more than 2^20
// ops or kMostCopiedBytes, two tensors of one producer, tensors whose sizes do not suit, and fields that would be lost.
sim::OpGraph ExpandCollectives(const sim::OpGraph& graph);

}  // namespace stowplan::formats
