// What `berth list` prints, as text and as JSON.
#pragma once

#include <string>
#include <vector>

namespace berth::bench {

struct Listing {
  std::vector<std::string> keys;  // of the columns; "name" first
  std::vector<std::vector<std::string>> rows;
};

// Workloads with their sizes, ours beside what bench/data/papers/workloads.csv has. Builds every graph.
Listing ListWorkloads();

}  // namespace berth::bench
