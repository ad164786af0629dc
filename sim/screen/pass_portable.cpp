#define STOWPLAN_INLINE [[gnu::always_inline]] inline
#include "sim/screen/pass_body.h"

namespace stowplan::sim {

void RunPortable(const ScreenPlan& plan, ScreenState& state) {
  Run<16>(plan, state);
}

}  // namespace stowplan::sim
