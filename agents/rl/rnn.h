#pragma once

#include <memory>

#include "agents/agent.h"

namespace berth::agents::rl {

std::unique_ptr<Agent> MakeRnn(const Spec& spec);

}  // namespace berth::agents::rl
