// What the tables say of claims (docs/protocol.md#claims): each a comparison of cells, with its 90 % interval where seeds
// decide, and one of the words of ClaimWord.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tables/results.h"
#include "tables/table.h"

namespace stowplan::tables {

// A kind of claim: the word that a table's file gives, what is claimed, and which fields it has.
struct ClaimKind {
  const char* name;
  const char* what;
  const char* fields;  // joined by blanks; ! behind those that are required
  std::vector<ClaimVerdict> (*judge)(const TableResults& results, const Claim& claim);
};
const std::vector<ClaimKind>& ClaimKinds();

// Of all claims of the table, those of its analysis first.
std::vector<ClaimVerdict> JudgeClaims(const TableResults& results);

}  // namespace stowplan::tables
