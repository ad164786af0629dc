#include "problem/explain/memory_parts.h"

#include <algorithm>

namespace stowplan::problem {
namespace {

bool IsWeightGradient(const sim::OpGraph& graph, sim::OpIndex op) {
  const std::vector<sim::OpIndex>& readers = graph.consumers(op);
  return graph.ops[static_cast<std::size_t>(op)].phase == "backward" &&
         std::any_of(readers.begin(), readers.end(), [&](sim::OpIndex reader) {
           return graph.ops[static_cast<std::size_t>(reader)].phase == "update";
         });
}

}  // namespace

std::vector<MemoryParts> MemoryAtPeak(const sim::OpGraph& graph, const sim::Explanation& why) {
  std::vector<MemoryParts> by_device(why.peak.size());
  for (std::size_t d = 0; d < why.peak.size(); ++d) {
    MemoryParts& parts = by_device[d];
    for (const sim::PeakItem& item : why.peak[d]) {
      if (item.what == sim::OutOfMemory::What::kCopy) {
        parts.copies += item.bytes;
      } else if (item.what == sim::OutOfMemory::What::kPersistent) {
        sim::Bytes given = 0;
        for (const sim::Output& output : graph.ops[static_cast<std::size_t>(item.op)].outputs) {
          if (output.storage == sim::Output::Storage::kPersistent) given += output.bytes;
        }
        const sim::Bytes weights = std::min(given, item.bytes);
        parts.weights += weights;
        // What rounding up to the device's granularity adds is no state.
        (item.bytes - weights < 1024 ? parts.weights : parts.optimizer) += item.bytes - weights;
      } else {
        (IsWeightGradient(graph, item.op) ? parts.gradients : parts.activations) += item.bytes;
      }
    }
  }
  return by_device;
}

}  // namespace stowplan::problem
