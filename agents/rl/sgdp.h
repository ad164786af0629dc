#pragma once

#include <memory>

#include "agents/agent.h"

namespace berth::agents::rl {

std::unique_ptr<Agent> MakeSgdp(const Spec& spec);
std::unique_ptr<Agent> MakeEncoderPlacer(const Spec& spec);

}  // namespace berth::agents::rl
