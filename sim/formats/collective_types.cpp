#include "sim/formats/collective_types.h"

#include "sim/collectives.h"

namespace stowplan::formats {

bool IsWholeCollective(const sim::Op& op) {
  return op.collective < 0 && sim::CollectiveTypeOf(op.type).has_value();
}

std::string NoCollective(const std::string& type) {
  return sim::CollectiveTypeOf(type) ? "other." + type : type;
}

bool IsInPlace(const sim::Op& collective) {
  return collective.type == "AllReduce" || collective.type == "Broadcast" || collective.type == "Reduce";
}

void ShareInPlace(sim::Op& member) {
  if (!IsInPlace(member)) return;
  member.outputs.front().storage = sim::Output::Storage::kInput;
  member.outputs.front().alias = member.inputs.front();
}

}  // namespace stowplan::formats
