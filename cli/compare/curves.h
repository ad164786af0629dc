// The curves of searches on the page of `compare`.
#pragma once

#include <string>

#include "tables/results.h"

namespace stowplan::cli {

// Best runtime after so many samples, of the median seed of each agent; empty where none samples.
std::string ComparisonCurvesHtml(const tables::TableResults& results);

}  // namespace stowplan::cli
