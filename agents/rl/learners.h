// The factories of the table in plugin.cpp, one source each.
#pragma once

#include <memory>

#include "agents/agent.h"

namespace berth::agents::rl {

std::unique_ptr<Agent> MakeRnn(const Spec& spec);
std::unique_ptr<Agent> MakeHierarchical(const Spec& spec);
std::unique_ptr<Agent> MakePlaceto(const Spec& spec);
std::unique_ptr<Agent> MakeGrouperPlacer(const Spec& spec);
std::unique_ptr<Agent> MakeEncoderPlacer(const Spec& spec);

}  // namespace berth::agents::rl
