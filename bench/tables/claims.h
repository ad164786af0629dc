// What the tables say of claims (docs/protocol.md#claims): each a comparison of cells, with its 90 % interval where seeds
// decide, and one of the words of ClaimWord.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/tables/results.h"
#include "bench/tables/table.h"
#include "sim/formats/document.h"

namespace stowplan::bench {

// A kind of claim: the word that a table's file gives, what is claimed, and which fields it has.
struct ClaimKind {
  const char* name;
  const char* what;
  const char* fields;  // joined by blanks; ! behind those that are required
  std::vector<ClaimVerdict> (*judge)(const TableResults& results, const Claim& claim);
};
const std::vector<ClaimKind>& ClaimKinds();

// A claim of a table's file whose blocks are read; several where it is one for each row, at most `room` of them. Throws
// InputError with its line.
std::vector<Claim> ReadClaim(const formats::Value& value, const TableDefinition& table, std::size_t room);

// Of all claims of the table, those of its analysis first.
std::vector<ClaimVerdict> JudgeClaims(const TableResults& results);

}  // namespace stowplan::bench
