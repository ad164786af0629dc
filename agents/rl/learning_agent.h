// The agent around a learner: starts a run, keeps what was learned, carries it to other tasks and files.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agents/agent.h"
#include "agents/rl/learner.h"

namespace stowplan::agents::rl {

using LearnerFactory = std::function<std::unique_ptr<Learner>(const std::vector<const Task*>& tasks,
                                                              const std::vector<Evaluator*>& evaluators,
                                                              const SearchOptions& search)>;

// `name`: canonical spec. The agent is Transferable. A search or training starts from options.init, else from
// what was loaded or trained before, else from fresh weights.
std::unique_ptr<Agent> MakeLearningAgent(std::string name, LearnerFactory make);

}  // namespace stowplan::agents::rl
