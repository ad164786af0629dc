// The portfolio, of members that somebody else makes: for tests of what becomes of it where one of them fails.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agents/agent.h"

namespace stowplan::agents {

using AgentMaker = std::function<std::unique_ptr<Agent>(const std::string& spec)>;

std::unique_ptr<Agent> MakePortfolioOf(const Settings& read, AgentMaker make);

}  // namespace stowplan::agents
