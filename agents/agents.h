// The factories of the table in registry.cpp, one file for each or for a family. All read their parameters
// from the spec and refuse unknown ones.
#pragma once

#include <cstdint>
#include <memory>

#include "agents/agent.h"

namespace stowplan::agents {

std::unique_ptr<Agent> MakeCpuOnly(const Spec& spec);
std::unique_ptr<Agent> MakeSingleGpu(const Spec& spec);
std::unique_ptr<Agent> MakeRoundRobin(const Spec& spec);
std::unique_ptr<Agent> MakeExpert(const Spec& spec);
std::unique_ptr<Agent> MakeRandom(const Spec& spec);
std::unique_ptr<Agent> MakeScotch(const Spec& spec);
std::unique_ptr<Agent> MakeMinCut(const Spec& spec);
std::unique_ptr<Agent> MakeMetis(const Spec& spec);
std::unique_ptr<Agent> MakeHeft(const Spec& spec);
std::unique_ptr<Agent> MakeTopo(const Spec& spec);
std::unique_ptr<Agent> MakeEtf(const Spec& spec);
std::unique_ptr<Agent> MakeSct(const Spec& spec);
std::unique_ptr<Agent> MakeCriticalPath(const Spec& spec);
std::unique_ptr<Agent> MakeLocalSearch(const Spec& spec);
std::unique_ptr<Agent> MakeAnnealing(const Spec& spec);
std::unique_ptr<Agent> MakeGenetic(const Spec& spec);
std::unique_ptr<Agent> MakeCrossEntropy(const Spec& spec);
std::unique_ptr<Agent> MakeFactored(const Spec& spec);
constexpr std::int64_t kPilotPlan = 80'000;  // screens, unless told
std::unique_ptr<Agent> MakePilot(const Spec& spec);
std::unique_ptr<Agent> MakePortfolio(const Spec& spec);
std::unique_ptr<Agent> MakeBruteForce(const Spec& spec);
std::unique_ptr<Agent> MakeExternal(const Spec& spec);

}  // namespace stowplan::agents
