#pragma once

#include <string>
#include <utility>
#include <vector>

namespace berth::scenarios {

// Models that between them touch every part of the importer: what damaging and fuzzing start from.
std::vector<std::pair<std::string, std::string>> SampleModels();  // name, bytes

}  // namespace berth::scenarios
