#include "tables/report/learned.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/base/spec.h"
#include "tables/report/bootstrap.h"
#include "tables/report/common.h"
#include "tables/report/gate_cases.h"
#include "tables/report/gate_verdict.h"

namespace stowplan::tables {
namespace {

constexpr const char* kControls[] = {"factored", "factored_copy"};

// "rnn(preset=tuned)", as the gate names it; empty for a variant that the gate does not run.
std::string GateSpec(const std::string& agent) {
  const Spec spec = Spec::Parse(agent);
  std::string preset = "tuned";
  for (const auto& [key, value] : spec.named) {
    if (key != "preset") return {};
    preset = value;
  }
  return fmt::format("{}(preset={})", spec.name, preset);
}

// Of a row: the learner over the better of the controls, all at equal samples; nothing where one was not run.
std::optional<Estimate> OverControls(const TableResults& results, const TableBlock& block,
                                     const std::string& line, const std::string& column) {
  const CellSummary& learner = results.At(block.key, line, column);
  std::vector<const CellSummary*> controls;
  for (const char* key : kControls) {
    if (!results.table().HasCell(block.key, line, key)) return std::nullopt;
    const CellSummary& control = results.At(block.key, line, key);
    if (!control.was_run() || control.budget() != learner.budget()) return std::nullopt;
    controls.push_back(&control);
  }
  if (!learner.was_run()) return std::nullopt;
  return EstimateRatio({&learner}, controls);
}

// Whether an agent learns from something else first, at a rate of its own: a heuristic, the graph.
bool TrainsBefore(const std::string& agent) {
  const Spec spec = Spec::Parse(agent);
  const auto without = [&](const char* parameter) {
    return std::ranges::find(spec.named, std::pair<std::string, std::string>(parameter, "no")) !=
           spec.named.end();
  };
  return (spec.name == "doppler" && !without("imitate")) || (spec.name == "mars" && !without("pretrain"));
}

}  // namespace

bool IsUntrained(const std::string& agent) {
  return std::ranges::any_of(Spec::Parse(agent).named, [](const auto& parameter) {
    return parameter.first == "lr" && parameter.second == "0";
  });
}

const TableColumn* UntrainedTwin(const TableBlock& block, const std::string& column_key) {
  const auto column = std::ranges::find(block.columns, column_key, &TableColumn::key);
  if (column == block.columns.end() || !column->learner || column->trained || IsUntrained(column->agent) ||
      TrainsBefore(column->agent))
    return nullptr;
  const auto twin = std::ranges::find_if(block.columns, [&](const TableColumn& other) {
    return other.learner && IsUntrained(other.agent) && DifferOnlyIn("lr", other, *column);
  });
  return twin == block.columns.end() ? nullptr : &*twin;
}

std::map<std::string, std::string> GateMisses(const std::string& gate_rows) {
  const std::vector<GateRun> runs = RunsOfPlan(PlanGate(GateCases(), GateAgents()), ParseGateRuns(gate_rows));
  std::map<std::string, std::string> misses;
  for (const GateAgent& agent : GateAgents()) {
    if (!agent.learner()) continue;
    const GateVerdict verdict = Judge(GateCases(), agent, runs);
    if (!verdict.failed()) continue;
    if (verdict.missed.empty()) {
      misses[agent.spec] = "met none of the gate's cases";
      continue;
    }
    const auto first = std::ranges::find(GateCases(), verdict.missed.front(), &GateCase::key);
    misses[agent.spec] = fmt::format("missed {} of the gate's cases ({}{})", verdict.missed.size(),
                                     first->title, verdict.missed.size() > 1 ? ", ..." : "");
  }
  return misses;
}

std::optional<std::string> WhyNotLearned(const TableResults& results, const std::string& block_key,
                                         const std::vector<std::string>& rows,
                                         const std::string& column_key) {
  const TableBlock& block = BlockOf(results.table(), block_key);
  const auto column = std::ranges::find(block.columns, column_key, &TableColumn::key);
  if (column == block.columns.end() || !column->learner || IsUntrained(column->agent)) return std::nullopt;
  const auto missed = results.gate_missed().find(GateSpec(column->agent));
  if (missed != results.gate_missed().end()) return column->title + " " + missed->second;
  int compared = 0, lost = 0;
  Estimate last;
  for (const TableLine& line : block.lines) {
    if (!rows.empty() && std::ranges::find(rows, line.key) == rows.end()) continue;
    const std::optional<Estimate> ratio = OverControls(results, block, line.key, column_key);
    if (!ratio) continue;
    ++compared;
    if (ratio->low <= kLostToControl) continue;
    ++lost;
    last = *ratio;
  }
  if (2 * lost <= compared) return std::nullopt;
  if (compared == 1)
    return fmt::format("{} takes {} times as long as its control{}", column->title, RatioText(last.value),
                       IntervalText(last));
  return fmt::format("{} lost to its control in {} of {} rows", column->title, lost, compared);
}

}  // namespace stowplan::tables
