// Which ops of a file are collectives.
#pragma once

#include <cstdint>
#include <string>

#include "sim/op_graph.h"

namespace stowplan::formats {

// That ops written out for ranks may take beside themselves: a name of a megabyte would be copied for each.
inline constexpr std::int64_t kMostCopiedBytes = std::int64_t{1} << 28;

// Of a collective's type, and not one of its members.
bool IsWholeCollective(const sim::Op& op);
// The type of an op that only has a collective's name, as ops of other files may: that with "other." in front; all others as
// they are.
std::string NoCollective(const std::string& type);
// The result of an AllReduce, Broadcast or Reduce stands in the tensor that it is made of; that of others does not.
bool IsInPlace(const sim::Op& collective);
// Where a member's result stands.
void ShareInPlace(sim::Op& member);

}  // namespace stowplan::formats
