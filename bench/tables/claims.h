// What the tables say of claims (docs/protocol.md#claims): each a comparison of cells, with its 90 % interval where seeds
// decide, and one of the words of ClaimWord.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/tables/results.h"
#include "bench/tables/table.h"
#include "sim/formats/document.h"

namespace berth::bench {

// A kind of claim: the word that a table's file gives, what is claimed, and which fields it has.
struct ClaimKind {
  const char* name;
  const char* what;
  const char* fields;  // joined by blanks; ! behind those that are required
  std::vector<ClaimVerdict> (*judge)(const TableResults& results, const Claim& claim);
};
const std::vector<ClaimKind>& ClaimKinds();

// A claim of a table's file whose blocks are read; several where it is one for each row. Throws InputError with its line.
std::vector<Claim> ReadClaim(const formats::Value& value, const TableDefinition& table);

// Of all claims of the table, those of its analysis first.
std::vector<ClaimVerdict> JudgeClaims(const TableResults& results);

// "12.3 % below": how far `to` is from `from`.
std::string ReductionText(double from, double to);

// The fastest placement that any seed of any column of the row found.
struct BestFound {
  double seconds = 0;
  std::string by;  // "local search, seed 2"
};
std::optional<BestFound> FindBest(const TableResults& results, const std::string& block,
                                  const std::string& line, const std::string& except = {});

inline constexpr double kFaster = 1 - 1e-9;  // of what is at most: equal is not faster

}  // namespace berth::bench
