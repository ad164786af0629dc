// The factories of the table in registry.cpp, one file for each or for a family, and the settings of the learners.
#pragma once

#include <memory>

#include "agents/agent.h"

namespace stowplan::agents {

std::unique_ptr<Agent> MakeCpuOnly(const Settings& read);
std::unique_ptr<Agent> MakeSingleGpu(const Settings& read);
std::unique_ptr<Agent> MakeRoundRobin(const Settings& read);
std::unique_ptr<Agent> MakeExpert(const Settings& read);
std::unique_ptr<Agent> MakeRandom(const Settings& read);
std::unique_ptr<Agent> MakeScotch(const Settings& read);
std::unique_ptr<Agent> MakeMinCut(const Settings& read);
std::unique_ptr<Agent> MakeMetis(const Settings& read);
std::unique_ptr<Agent> MakeHeft(const Settings& read);
std::unique_ptr<Agent> MakeTopo(const Settings& read);
std::unique_ptr<Agent> MakeEtf(const Settings& read);
std::unique_ptr<Agent> MakeSct(const Settings& read);
std::unique_ptr<Agent> MakeCriticalPath(const Settings& read);
std::unique_ptr<Agent> MakeLocalSearch(const Settings& read);
std::unique_ptr<Agent> MakeAnnealing(const Settings& read);
std::unique_ptr<Agent> MakeGenetic(const Settings& read);
std::unique_ptr<Agent> MakeCrossEntropy(const Settings& read);
std::unique_ptr<Agent> MakeFactored(const Settings& read);
std::unique_ptr<Agent> MakePilot(const Settings& read);
std::unique_ptr<Agent> MakePortfolio(const Settings& read);
std::unique_ptr<Agent> MakeStages(const Settings& read);
std::unique_ptr<Agent> MakeBruteForce(const Settings& read);
std::unique_ptr<Agent> MakeExternal(const Settings& read);

// learner_settings.cpp
SettingTable RnnSettings();
SettingTable HierarchicalSettings();
SettingTable PlacetoSettings();
SettingTable SgdpSettings();
SettingTable GrouperPlacerSettings();
SettingTable EncoderPlacerSettings();
SettingTable MarsSettings();
SettingTable DopplerSettings();

}  // namespace stowplan::agents
