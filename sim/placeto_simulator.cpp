#include "sim/placeto_simulator.h"

#include "sim/error.h"

namespace berth::sim {

std::unique_ptr<Simulator> MakePlacetoSimulator(const Problem&) {
  throw RunError("the preset placeto is being built on another branch");
}

}  // namespace berth::sim
