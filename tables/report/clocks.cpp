#include "tables/report/clocks.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "agents/evaluator.h"
#include "output/console.h"
#include "sim/base/spec.h"
#include "tables/curve.h"

namespace stowplan::tables {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// The n-th of numbers joined by blanks.
double NumberAt(const std::string& text, std::size_t n) {
  const std::vector<double> numbers = ParseCurveSeconds(text, "a row");
  return n < numbers.size() ? numbers[n] : kNever;
}

std::string Hours(double seconds) {
  return std::isfinite(seconds) ? output::TimeText(seconds * 1e6) : "–";
}

}  // namespace

double MedianOver(const CellSummary& cell, const std::vector<std::int64_t>& seeds,
                  const std::function<double(const CellRecord& record)>& value) {
  std::vector<double> values;
  for (const std::int64_t seed : seeds) {
    values.push_back(value(*std::find_if(cell.records.begin(), cell.records.end(),
                                         [&](const CellRecord& record) { return record.seed == seed; })));
  }
  return MedianByRank(std::move(values));
}

double FinalSeconds(const CellRecord& record) {
  return record.runtime_us ? *record.runtime_us / 1e6 : kNever;
}

SearchCost CostToReach(const CellRecord& record, double seconds_per_step) {
  const std::vector<std::pair<double, double>> curve = CurvePoints(record);
  for (std::size_t i = 0; i < curve.size(); ++i) {
    // Seconds of rows.csv are decimal texts.
    if (curve[i].second > seconds_per_step * (1 + 1e-12)) continue;
    return {curve[i].first, NumberAt(record.curve_agent_seconds, i),
            NumberAt(record.curve_machine_seconds, i)};
  }
  return {};
}

const SearchCost& SearchCosts::ToReach(const CellRecord& record, double seconds_per_step) {
  const auto [cost, is_new] = costs_.try_emplace({&record, seconds_per_step});
  if (is_new) cost->second = CostToReach(record, seconds_per_step);
  return cost->second;
}

double SamplesToMatch::speedup() const {
  if (!std::isfinite(ours)) return std::isfinite(theirs) ? 0 : 1;
  return theirs / ours;
}

SamplesToMatch CountSamplesToMatch(const CellSummary& ours, const CellSummary& theirs,
                                   const std::vector<std::int64_t>& seeds, SearchCosts& costs) {
  const double goal = MedianOver(theirs, seeds, FinalSeconds);
  SamplesToMatch samples;
  samples.theirs = MedianOver(theirs, seeds, [](const CellRecord& record) {
    return record.samples_to_1pct ? static_cast<double>(*record.samples_to_1pct) : kNever;
  });
  samples.ours =
      MedianOver(ours, seeds, [&](const CellRecord& record) { return costs.ToReach(record, goal).samples; });
  return samples;
}

std::optional<Estimate> SampleSpeedup(const CellSummary& ours, const CellSummary& theirs) {
  if (!ours.was_run() || !theirs.was_run()) return std::nullopt;
  SearchCosts costs;
  return EstimateOver({&ours, &theirs}, [&](const std::vector<std::int64_t>& seeds) {
    return CountSamplesToMatch(ours, theirs, seeds, costs).speedup();
  });
}

std::optional<Estimate> PublishedSpeedup(const CellSummary& ours, const CellSummary& theirs) {
  const auto to_best = [](const CellRecord& record) {
    return record.runtime_us ? static_cast<double>(record.samples_to_best.value_or(0)) : kNever;
  };
  for (const CellSummary* cell : {&ours, &theirs}) {
    if (!cell->was_run()) return std::nullopt;
    for (const CellRecord& record : cell->records) {
      if (to_best(record) == 0) return std::nullopt;
    }
  }
  return EstimateOver({&ours, &theirs}, [&](const std::vector<std::int64_t>& seeds) {
    SamplesToMatch samples;
    samples.theirs = MedianOver(theirs, seeds, to_best);
    samples.ours = MedianOver(ours, seeds, to_best);
    return samples.speedup();
  });
}

std::string SeveralMachines(const TableResults& results) {
  std::set<std::string> machines;
  for (const CellRecord* record : results.records()) {
    if (record->simulator_seconds && record->machine_seconds) machines.insert(record->machine);
  }
  if (machines.size() < 2) return {};
  return fmt::format(
      "The cells were run on {} machines ({}), so seconds of agent and simulator compare badly; counts of "
      "samples do not "
      "depend on a machine's speed.",
      machines.size(), JoinNames({machines.begin(), machines.end()}));
}

output::ReportSection ClockSection(const TableResults& results) {
  output::ReportSection section;
  section.title = "Three clocks";
  section.sentences = {
      fmt::format("Medians over seeds of a whole search. Agent: its own work, learning included. Simulator: "
                  "what stowplan needed. "
                  "Machine: what measuring the same samples would have taken on the machine that is "
                  "simulated, modelled as {} steps "
                  "of at most {:.0f} s each and a set-up of 0, 10 or 30 s, a placement that does not fit "
                  "costing its set-up alone.",
                  agents::kMachineSteps, agents::kMachineCutoffSeconds)};
  if (const std::string several = SeveralMachines(results); !several.empty())
    section.sentences.push_back(several);
  section.header = {"cell", "agent", "simulator"};
  for (const double setup : kSetups) section.header.push_back(fmt::format("machine, set-up {:.0f} s", setup));
  for (const TableBlock& block : results.table().blocks) {
    for (const TableLine& line : block.lines) {
      for (const TableColumn& column : block.columns) {
        const CellSummary& cell = results.At(block.key, line.key, column.key);
        std::vector<double> agent, simulator, machine;
        for (const CellRecord& record : cell.records) {
          if (!column.sampled || !record.machine_seconds || !record.simulator_seconds || !record.wall_seconds)
            continue;
          simulator.push_back(*record.simulator_seconds);
          agent.push_back(*record.wall_seconds - *record.simulator_seconds);
          machine.push_back(*record.machine_seconds);
        }
        if (machine.empty()) continue;
        std::vector<std::string> row = {results.NameOf(block, line, column), Hours(MedianByRank(agent)),
                                        Hours(MedianByRank(simulator))};
        for (const double setup : kSetups)
          row.push_back(Hours(MedianByRank(machine) + setup * cell.samples.value_or(0)));
        section.rows.push_back(std::move(row));
      }
    }
  }
  return section;
}

}  // namespace stowplan::tables
