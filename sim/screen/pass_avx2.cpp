#if defined(__x86_64__)
#define BERTH_INLINE [[gnu::always_inline, gnu::target("avx2")]] inline
#include "sim/screen/pass_body.h"

namespace berth::sim {

[[gnu::target("avx2")]] void RunAvx2(const ScreenPlan& plan, ScreenState& state) {
  Run<32>(plan, state);
}

}  // namespace berth::sim
#endif
