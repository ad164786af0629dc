// One placement as a page: the verdict first, then the timeline, what bounds it, the graph, the numbers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "agents/evaluator.h"
#include "problem/explain/study.h"

namespace stowplan::problem {

// How a placement was found; `sentence` is empty for one that was given.
struct Search {
  std::string sentence;                     // "local_search: best after 812 of 1,000 samples"
  std::vector<agents::CurvePoint> curve{};  // best so far
  std::int64_t samples = 0;
};

// Fetches nothing; some 3 MB for 10,000 ops. `facts`: where it comes from, at the end.
std::string PlacementPage(const Study& study, const Search& search,
                          const std::vector<std::pair<std::string, std::string>>& facts);

}  // namespace stowplan::problem
