// A program that is linked with this counts its calls of operator new, and the bytes that are in use of them.
#pragma once

#include <cstdint>

namespace stowplan::sim {

std::int64_t CountAllocations();  // since the program began
std::int64_t BytesInUse();        // as the allocator rounds them

}  // namespace stowplan::sim
