// Stands in for a libberth_rl.so that was left over from another build. Nothing of it may run.
#include <cstdlib>

#include "sim/plugin_interface.h"

BERTH_EXPORT_INTERFACE("0123456789ab");

extern "C" __attribute__((visibility("default"))) const void* berth_rl_agents();

extern "C" const void* berth_rl_agents() {
  return nullptr;
}

namespace {

[[gnu::constructor]] void RunAtItsStart() {
  std::abort();
}

}  // namespace
