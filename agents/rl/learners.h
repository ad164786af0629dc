// The factories of the table in plugin.cpp, one source each; encoder_placer is made by that of sgdp.
#pragma once

#include <memory>

#include "agents/agent.h"

namespace stowplan::agents::rl {

std::unique_ptr<Agent> MakeRnn(const Settings& read);
std::unique_ptr<Agent> MakeHierarchical(const Settings& read);
std::unique_ptr<Agent> MakePlaceto(const Settings& read);
std::unique_ptr<Agent> MakeSgdp(const Settings& read);
std::unique_ptr<Agent> MakeGrouperPlacer(const Settings& read);
std::unique_ptr<Agent> MakeMars(const Settings& read);
std::unique_ptr<Agent> MakeDoppler(const Settings& read);

}  // namespace stowplan::agents::rl
