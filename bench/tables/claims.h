// What the tables say of claims (PROTOCOL 8): each a ratio of cells with its 90 % interval and one of four
// words.
#pragma once

#include <string>
#include <vector>

#include "bench/tables/results.h"
#include "bench/tables/table.h"

namespace berth::bench {

// "12.3 % below": how far `to` is from `from`.
std::string ReductionText(double from, double to);

// A claim that a placement `claimed` (0 to 1) below the baseline exists. Found = holds; excluded by the
// proven bound = does not hold; else undecided: not finding it is no proof.
ClaimReading ReductionClaim(const TableResults& results, const std::string& block, const std::string& line,
                            const std::string& baseline, double claimed, const std::string& text);

// A claim that no column of the row is faster than the baseline; what is within 1 % is not faster.
ClaimReading NothingFasterClaim(const TableResults& results, const std::string& block,
                                const std::string& line, const std::string& baseline,
                                const std::string& text);

// A claim that a column ends at most `most` times as long as another. `experiment`: where the explanation is
// looked for.
ClaimReading RatioClaim(const TableResults& results, const std::string& block, const std::string& line,
                        const std::string& ours, const std::string& theirs, double most,
                        const std::string& text, const std::string& experiment = {});

// A column against the best of some opponents at equal samples in every row of a block; equal is not better.
// Holds if every row that was run is won, does not hold if one is lost.
ClaimReading BeatsClaim(const TableResults& results, const std::string& block, const std::string& ours,
                        const std::vector<std::string>& opponents, const std::string& opponent,
                        const std::string& text);

// PROTOCOL 1.11 and 9.6, for a learner of the table: beats the best of three kinds of random search, and both
// local searches. Ours, not the papers'.
std::vector<ClaimReading> OpponentClaims(const TableResults& results, const std::string& block,
                                         const std::vector<std::string>& learners);

// A claim that a column needs at least `least` times fewer samples than another to be as good (PROTOCOL 1.7),
// in every row of a block that was run: rows won, undecided, lost.
ClaimReading SpeedupClaim(const TableResults& results, const std::string& block, const std::string& ours,
                          const std::string& theirs, double least, const std::string& text);

}  // namespace berth::bench
