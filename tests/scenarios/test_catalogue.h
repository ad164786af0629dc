// A hardware catalogue with the kinds that our clusters name; the real one is in cost_models/, which
// scenarios/ must not see.
#pragma once

#include "sim/hardware.h"

namespace stowplan::scenarios {

const sim::HardwareCatalogue& TestCatalogue();

}  // namespace stowplan::scenarios
