// What a cluster leaves open and the framework that runs the graph decides, as PyTorch does: who issues, in which order, and
// what of a GPU's memory no tensor can have.
#pragma once

#include <string>

#include "sim/cluster.h"
#include "sim/op_graph.h"

namespace stowplan::scenarios {

// Kept free on a GPU whose cluster says nothing or `reserve: auto`. CUDA's context takes 0.3 to 0.4 GB since kernels are
// loaded when they are first used (pytorch/pytorch#107667, #109888), 1 GB with the libraries of a language model; 1.8 of 77
// GiB lay in gaps that the allocator could not use (vllm-project/compressed-tensors#587, which keeps 5 %).
inline constexpr char kReserve[] = "500MiB+4%";

// Fills in what the cluster leaves open, which a simulator takes as a process each, ops as they are ready and no reserve:
//  - a host process for each device where the graph has ranks, or micro-batches in a pipeline's order, else one process;
//  - the order of the program;
//  - as many streams of a GPU as a traced process used (the graph's attribute `streams`), at full rate each;
//  - `reserve` of each GPU, "SIZE", "P%" or "SIZE+P%"; empty = kReserve, of whose size a toy gives an eighth of its memory at most.
// Throws InputError for another text, for a reserve that leaves a GPU nothing, and for one that no GPU takes.
void FillFromFramework(sim::Cluster& cluster, const sim::OpGraph& graph, const std::string& reserve = "");

}  // namespace stowplan::scenarios
