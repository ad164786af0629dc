#include "sim/outcome.h"

namespace berth::sim {

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

}  // namespace berth::sim
