#include "sim/screen/pass.h"

#include "sim/base/processor.h"

namespace stowplan::sim {
namespace {

std::vector<ScreenPass> FindPasses() {
  std::vector<ScreenPass> passes;
#if defined(__x86_64__)
  if (HasAvx512()) passes.push_back({"avx512", RunAvx512});
  if (HasAvx2()) passes.push_back({"avx2", RunAvx2});
#endif
  passes.push_back({"portable", RunPortable});
  return passes;
}

}  // namespace

ScreenState::ScreenState(const ScreenPlan& plan)
    : place(static_cast<std::size_t>(plan.units) * plan.words),
      inbox(plan.ops.size()),
      thread(plan.devices.size()),
      free(thread.size()),
      out(thread.size()),
      receives_from(thread.size()),
      receives_to(thread.size()),
      arrival(thread.size()),
      live(thread.size()),
      peak(thread.size()) {}

std::span<const ScreenPass> ScreenPasses() {
  static const std::vector<ScreenPass> passes = FindPasses();
  return passes;
}

}  // namespace stowplan::sim
