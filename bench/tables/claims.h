// What the tables say of claims (docs/protocol.md#claims): each a ratio of cells with its 90 % interval and
// one of four words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/tables/results.h"
#include "bench/tables/table.h"

namespace berth::bench {

// "12.3 % below": how far `to` is from `from`.
std::string ReductionText(double from, double to);

// The fastest placement that any seed of any column of the row found.
struct BestFound {
  double seconds = 0;
  std::string by;  // "local search, seed 2"
};
std::optional<BestFound> FindBest(const TableResults& results, const std::string& block,
                                  const std::string& line, const std::string& except = {});

// A claim that a placement `claimed` (0 to 1) below the baseline exists. Found by any seed = holds; excluded by
// the proven bound = does not hold; else undecided: not finding it is no proof. `experiment`: where the
// explanation is looked for.
ClaimVerdict ReductionClaim(const TableResults& results, const std::string& block, const std::string& line,
                            const std::string& baseline, double claimed, const std::string& text,
                            const std::string& experiment);

// A claim that nothing is faster than the baseline; what is within 1 % is not faster. Found by any seed = does
// not hold; left out by the proven bound = holds; else undecided.
ClaimVerdict NothingFasterClaim(const TableResults& results, const std::string& block,
                                const std::string& line, const std::string& baseline, const std::string& text,
                                const std::string& experiment);

// A claim that a column ends at most `most` times as long as another; undecided where neither fits.
ClaimVerdict RatioClaim(const TableResults& results, const std::string& block, const std::string& line,
                        const std::string& ours, const std::string& theirs, double most,
                        const std::string& text, const std::string& experiment);

// Where most explanations are looked for: the experiment of a claim.
inline constexpr char kSearchAndBound[] = "local search and bound in the same row";

inline constexpr double kFaster = 1 - 1e-9;  // as `most`: equal is not faster
inline constexpr double kFewer = 1 + 1e-9;   // as `least`: as many are not fewer

// A column against the best of some opponents at equal samples in every row of a block; equal is not better.
// Holds if every row is won, does not hold if one is lost.
ClaimVerdict BeatsClaim(const TableResults& results, const std::string& block, const std::string& ours,
                        const std::vector<std::string>& opponents, const std::string& opponent,
                        const std::string& text);

// For a learner of the table: beats the best of three kinds of random search, and both local searches
// (docs/protocol.md#random-search, #local-search). Ours, not the papers'.
std::vector<ClaimVerdict> OpponentClaims(const TableResults& results, const std::string& block,
                                         const std::vector<std::string>& learners);

// A claim that a column needs at least `least` times fewer samples than another, in `rows` rows of a block:
// rows won, undecided, lost. Holds if as many are won, does not hold if too few are left to be won. Two
// interpretations: samples to be as good as the other, and samples of both to their own final best, as the
// papers count (docs/protocol.md#search-speed-up).
std::vector<ClaimVerdict> SpeedupClaims(const TableResults& results, const std::string& block,
                                        const std::string& ours, const std::string& theirs, double least,
                                        int rows, const std::string& text, const std::string& experiment);

// The first of them for the geometric mean over all rows of a block. Who never gets there counts with its
// whole budget.
ClaimVerdict MeanSpeedupClaim(const TableResults& results, const std::string& block, const std::string& ours,
                              const std::string& theirs, double least, const std::string& text,
                              const std::string& experiment);

}  // namespace berth::bench
