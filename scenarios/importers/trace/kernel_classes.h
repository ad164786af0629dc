// What the names of a trace say of what ran: kernels of libraries and compilers, and collectives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "profiler/traces/records.h"
#include "scenarios/importers/trace/ranges.h"
#include "sim/op_graph.h"

namespace stowplan::scenarios::trace {

// "MatMul" of a kernel of cuBLAS, hipBLASLt or CUTLASS, "Attention" of flash attention's, "Fused" of what Inductor made, …;
// "Kernel" where the name says nothing.
std::string_view KernelClass(std::string_view kernel);

// Of what one process gives to others.
struct Collective {
  std::string type;        // "AllReduce"
  std::int64_t bytes = 0;  // that this process puts in; 0 = not told
  std::int64_t ranks = 0;  // of its group; 0 = not told
  std::string group;       // as the program calls it; empty = not told
  std::string dtype;       // likewise
};
// By the ranges around its launch, and by the name of its kernel. Nothing for what is none.
std::optional<Collective> CollectiveOf(const std::vector<profiler::Marker>& markers, const Ranges& ranges,
                                       std::size_t around, std::string_view kernel);
// By a name that a program, PyTorch or NCCL gives it: "all_to_allv", "nccl:all_reduce", "ncclDevKernel_AllGather_RING_LL". Empty for what is none.
std::string_view CollectiveNamed(std::string_view name);

// `collective`, `bytes`, `ranks`, `process_group` and `dtype`, those that are told.
sim::Attributes AttributesOf(const Collective& collective);

// [bytes] of an element, by what PyTorch calls it: "float", "c10::BFloat16", "Float". 0 = not known.
std::int64_t ElementBytes(std::string_view type);

}  // namespace stowplan::scenarios::trace
