// A program that is linked with this counts its calls of operator new.
#pragma once

#include <cstdint>

namespace berth::sim {

std::int64_t CountAllocations();  // since the program began

}  // namespace berth::sim
