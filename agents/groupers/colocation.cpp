// One unit for each hard colocation set: the finest units there are, and the specimen to copy for a new
// grouper.
#include "agents/groupers/groupers.h"

namespace stowplan::agents {

std::vector<std::int32_t> GroupByColocation(const Settings& /*read*/, const sim::Problem& problem) {
  return problem.graph().colocation_set();
}

}  // namespace stowplan::agents
