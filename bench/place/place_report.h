// What `stowplan place` prints on a screen of 80 columns: whether the graph fits, where its modules run, how long a step takes,
// what bounds it, and what fills the memory.
#pragma once

#include <string>

#include "bench/explain/study.h"

namespace stowplan::bench {

std::string PrintPlaceReport(const Study& study);

}  // namespace stowplan::bench
