// What a search costs on three clocks (docs/protocol.md#clocks): samples, seconds of the agent, and seconds
// of the machine that is simulated, had each sample been measured there.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tables/report/bootstrap.h"
#include "tables/report/rendered_table.h"
#include "tables/results.h"

namespace stowplan::tables {

// Set-up times of one sample on a machine [s] that are shown.
inline constexpr double kSetups[] = {0, 10, 30};

// Where a search stood when it first found something this good. Infinite where it never did.
struct SearchCost {
  double samples = std::numeric_limits<double>::infinity();
  double agent_seconds = samples;    // outside of the simulator; infinite also where the row lacks it
  double machine_seconds = samples;  // without set-ups; likewise

  // On the machine and in the agent together.
  double Total(double setup) const {
    const double seconds = agent_seconds + machine_seconds;
    return setup > 0 ? seconds + setup * samples : seconds;  // 0 x infinity is no number
  }
};
SearchCost CostToReach(const CellRecord& record, double seconds_per_step);

// The same, read once for each record and goal: a bootstrap asks for the same few ten thousand times. Records must
// outlive it. One thread.
class SearchCosts {
 public:
  const SearchCost& ToReach(const CellRecord& record, double seconds_per_step);

 private:
  std::map<std::pair<const CellRecord*, double>, SearchCost> costs_;
};

// Over these seeds of a cell, which has them all: the median by rank.
double MedianOver(const CellSummary& cell, const std::vector<std::int64_t>& seeds,
                  const std::function<double(const CellRecord& record)>& value);
double FinalSeconds(const CellRecord& record);  // infinite where nothing fits

// Medians over seeds, which both have: samples of theirs to within 1 % of its final best, and of ours to be as
// good as their final median, or to anything that fits where theirs found nothing. Infinite where it never got
// there.
struct SamplesToMatch {
  double theirs = 0;
  double ours = 0;

  double speedup() const;  // how many times fewer ours needs: 0 = never, 1 where neither gets anywhere
};
SamplesToMatch CountSamplesToMatch(const CellSummary& ours, const CellSummary& theirs,
                                   const std::vector<std::int64_t>& seeds, SearchCosts& costs);
// The speed-up over the seeds that both have, with its interval. Empty where one was not run.
std::optional<Estimate> SampleSpeedup(const CellSummary& ours, const CellSummary& theirs);

// Both cells' samples to their own final best, theirs / ours: the published notion, whatever the bests are.
// Empty where one was not run or its rows do not have the count; a seed that found nothing feasible never
// gets there.
std::optional<Estimate> PublishedSpeedup(const CellSummary& ours, const CellSummary& theirs);

// Says that searched rows are of several machines, whose seconds are not those of one; empty where they are
// of one.
std::string SeveralMachines(const TableResults& results);

// One line for each searched cell whose rows have the clocks; no rows where none has.
output::ReportSection ClockSection(const TableResults& results);

}  // namespace stowplan::tables
