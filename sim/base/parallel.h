// The one place where stowplan's parallelism stands: oneTBB, or plain std::thread where STOWPLAN_WITH_TBB is 0 (the
// thread sanitizer cannot see into the packaged oneTBB).
#pragma once

#include <cstddef>
#include <functional>

namespace stowplan {

// Number of threads a value of 0 ("one per core") stands for.
int ResolveThreads(int threads);

// Calls body(item, slot) once for each item in [0, items); slot in [0, threads) is never used by two calls at
// a time, so it can index per-thread scratch. Returns when all are done; rethrows the exception of the lowest
// item.
void ParallelFor(std::size_t items, int threads, const std::function<void(std::size_t item, int slot)>& body);

}  // namespace stowplan
