// The numbers of the rules `published` (docs/model.md section 8). Internal to sim/.
#pragma once

#include "sim/base/exact.h"
#include "sim/base/units.h"

namespace stowplan::sim {

inline constexpr Picos kOpPause = 5'700'000;     // of a device after an op that takes time
inline constexpr Picos kSendPause = 25'000'000;  // of a channel after a sending

inline Picos PauseAfterOp(Picos cost) {
  return cost > 0 ? kOpPause : 0;
}

inline Picos SendTime(Bytes bytes) {
  constexpr std::int64_t kBytesPerMicro = 7600;
  return MulDivNearest(bytes, kPicosPerMicro, kBytesPerMicro);
}

inline Picos FloorMicro(Picos time) {
  return time / kPicosPerMicro * kPicosPerMicro;
}

// What an op reads is held until then, if nobody reads it longer.
inline Picos EndOfUse(Picos start, Picos cost) {
  return FloorMicro(start) + FloorMicro(cost) - kPicosPerMicro;
}

}  // namespace stowplan::sim
