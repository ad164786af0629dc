// Unit u on the u-th device, starting over after the last: the baseline that balances counts and nothing else,
// and the specimen to copy for a new agent.
#include "agents/agents.h"

namespace stowplan::agents {
namespace {

class RoundRobin final : public Agent {
 public:
  explicit RoundRobin(const Settings& read) : Agent(read.Canonical()) {}

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& /*options*/) override {
    if (evaluator.remaining() == 0 || evaluator.stop_requested()) return;
    UnitPlacement placement(task.units.ops.size());
    for (std::size_t unit = 0; unit < placement.size(); ++unit) {
      placement[unit] = task.devices[unit % task.devices.size()];
    }
    evaluator.CountProposal();
    evaluator.Evaluate(placement);
  }
};

}  // namespace

std::unique_ptr<Agent> MakeRoundRobin(const Settings& read) {
  return std::make_unique<RoundRobin>(read);
}

}  // namespace stowplan::agents
