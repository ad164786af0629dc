// The provenance of what is made now, in its document.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace stowplan::problem {

// Adds command, revision, dirty, machine and date.
void AddProvenance(nlohmann::ordered_json& json);

}  // namespace stowplan::problem
