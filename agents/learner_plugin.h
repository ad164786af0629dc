// The learning agents live in a plug-in, libstowplan_rl.so, because libtorch costs a third of a second and 160
// MB at start-up. It is opened when the first of them is made and stays open.
#pragma once

#include <memory>

#include "agents/agent.h"

namespace stowplan::agents {

// The plug-in's only symbol; the vector lives as long as the process.
using LearnerTable = const std::vector<AgentRow>* (*)();
inline constexpr char kLearnerTableSymbol[] = "stowplan_rl_agents";

// Looks for the plug-in where $STOWPLAN_RL_PLUGIN says, else as agents/plugin.h does. Throws RunError where this build has
// none, or where it cannot be opened (with the loader's reason).
const std::vector<AgentRow>& Learners();

// The factory of every learner's row in registry.cpp: makes the agent of that name from the plug-in.
std::unique_ptr<Agent> MakeLearner(const Settings& read);

}  // namespace stowplan::agents
