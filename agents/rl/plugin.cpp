// The table of the learners in this module, as agents/ finds it.
#include "agents/agent.h"
#include "agents/rl/placeto.h"
#include "agents/rl/placeto_options.h"

extern "C" __attribute__((visibility("default"))) const std::vector<berth::agents::AgentRow>*
berth_rl_agents();

extern "C" const std::vector<berth::agents::AgentRow>* berth_rl_agents() {
  using namespace berth::agents;
  static const std::vector<AgentRow> rows = {
      {"placeto",
       "message passing, three pooled summaries, one unit at a time, REINFORCE; transfers to unseen graphs",
       "Addanki et al., NeurIPS 2019", rl::kPlacetoParameters, AgentKind::kLearner, rl::MakePlaceto},
  };
  return &rows;
}
