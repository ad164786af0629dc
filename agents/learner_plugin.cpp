#include "agents/learner_plugin.h"

#include <string>
#include <vector>

#include "agents/plugin.h"
#include "sim/error.h"

namespace berth::agents {
namespace {

LearnerTable OpenLearners() {
  static constexpr Plugin kPlugin = {
      "the learning agents", "libberth_rl.so",   "agents/rl", "BERTH_RL_PLUGIN",
      kLearnerTableSymbol,   BERTH_WITH_RL != 0, "libtorch",  "berth_rl"};
  return reinterpret_cast<LearnerTable>(PluginSymbol(kPlugin));
}

}  // namespace

const std::vector<AgentRow>& Learners() {
  static const LearnerTable table = OpenLearners();
  return *table();
}

std::unique_ptr<Agent> MakeLearner(const Spec& spec) {
  for (const AgentRow& row : Learners()) {
    if (spec.name == row.name) return row.make(spec);
  }
  throw RunError("the plug-in with the learning agents has no " + spec.name +
                 "; it is of another version of berth");
}

}  // namespace berth::agents
