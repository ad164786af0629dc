// What `stowplan place` prints on a screen of 80 columns: whether the graph fits, where its modules run, how long a step takes,
// what bounds it, and what fills the memory.
#pragma once

#include <string>

#include "problem/explain/study.h"

namespace stowplan::cli {

std::string PrintPlaceReport(const problem::Study& study);

}  // namespace stowplan::cli
