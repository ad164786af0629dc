// Collectives of files (docs/model.md section 11): an AllReduce, ReduceScatter, AllGather, AllToAll, Broadcast or Reduce of
// several tensors becomes one member op a rank. ParseGraph does it for every reader.
#pragma once

#include "sim/formats/collective_types.h"
#include "sim/op_graph.h"

namespace stowplan::formats {

// The graph with each whole collective replaced in place by its members, NAME/rank0 and so on (or NAME where it is one);
// consumers read what they make, and each member is colocated with the op that makes its tensor. The program of one rank
// (rank_program.h) is written out before. Members that are there stay, and are checked like new ones. `graph` is Finish()ed,
// and so is what comes back. Throws InputError, naming the op, for fewer than two ranks or too many, two tensors of one
// producer, tensors whose sizes do not suit, fields that would be lost, and more than 2^20 ops or waits or kMostCopiedBytes.
sim::OpGraph SplitCollectives(const sim::OpGraph& graph);

}  // namespace stowplan::formats
