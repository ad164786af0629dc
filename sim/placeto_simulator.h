#pragma once

#include <memory>

#include "sim/simulator.h"

namespace berth::sim {

std::unique_ptr<Simulator> MakePlacetoSimulator(const Problem& problem);

}  // namespace berth::sim
