// Which engine runs a problem: the rules say.
#include "sim/interconnect.h"
#include "sim/published/simulator.h"
#include "sim/simulator.h"

namespace stowplan::sim {

std::unique_ptr<Simulator> MakeSimulator(const Problem& problem) {
  const Cluster& cluster = problem.cluster();
  if (cluster.rules == Rules::kPublished) return MakePublishedSimulator(problem);
  return InterconnectOf(cluster).make(problem);
}

}  // namespace stowplan::sim
