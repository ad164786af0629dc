// The program of one rank as the graph of all: what frameworks export of a model that runs the same on every rank has
// collectives of one tensor each, with the number of ranks in the attribute `ranks`.
#pragma once

#include <cstdint>

#include "sim/op_graph.h"

namespace stowplan::formats {

// That a collective of the graph says its ranks, and not where they are (the symmetric form).
bool IsRankProgram(const sim::OpGraph& graph);

// What a copy of an op takes, the op itself left out.
std::int64_t BytesOfCopy(const sim::Op& op);

// The ops of each rank, rank0/NAME and so on, one colocation set a rank; those of a collective are its members.
// `graph` is Finish()ed, and so is what comes back. Throws InputError, naming the op, where collectives do not agree in
// their ranks, where one has other than one input and one output, and for more than 2^20 ops or
// kMostCopiedBytes.
sim::OpGraph OfAllRanks(const sim::OpGraph& graph);

}  // namespace stowplan::formats
