#if defined(__x86_64__)
#define STOWPLAN_INLINE [[gnu::always_inline, gnu::target("avx2")]] inline
#include "sim/screen/pass_body.h"

namespace stowplan::sim {

[[gnu::target("avx2")]] void RunAvx2(const ScreenPlan& plan, ScreenState& state) {
  Run<32>(plan, state);
}

}  // namespace stowplan::sim
#endif
