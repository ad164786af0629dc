#pragma once

#include <string>
#include <utility>
#include <vector>

namespace stowplan::scenarios {

// Models that between them touch every part of the importer: what damaging and fuzzing start from.
std::vector<std::pair<std::string, std::string>> SampleModels();  // name, bytes

}  // namespace stowplan::scenarios
