// Names that a reader can tell apart and no longer: `mars`, `placeto(rounds=8)`.
#pragma once

#include <string>
#include <vector>

namespace stowplan::cli {

// Of canonical specs, all different: the agent's name, with those parameters alone in which agents of one name differ.
std::vector<std::string> BriefNames(const std::vector<std::string>& specs);

}  // namespace stowplan::cli
