#if defined(__x86_64__)
#define STOWPLAN_INLINE [[gnu::always_inline, gnu::target("avx512f,avx512dq,avx512bw,avx512vl")]] inline
#include "sim/screen/pass_body.h"

namespace stowplan::sim {

[[gnu::target("avx512f,avx512dq,avx512bw,avx512vl")]] void RunAvx512(const ScreenPlan& plan,
                                                                     ScreenState& state) {
  Run<64>(plan, state);
}

}  // namespace stowplan::sim
#endif
