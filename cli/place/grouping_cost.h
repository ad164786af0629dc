// What it costs that a search places groups: what it cannot reach with them, and what smaller ones would save.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "agents/agent.h"
#include "agents/evaluator.h"
#include "agents/task.h"

namespace stowplan::cli {

struct GroupingCost {
  sim::Picos bound = 0;  // proven: no placement of these groups takes less
  sim::Picos single_ops =
      0;  // the fastest of single ops that was found from the search's best; 0 = none was sought
  std::int64_t samples = 0;  // that took, beside those of the search
};

// None where the groups are colocation sets, which nobody may split. `samples`: what single ops may take; 0 = they are not sought.
// `seconds`: as well; 0 = as long as it takes. The evaluator must have a best. `options` have its seed and threads.
std::optional<GroupingCost> FindGroupingCost(const agents::Task& task, const agents::Evaluator& found,
                                             std::int64_t samples, double seconds,
                                             const agents::SearchOptions& options,
                                             const std::atomic<bool>* stop);

// Sentences: how much of the best's time more search may save, and single ops.
std::string GroupingCostText(const GroupingCost& cost, const agents::Task& task, sim::Picos best);

}  // namespace stowplan::cli
