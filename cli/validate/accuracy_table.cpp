#include "cli/validate/accuracy_table.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "output/html.h"
#include "output/plot.h"
#include "sim/base/error.h"

namespace stowplan::cli {
namespace {

namespace fs = std::filesystem;

// Goals of the median error of step times, and of tau.
constexpr double kGoalOnCpus = 0.10, kGoalOnGpus = 0.07, kGoalTau = 0.9;

constexpr char kTitle[] = "accuracy: simulated against measured step times";

bool MeetsError(const Score& score) {
  return score.median_error && *score.median_error <= (score.accelerators > 0 ? kGoalOnGpus : kGoalOnCpus);
}
bool MeetsTau(const Score& score) {
  return score.tau && *score.tau >= kGoalTau;
}

std::string GoalText(const Score& score) {
  if (!score.median_error) return "none fits: verdicts alone";
  const bool error = MeetsError(score);
  if (!score.tau) return error ? "error met, no tau" : "error missed, no tau";
  if (error && MeetsTau(score)) return "both met";
  if (error) return "tau missed";
  return MeetsTau(score) ? "error missed" : "both missed";
}

// The figures of the folder price every op by a probe of its own shape; what is left without.
std::string HeldOutStepsText(const std::vector<HeldOutSteps>& steps) {
  std::vector<double> errors, taus;
  for (const HeldOutSteps& one : steps) {
    if (one.median_error) errors.push_back(*one.median_error);
    if (one.tau) taus.push_back(*one.tau);
  }
  if (errors.empty()) return "";
  std::string text = fmt::format(
      "each op is priced by its own probe; by those of the other workloads the medians are {} to {}",
      PercentText(*std::ranges::min_element(errors)), PercentText(*std::ranges::max_element(errors)));
  if (!taus.empty())
    text += fmt::format(", tau {} to {}", NumberText(*std::ranges::min_element(taus)),
                        NumberText(*std::ranges::max_element(taus)));
  return text;
}

output::ReportSection FolderSection(const ScoredFolder& folder) {
  output::ReportSection section{
      .title = folder.name,
      .header = {"workload", "goals", "placements", "median", "p95", "tau", "of at most", "machine's own tau",
                 "regret", "covered", "memory verdicts right"},
      .left_columns = 2};
  std::vector<std::string> machines, dates;
  int errors = 0, met_errors = 0, taus = 0, met_taus = 0, enforced = 0, right = 0;
  double covered = 0, placements = 0, measured = 1;
  for (const Score& s : folder.scores) {
    section.rows.push_back(
        {s.workload + (s.shared_accelerator() ? " (accelerators are one GPU)" : ""), GoalText(s),
         std::to_string(s.placements.size()), PercentText(s.median_error), PercentText(s.p95_error),
         NumberText(s.tau), NumberText(s.tau_ceiling),
         s.repeat ? fmt::format("{:.3f} ({:.3f})", s.repeat->tau, s.repeat->simulated_tau) : std::string("–"),
         PercentText(s.regret), PercentText(s.coverage), RightVerdictsText(s)});
    machines.push_back(s.machine);
    dates.push_back(s.date.substr(0, 10));
    errors += s.median_error ? 1 : 0;
    met_errors += MeetsError(s) ? 1 : 0;
    taus += s.tau ? 1 : 0;
    met_taus += MeetsTau(s) ? 1 : 0;
    enforced += s.enforced_verdicts;
    right += s.right_enforced_verdicts;
    covered += s.coverage.value_or(0) * static_cast<double>(s.placements.size());
    placements += static_cast<double>(s.placements.size());
    measured = std::min(measured, s.by_tier[0]);
  }
  std::ranges::sort(machines);
  machines.erase(std::unique(machines.begin(), machines.end()), machines.end());
  section.sentences.push_back(fmt::format("{}, {} to {}", fmt::join(machines, "; "),
                                          *std::ranges::min_element(dates),
                                          *std::ranges::max_element(dates)));
  section.sentences.push_back(
      fmt::format("of {} workloads with steps {} meet the goal of the error; of {} with pairs to order {} "
                  "meet that of tau",
                  errors, met_errors, taus, met_taus));
  if (std::ranges::any_of(folder.scores, [](const Score& s) { return s.coverage.has_value(); }))
    section.sentences.push_back(
        fmt::format("of all placements {} are within the 90 % interval", PercentText(covered / placements)));
  if (enforced > 0)
    section.sentences.push_back(
        fmt::format("{} placements broke a limit that was in force, or were simulated to; both did {} times",
                    enforced, right));
  if (const std::string steps = HeldOutStepsText(folder.held_out.steps); !steps.empty())
    section.sentences.push_back(steps);
  section.sentences.push_back(
      fmt::format("priced by what was measured (tier A): at least {} of the time of each workload's ops",
                  PercentText(measured)));
  return section;
}

output::ReportSection HeldOutSection(const ScoredFolder& folder) {
  output::ReportSection section{
      .title = folder.name + ": ops of a workload, predicted from the probes of the others",
      .header = {"family", "ops", "MAPE", "median", "p95", "time-weighted"},
      .folded = true};
  for (const HeldOutOps& one : folder.held_out.ops) {
    section.rows.push_back({one.family, std::to_string(one.errors.n), PercentText(one.errors.mape),
                            PercentText(one.errors.median), PercentText(one.errors.p95),
                            PercentText(one.errors.time_weighted)});
  }
  return section;
}

output::ReportSection Meanings() {
  return {
      .title = "What the figures mean",
      .sentences = {
          fmt::format(
              "goals: step times within {:.0f} % median on CPUs and {:.0f} % where there is a GPU; tau "
              "{} or more",
              100 * kGoalOnCpus, 100 * kGoalOnGpus, kGoalTau),
          "median, p95: of |simulated / measured - 1| over placements, of median steps",
          "tau: Kendall's tau-b over pairs of placements further apart than their steps' median deviation",
          "of at most: what the spread of the steps leaves of it, from their first half against their second",
          "machine's own tau: of another measurement (NAME-again) against this one, over the placements that "
          "both have; in parentheses the simulator's over the same pairs",
          "regret: of the placement that is simulated fastest, against the fastest measured",
          "covered: within simulated times the 5 % and the 95 % quantile of measured / simulated of the "
          "other "
          "workloads of the folder",
          "memory verdicts: fits or does not, of limits at 90 to 110 % of the simulated peak"}};
}

}  // namespace

std::vector<ScoredFolder> ScoreFolders(const std::string& root) {
  std::vector<std::string> names;
  if (fs::is_directory(root)) {
    for (const auto& entry : fs::directory_iterator(root))
      if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  if (names.empty())
    throw InputError(root + ": holds no folder of recordings; `stowplan validate --record --out " + root +
                     "/NAME` makes one");
  std::ranges::sort(names);
  std::vector<ScoredFolder> folders;
  for (const std::string& name : names) {
    const std::string folder = (fs::path(root) / name).string();
    folders.push_back({name, ScoreFolder(folder), HoldWorkloadsOut(folder)});
    const fs::path again = fs::path(root) / (name + "-again");
    if (fs::is_directory(again)) CompareRepeats(again.string(), &folders.back().scores);
  }
  return folders;
}

output::ReportPage MakeAccuracyPage(const std::vector<ScoredFolder>& folders, const GpuAccuracy& gpus) {
  output::ReportPage page{.title = kTitle,
                          .lead = gpus.lead,
                          .facts = {{"command", "stowplan table derive accuracy --export"}},
                          .sections = gpus.verdict};
  page.sections.insert(page.sections.end(), gpus.every_row.begin(), gpus.every_row.end());
  for (const ScoredFolder& folder : folders) {
    page.sections.push_back(FolderSection(folder));
    if (!folder.held_out.ops.empty()) page.sections.push_back(HeldOutSection(folder));
  }
  page.sections.push_back(Meanings());
  return page;
}

output::ReportPage MakeAccuracyVerdict(const std::vector<ScoredFolder>& folders, const GpuAccuracy& gpus) {
  output::ReportPage page{
      .title = kTitle,
      .lead = gpus.lead,
      .facts = {{"command", "stowplan table derive accuracy --export"},
                {"every workload, case and op", "details.md and table.html, which the command writes"}},
      .sections = gpus.verdict};
  for (const ScoredFolder& folder : folders)
    page.sections.push_back({.title = folder.name, .sentences = FolderSection(folder).sentences});
  page.sections.push_back(Meanings());
  return page;
}

std::string PrintAccuracyHtml(const output::ReportPage& page, const std::vector<ScoredFolder>& folders) {
  std::string figures;
  for (const ScoredFolder& folder : folders) {
    figures += "<section>\n<h2>" + folder.name + ": measured against simulated</h2>\n";
    std::string plots;
    for (const Score& score : folder.scores) {
      if (score.placements.empty()) continue;
      output::Plot plot{
          .title = score.workload, .x_label = "simulated, us", .y_label = "measured, us", .diagonal = true};
      output::PlotSeries steps{.name = "placements"};
      for (const ScoredPlacement& p : score.placements)
        steps.points.emplace_back(p.simulated_us, p.measured_us);
      plot.series = {std::move(steps)};
      plots += output::PlotHtml(plot);
    }
    figures += output::FoldHtml(fmt::format("{} figures", folder.scores.size()),
                                "<div class=\"figures\">\n" + plots + "</div>\n") +
               "</section>\n";
  }
  return output::PrintReportHtml(page, figures);
}

}  // namespace stowplan::cli
