#include "tables/derive/gate_rows.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "output/csv.h"
#include "sim/base/error.h"
#include "sim/formats/formats.h"

namespace stowplan::tables {
namespace {

const output::CsvLine kHeader = {"case",          "agent",      "seed",          "best_s",
                                 "late_s",        "goal_s",     "single_device", "entropy",
                                 "gradient_norm", "experiment", "revision"};

output::CsvLine LineOf(const GateRun& run) {
  return {run.gate_case,
          run.agent,
          std::to_string(run.seed),
          fmt::format("{}", run.seconds),
          fmt::format("{}", run.late_s),
          fmt::format("{}", run.goal_s),
          fmt::format("{}", run.single_device),
          fmt::format("{}", run.entropy),
          fmt::format("{}", run.gradient_norm),
          run.experiment,
          run.revision};
}

using Key = std::tuple<std::string, std::string, std::int64_t, std::string>;

Key RunKeyOf(const GateRun& run) {
  return {run.gate_case, run.agent, run.seed, run.experiment};
}

}  // namespace

std::vector<GateRun> RunsOfPlan(const std::vector<GateRun>& plan, const std::vector<GateRun>& runs) {
  std::set<Key> planned, taken;
  for (const GateRun& run : plan) planned.insert(RunKeyOf(run));
  std::vector<GateRun> kept;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    Key key = RunKeyOf(*run);
    if (!planned.contains(key)) std::get<3>(key).clear();  // of an agent that this build cannot make
    if (planned.contains(key) && taken.insert(key).second) kept.push_back(*run);
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

std::string PrintGateRuns(const std::vector<GateRun>& runs) {
  std::string text = output::PrintCsvLine(kHeader);
  for (const GateRun& run : runs) text += output::PrintCsvLine(LineOf(run));
  return text;
}

std::vector<GateRun> ParseGateRuns(std::string csv) {
  csv.resize(csv.rfind('\n') == std::string::npos ? 0 : csv.rfind('\n') + 1);
  const std::vector<output::CsvLine> lines = output::ParseCsv(csv, "rows of the gate");
  if (lines.empty() || lines.front() != kHeader) {
    throw InputError(
        "rows of the gate: another header than is known here; without --resume they are replaced.");
  }
  std::vector<GateRun> runs;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const output::CsvLine& l = lines[i];
    if (l.size() != kHeader.size())
      throw InputError(
          fmt::format("rows of the gate, line {}: {} fields, wanted {}.", i + 1, l.size(), kHeader.size()));
    const std::string where = fmt::format("rows of the gate, line {}", i + 1);
    const auto number = [&](std::size_t field) { return output::ParseNumber(l[field], where); };
    runs.push_back({l[0], l[1], output::ParseWholeNumber(l[2], where), number(3), number(4), number(5),
                    number(6), number(7), number(8), l[9], l[10]});
  }
  return runs;
}

KeptRuns::KeptRuns(const std::vector<GateRun>& plan, std::string path, bool resume) : path_(std::move(path)) {
  if (path_.empty() || !resume || !std::filesystem::exists(path_)) return;
  runs_ = RunsOfPlan(plan, ParseGateRuns(formats::ReadFile(path_)));
}

bool KeptRuns::Take(GateRun& run) const {
  const auto found = std::ranges::find(runs_, RunKeyOf(run), RunKeyOf);
  if (found == runs_.end()) return false;
  run = *found;
  return true;
}

void KeptRuns::Add(const GateRun& run) {
  if (path_.empty()) return;
  if (!begun_) {  // what was there is replaced at once and only now
    runs_.push_back(run);
    formats::WriteFile(path_, PrintGateRuns(runs_));
    begun_ = true;
    return;
  }
  std::ofstream file(path_, std::ios::app);
  file << output::PrintCsvLine(LineOf(run)) << std::flush;
  if (!file) throw RunError(fmt::format("{}: a finished run cannot be added.", path_));
}

}  // namespace stowplan::tables
