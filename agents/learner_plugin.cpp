#include "agents/learner_plugin.h"

#include <string>
#include <vector>

#include "agents/plugin.h"
#include "sim/base/error.h"

namespace stowplan::agents {
namespace {

LearnerTable OpenLearners() {
  static constexpr Plugin kPlugin = {
      "the learning agents", "libstowplan_rl.so",   "agents/rl", "STOWPLAN_RL_PLUGIN",
      kLearnerTableSymbol,   STOWPLAN_WITH_RL != 0, "libtorch",  "stowplan_rl"};
  return reinterpret_cast<LearnerTable>(PluginSymbol(kPlugin));
}

}  // namespace

const std::vector<AgentRow>& Learners() {
  static const LearnerTable table = OpenLearners();
  return *table();
}

std::unique_ptr<Agent> MakeLearner(const Settings& read) {
  for (const AgentRow& row : Learners()) {
    if (read.name() == row.name) return row.make(read);
  }
  throw RunError("the plug-in with the learning agents has no " + read.name() +
                 "; it is of another version of stowplan");
}

}  // namespace stowplan::agents
