// The heuristic that `doppler` imitates (docs/protocol_rules.md#doppler): list scheduling of whole units on all devices of
// the task. Of the ready units the one with the longest path to the end is next, and goes where it ends first; ties go
// to the first, where the published program draws. `heft` differs in what it ranks (ops), in filling gaps and in
// minding memory.
#include "agents/agents.h"
#include "agents/classical/unit_schedule.h"

namespace stowplan::agents {
namespace {

class CriticalPath final : public Agent {
 public:
  explicit CriticalPath(const Settings& read) : Agent(read.Canonical()) {}

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions&) override {
    if (evaluator.remaining() == 0 || evaluator.stop_requested()) return;
    UnitPlacement placement;
    for (const std::size_t slot : ScheduleByCriticalPath(UnitScheduleGraph(task)))
      placement.push_back(task.devices[slot]);
    evaluator.CountProposal();
    evaluator.Evaluate(placement);
  }
};

}  // namespace

std::unique_ptr<Agent> MakeCriticalPath(const Settings& read) {
  return std::make_unique<CriticalPath>(read);
}

}  // namespace stowplan::agents
