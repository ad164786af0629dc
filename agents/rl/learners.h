// The factories of the table in plugin.cpp, one source each; encoder_placer is in sgdp.cpp.
#pragma once

#include <memory>

#include "agents/agent.h"

namespace stowplan::agents::rl {

std::unique_ptr<Agent> MakeRnn(const Spec& spec);
std::unique_ptr<Agent> MakeHierarchical(const Spec& spec);
std::unique_ptr<Agent> MakePlaceto(const Spec& spec);
std::unique_ptr<Agent> MakeSgdp(const Spec& spec);
std::unique_ptr<Agent> MakeGrouperPlacer(const Spec& spec);
std::unique_ptr<Agent> MakeEncoderPlacer(const Spec& spec);
std::unique_ptr<Agent> MakeMars(const Spec& spec);
std::unique_ptr<Agent> MakeDoppler(const Spec& spec);

}  // namespace stowplan::agents::rl
