// The table `accuracy`: all that was measured and simulated, folder by folder, against the goals.
#pragma once

#include <string>
#include <vector>

#include "cli/validate/gpu_accuracy.h"
#include "cli/validate/held_out.h"
#include "cli/validate/score.h"
#include "output/report_page.h"

namespace stowplan::cli {

struct ScoredFolder {
  std::string name;  // "cpu"
  std::vector<Score> scores;
  HeldOut held_out;
};

// The folders of recordings in `root`, by name. NAME-again is another measurement of what NAME holds, and is compared
// with it, too (CompareRepeats). Throws InputError where there is none.
std::vector<ScoredFolder> ScoreFolders(const std::string& root);

// As text, Markdown and, with the steps of each workload as a drawing, HTML.
output::ReportPage MakeAccuracyPage(const std::vector<ScoredFolder>& folders, const GpuAccuracy& gpus);
// What GPUs and each folder come to, without single cases and workloads.
output::ReportPage MakeAccuracyVerdict(const std::vector<ScoredFolder>& folders, const GpuAccuracy& gpus);
std::string PrintAccuracyHtml(const output::ReportPage& page, const std::vector<ScoredFolder>& folders);

}  // namespace stowplan::cli
