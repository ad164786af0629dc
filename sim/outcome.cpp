#include "sim/outcome.h"

namespace stowplan::sim {

const char* ToString(OutOfMemory::What what) {
  switch (what) {
    case OutOfMemory::What::kPersistent:
      return "persistent";
    case OutOfMemory::What::kOutput:
      return "output";
    case OutOfMemory::What::kCopy:
      return "copy";
  }
  return "?";
}

void SetStopped(Picos cutoff, std::size_t devices, std::size_t links, Outcome& outcome) {
  outcome.stopped = true;
  outcome.runtime = cutoff + 1;
  outcome.oom.reset();
  outcome.devices.assign(devices, {});
  outcome.links.assign(links, {});
  outcome.ops.clear();
  outcome.transfers.clear();
  outcome.memory.clear();
}

}  // namespace stowplan::sim
