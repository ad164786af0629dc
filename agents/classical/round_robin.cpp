// Unit u on the u-th device, starting over after the last: the baseline that balances counts and nothing else,
// and the specimen to copy for a new agent.
#include "agents/agents.h"

namespace stowplan::agents {
namespace {

class RoundRobin final : public Agent {
 public:
  explicit RoundRobin(const Spec& spec) {
    ParameterReader parameters(spec);
    parameters.Finish();
    name_ = parameters.Canonical();
  }

  std::string name() const override { return name_; }

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& /*options*/) override {
    if (evaluator.remaining() == 0 || evaluator.stop_requested()) return;
    UnitPlacement placement(task.units.ops.size());
    for (std::size_t unit = 0; unit < placement.size(); ++unit) {
      placement[unit] = task.devices[unit % task.devices.size()];
    }
    evaluator.CountProposal();
    evaluator.Evaluate(placement);
  }

 private:
  std::string name_;
};

}  // namespace

std::unique_ptr<Agent> MakeRoundRobin(const Spec& spec) {
  return std::make_unique<RoundRobin>(spec);
}

}  // namespace stowplan::agents
