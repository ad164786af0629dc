#include "sim/native/links/booked_links.h"
#include "sim/native/native_simulator.h"

namespace berth::sim {

std::unique_ptr<Simulator> MakeBookedSimulator(const Problem& problem, Sharing sharing) {
  return std::make_unique<NativeSimulator<BookedLinks>>(problem, sharing);
}

}  // namespace berth::sim
