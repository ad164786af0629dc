// A portfolio for what memory would be enough where nothing fits: no plan of longer than seconds, whatever the graph.
#pragma once

#include <memory>

#include "agents/agent.h"

namespace berth::agents {

std::unique_ptr<Agent> MakeBriefPortfolio();

}  // namespace berth::agents
