// Prices of real GPUs against what others measured: the GPU part of the table `accuracy`, rendered from error rows that
// `stowplan calibrate` and cost_models/rows/ made of data that is not in the tree.
#pragma once

#include <string>
#include <vector>

#include "output/report_page.h"

namespace stowplan::cli {

struct GpuAccuracy {
  std::string lead;  // what it comes to, in a sentence; empty where there is nothing
  std::vector<output::ReportSection> verdict;    // for one page
  std::vector<output::ReportSection> every_row;  // every class on every GPU, every case
};

// `folder`: with ops.csv, models.csv, order.csv and links.csv (results/gpu/README.md says how they are made). Nothing where
// there is no such folder. Throws InputError, naming file and line, for one that is not well-formed.
GpuAccuracy ReadGpuAccuracy(const std::string& folder);

}  // namespace stowplan::cli
