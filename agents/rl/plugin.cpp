// The learners of this module, as agents/learner_plugin.h finds them. What `stowplan list` prints of them stands
// in agents/registry.cpp, which must not need this module; here a row is a name and a factory.
#include "agents/agent.h"
#include "agents/rl/learners.h"
#include "sim/base/plugin_interface.h"
#include "stowplan_interface.h"

// Behind the others: what has been included says whether it is glibc.
#ifdef __GLIBC__
#include <malloc.h>
#endif

extern "C" __attribute__((visibility("default"))) const std::vector<stowplan::agents::AgentRow>*
stowplan_rl_agents();

STOWPLAN_EXPORT_INTERFACE(STOWPLAN_INTERFACE);

extern "C" const std::vector<stowplan::agents::AgentRow>* stowplan_rl_agents() {
  using namespace stowplan::agents;
#ifdef __GLIBC__
  // Updates ask for the same megabytes thousands of times a second. Handed back to the system in between, they take a third of a
  // search of `hierarchical`. Where this is refused it is merely slower.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // as large as it may be
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
  static const std::vector<AgentRow> rows = {
      {"rnn", "", "", {}, AgentKind::kLearner, rl::MakeRnn},
      {"hierarchical", "", "", {}, AgentKind::kLearner, rl::MakeHierarchical},
      {"placeto", "", "", {}, AgentKind::kLearner, rl::MakePlaceto},
      {"sgdp", "", "", {}, AgentKind::kLearner, rl::MakeSgdp},
      {"grouper_placer", "", "", {}, AgentKind::kLearner, rl::MakeGrouperPlacer},
      {"encoder_placer", "", "", {}, AgentKind::kLearner, rl::MakeSgdp},
      {"mars", "", "", {}, AgentKind::kLearner, rl::MakeMars},
      {"doppler", "", "", {}, AgentKind::kLearner, rl::MakeDoppler},
  };
  return &rows;
}
