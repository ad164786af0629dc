// A small hardware catalogue for tests. Kinds: cpu-a (64GiB), cpu-bare (no memory given), gpu-a (12GiB, 3us
// to launch), gpu-one (one copy engine). Links: pcie (with a curve and both = 0.71), wire.
#pragma once

#include "sim/hardware.h"

namespace stowplan::formats {

const sim::HardwareCatalogue& SampleCatalogue();

}  // namespace stowplan::formats
