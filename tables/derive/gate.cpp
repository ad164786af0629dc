#include "tables/derive/gate.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "agents/agent.h"
#include "agents/evaluator.h"
#include "output/console.h"
#include "output/csv.h"
#include "output/interrupt.h"
#include "output/temp_folder.h"
#include "problem/fingerprint.h"
#include "problem/loaded_problem.h"
#include "problem/provenance.h"
#include "sim/base/error.h"
#include "sim/base/parallel.h"
#include "sim/formats/formats.h"
#include "tables/run/runner.h"

namespace stowplan::tables {
namespace {

constexpr double kNothing = std::numeric_limits<double>::infinity();
agents::Task TaskOf(const GateCase& gate, const problem::LoadedProblem& loaded) {
  return agents::MakeTask(loaded.problem(), gate.grouper, problem::SelectDevices(loaded.cluster(), "gpu"));
}

// The last line of a learning log.
void ReadLog(const std::string& path, GateRun& run) {
  run.entropy = run.gradient_norm = std::nan("");
  if (!std::filesystem::exists(path)) return;
  const std::vector<output::CsvLine> lines = output::ParseCsv(formats::ReadFile(path), path);
  if (lines.size() < 2) return;
  const output::CsvLine& header = lines.front();
  const auto column = [&](const char* name) {
    return static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin());
  };
  run.entropy = output::ParseNumber(lines.back().at(column("entropy")), path);
  run.gradient_norm = output::ParseNumber(lines.back().at(column("gradient_norm")), path);
}

void Search(const GateCase& gate, GateRun& run, const DerivedOptions& options) {
  const problem::LoadedProblem loaded({.graph = gate.graph, .cluster = gate.cluster});
  const agents::Task task = TaskOf(gate, loaded);
  agents::Evaluator evaluator(task, {.budget = gate.samples, .stop = options.stop});
  std::int64_t late = 0, single = 0;
  evaluator.observer = [&](std::int64_t sample, const agents::UnitPlacement& placement,
                           const agents::Evaluation& evaluation) {
    if (sample <= gate.samples - gate.samples / 10) return;
    ++late;
    run.late_s += sim::ToMicros(evaluation.runtime) / 1e6;
    single += std::all_of(placement.begin(), placement.end(), [&](auto d) { return d == placement.front(); });
  };
  const output::TempFolder folder;
  const std::string checkpoint = folder / "checkpoint";
  agents::MakeAgent(run.agent)->Search(
      task, evaluator, {.seed = static_cast<std::uint64_t>(run.seed), .checkpoint = checkpoint});
  ReadLog(checkpoint + ".log.csv", run);
  run.seconds = evaluator.has_best() ? sim::ToMicros(evaluator.best_runtime()) / 1e6 : kNothing;
  run.single_device = late == 0 ? 0 : static_cast<double>(single) / static_cast<double>(late);
  run.late_s = late == 0 ? std::nan("") : run.late_s / static_cast<double>(late);
  if (run.agent == kGateOneGpu) {  // one sample, and all others would be the same
    run.late_s = run.seconds;
    run.single_device = 1;
  }
  run.goal_s = gate.goal_s;
  if (!gate.exhaustive) return;
  agents::Evaluator all(task, {.budget = 1'000'000, .stop = options.stop});
  agents::MakeAgent("brute_force")->Search(task, all, {});
  run.goal_s = sim::ToMicros(all.best_runtime()) / 1e6;
}

// Throws InputError for a pattern that asks for no run of the plan.
std::vector<GateRun*> AskedFor(std::vector<GateRun>& runs, const std::vector<std::string>& patterns) {
  std::vector<GateRun*> asked;
  std::vector<bool> used(patterns.size());
  for (GateRun& run : runs) {
    bool wanted = patterns.empty();
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (!MatchesGlob(patterns[i], run.gate_case + "/" + run.agent)) continue;
      wanted = used[i] = true;
    }
    if (wanted) asked.push_back(&run);
  }
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (used[i]) continue;
    throw InputError(
        fmt::format("--cells {}: table gate has no such run; wanted CASE/AGENT with *, like chains_2/rnn* or "
                    "*/sgdp(preset=tuned*.",
                    patterns[i]));
  }
  return asked;
}

}  // namespace

std::vector<GateRun> RunGate(const std::vector<GateCase>& cases, const std::vector<GateAgent>& agents,
                             const DerivedOptions& options) {
  std::vector<GateRun> runs = PlanGate(cases, agents);
  const auto case_of = [&](const GateRun& run) -> const GateCase& {
    return *std::ranges::find(cases, run.gate_case, &GateCase::key);
  };
  const problem::Provenance provenance = problem::CurrentProvenance();
  KeptRuns kept(runs, options.rows_path, options.resume);
  const std::vector<GateRun*> asked = AskedFor(runs, options.cells);
  std::set<const GateRun*> wanted(asked.begin(), asked.end());
  std::vector<GateRun*> left;
  for (GateRun& run : runs) {
    run.revision = provenance.RevisionText();
    if (kept.Take(run)) {
      wanted.insert(&run);
    } else if (wanted.contains(&run)) {
      left.push_back(&run);
    }
  }
  for (const GateRun* run : left)
    agents::MakeAgent(run->agent);  // what this build lacks is refused before anything is run
  const auto total = static_cast<std::int64_t>(wanted.size());
  std::int64_t done = total - static_cast<std::int64_t>(left.size());
  const auto stopped = [&] { return options.stop != nullptr && *options.stop; };
  std::mutex keeping;
  ParallelFor(left.size(), ResolveThreads(options.threads), [&](std::size_t i, int) {
    if (stopped()) return;
    Search(case_of(*left[i]), *left[i], options);
    if (stopped()) return;  // a run that was cut off is none
    const std::lock_guard<std::mutex> lock(keeping);
    kept.Add(*left[i]);
    ++done;
    if (options.on_part) options.on_part(done, total);
  });
  if (stopped()) {
    throw output::Interrupted(fmt::format(
        "stopped after {} of {} runs; {}", done, total,
        options.rows_path.empty()
            ? std::string("they are not kept.")
            : fmt::format("they are kept in {}, the same call with --resume goes on with the others.",
                          options.rows_path)));
  }
  std::vector<GateRun> ran;
  for (const GateRun& run : runs) {
    if (wanted.contains(&run)) ran.push_back(run);
  }
  return ran;
}

std::string EvaluateGate(const std::vector<TableResults>&, const DerivedOptions& options) {
  return PrintGateRuns(RunGate(GateCases(), GateAgents(), options));
}

}  // namespace stowplan::tables
