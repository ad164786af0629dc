#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "tables/report/gate_verdict.h"

namespace stowplan::tables {
namespace {

RenderedCell CellOf(const GateCase& gate, const GateAgent& agent, const std::vector<GateRun>& runs) {
  RenderedCell cell{.ours = "not run"};
  const std::optional<Gain> gain = GainOf(gate, agent, runs);
  const std::optional<double> part = gate.real() ? std::nullopt : PartOfReference(gate, agent.spec, runs);
  if (gate.real()) {
    if (!gain) return cell;
    cell.ours = gain->only_ours_fits ? "fits" : fmt::format("{:.3f}", gain->ratio);
  } else if (part) {
    cell.ours = fmt::format("{:.2f}", std::max(0.0, *part));  // below 0 by rounding alone
  } else {
    return cell;
  }
  if (const std::int64_t missing = NotRun(gate, agent, runs); missing > 0) {
    cell.remark = fmt::format("{} more to run", missing);
  } else if (!Meets(gate, agent, runs).value_or(false)) {
    const std::optional<bool> counts = Counts(gate, agent, runs);
    cell.remark = !counts ? "its controls were not run" : *counts ? "missed" : "missed, but does not count";
    if (part && *part <= kGatePart)
      cell.remark += fmt::format("; {:.3f} of the distance without learning", gain.value_or(Gain{}).ratio);
  }
  return cell;
}

// Of the cases of a kind, whose keys begin with it, or of the real ones: "5/6", that is met of those run that count.
RenderedCell MetOf(const std::string& kind, const GateAgent& agent, const std::vector<GateRun>& runs) {
  int met = 0, run = 0;
  for (const GateCase& gate : GateCases()) {
    if (kind.empty() ? !gate.real() : !gate.key.starts_with(kind)) continue;
    if (!agent.control && !Counts(gate, agent, runs).value_or(false)) continue;
    const std::optional<bool> meets = Meets(gate, agent, runs);
    run += meets.has_value();
    met += meets.value_or(false);
  }
  return {.ours = run == 0 ? "–" : fmt::format("{}/{}", met, run)};
}

// "12 of 54 of hierarchical, tuned", and who has none at all.
std::string WhatIsMissing(const std::vector<GateRun>& runs) {
  std::set<std::tuple<std::string, std::string, std::int64_t>> there;
  for (const GateRun& run : runs) there.emplace(run.gate_case, run.agent, run.seed);
  std::vector<std::string> begun, not_begun;
  for (const GateAgent& agent : GateAgents()) {
    const std::vector<GateRun> planned = PlanGate(GateCases(), {agent});
    const auto missing = std::ranges::count_if(planned, [&](const GateRun& run) {
      return !there.contains({run.gate_case, run.agent, run.seed});
    });
    if (missing == std::ssize(planned)) {
      not_begun.push_back(agent.title);
    } else if (missing > 0) {
      begun.push_back(fmt::format("{} of {} of {}", missing, planned.size(), agent.title));
    }
  }
  if (!not_begun.empty()) begun.push_back(fmt::format("all of {}", fmt::join(not_begun, "; ")));
  return fmt::format("{}", fmt::join(begun, "; "));
}

// "placeto, tuned: 256 ops on 4": what learners missed and a control of their kind met, but that does not count.
std::string WhatDoesNotCount(const std::vector<GateRun>& runs) {
  std::vector<std::string> texts;
  for (const GateAgent& agent : GateAgents()) {
    for (const GateCase& gate : GateCases()) {
      if (!agent.learner() || Meets(gate, agent, runs).value_or(true) ||
          Counts(gate, agent, runs).value_or(true))
        continue;
      const bool met_by_one = std::ranges::any_of(GateAgents(), [&](const GateAgent& control) {
        return control.control && control.walks == agent.walks && Meets(gate, control, runs).value_or(false);
      });
      if (met_by_one) texts.push_back(fmt::format("{}: {}", agent.title, gate.title));
    }
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace

RenderedTable RenderGate(const std::vector<TableResults>&, const std::string& rows) {
  const std::vector<GateRun> all = ParseGateRuns(rows);
  const std::vector<GateRun> runs = RunsOfPlan(PlanGate(GateCases(), GateAgents()), all);
  RenderedTable table;
  table.name = "gate";
  table.title = "Does it learn at all?";
  table.short_legend =
      "Who misses a case that a control of its kind (one draw, or a walk) meets did not learn.";
  table.legend =
      "Where the optimum is known: how far the last tenth of the samples is above it, over how far random "
      "or one GPU is, whichever is less, by the median seed; more than 0.5 is missed. On real graphs: the "
      "last tenth over that of the same agent with a learning rate of 0, means over seeds. Everywhere the "
      "last tenth of each seed must also be below that of each without learning and 5 % less in the mean "
      "(of the distance, where the optimum is known). Who misses one case that a control of its kind meets, "
      "one draw or a walk, did not learn. A case does not count that none of them meets, nor one where each "
      "seed, with learning and without, ends nearer than the controls that meet it. ! is missed.";
  RenderedBlock block;
  block.key = "gate";
  block.title = "Gate";
  block.row_title = "agent";
  block.shows =
      "Distance to the optimum / that of random or one GPU; real graphs: late runtime / without learning";
  block.dots = false;
  block.columns.push_back({"verdict", ColumnGroup::kLearner, true});
  for (const GateCase& gate : GateCases()) block.columns.push_back({gate.title, ColumnGroup::kLearner, true});
  RenderedBlock summary;
  summary.key = "summary";
  summary.title = block.title;
  summary.row_title = "agent";
  summary.shows = "Cases that are met, of those that were run and count; !: some of its runs are missing";
  summary.dots = false;
  for (const char* title : {"verdict", "balance", "chains", "tiny", "real"})
    summary.columns.push_back({title, ColumnGroup::kLearner, true});
  int learners = 0, learned = 0, missed = 0;
  output::ReportSection course{
      "How runs end",
      {"Means over all runs of an agent with learning. Early runs without learning logged "
       "neither entropy nor gradient: "
       "nan in rows.csv."},
      {"agent", "entropy [nat]", "gradient norm", "on one device"},
      {}};
  for (const GateAgent& agent : GateAgents()) {
    const GateVerdict verdict = Judge(GateCases(), agent, runs);
    if (agent.learner()) {
      ++learners;
      learned += verdict.learned;
      missed += verdict.failed();
    }
    RenderedLine line;
    line.title = agent.title;
    line.what = agent.spec;
    line.cells.push_back({.ours = verdict.learned    ? "learned"
                                  : verdict.failed() ? "did not learn"
                                                     : "not known"});
    if (verdict.not_run > 0) line.cells.back().remark = fmt::format("{} more to run", verdict.not_run);
    for (const GateCase& gate : GateCases()) line.cells.push_back(CellOf(gate, agent, runs));
    RenderedLine brief{.title = agent.title, .cells = {line.cells.front()}};
    for (const char* kind : {"balance", "chains", "tiny", ""})
      brief.cells.push_back(MetOf(kind, agent, runs));
    summary.lines.push_back(std::move(brief));
    block.lines.push_back(std::move(line));
    double n = 0, entropy = 0, norm = 0, single = 0;
    for (const GateRun& run : runs) {
      if (run.agent != agent.spec) continue;
      ++n;
      entropy += run.entropy;
      norm += run.gradient_norm;
      single += run.single_device;
    }
    const auto mean = [&](double sum) {
      return n > 0 && std::isfinite(sum) ? fmt::format("{:.2g}", sum / n) : std::string("–");
    };
    course.rows.push_back({agent.title, mean(entropy), mean(norm), mean(single)});
  }
  const int open = learners - learned - missed;
  const std::string unknown = open > 0 ? fmt::format("; of {} it is not known", open) : "";
  table.outcome.push_back(fmt::format("{} of {} learners and presets learned, {} did not{}.", learned,
                                      learners, missed, unknown));
  std::set<std::string> revisions;
  for (const GateRun& run : runs) revisions.insert(run.revision);
  table.facts.emplace_back("rows",
                           fmt::format("{} runs, revision {}", runs.size(), fmt::join(revisions, "; ")));
  if (const std::string missing = WhatIsMissing(runs); !missing.empty())
    table.facts.emplace_back("runs missing", missing);
  if (const std::string beyond = WhatDoesNotCount(runs); !beyond.empty())
    table.facts.emplace_back("missed, but begun nearer than the controls that meet it end", beyond);
  if (all.size() > runs.size()) {
    table.facts.emplace_back("left out", fmt::format("{} rows that are no run of this gate, or there twice",
                                                     all.size() - runs.size()));
  }
  table.discussion.push_back(std::move(course));
  table.summary = std::move(summary);
  table.blocks.push_back(std::move(block));
  return table;
}

}  // namespace stowplan::tables
