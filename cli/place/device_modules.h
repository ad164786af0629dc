// Which modules a placement puts on which device, short enough to read.
#pragma once

#include <string>
#include <vector>

#include "sim/simulator.h"

namespace stowplan::cli {

// By device: "embedding, layer0 to layer15, layer16*". A star: in part, other devices have the rest. Modules are those that
// `--grouper module` takes; neighbours whose names differ in a closing number are drawn together. At most `most_words`
// names, then how many more. Empty where names spell no modules.
std::vector<std::string> ModulesByDevice(const sim::Problem& problem, const sim::Placement& placement,
                                         std::size_t most_words);

}  // namespace stowplan::cli
