// Stands in for a libstowplan_rl.so that was left over from another build. Nothing of it may run.
#include <cstdlib>

#include "sim/base/plugin_interface.h"

STOWPLAN_EXPORT_INTERFACE("0123456789ab");

extern "C" __attribute__((visibility("default"))) const void* stowplan_rl_agents();

extern "C" const void* stowplan_rl_agents() {
  return nullptr;
}

namespace {

[[gnu::constructor]] void RunAtItsStart() {
  std::abort();
}

}  // namespace
