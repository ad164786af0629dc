#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/base/rows.h"
#include "sim/base/spec.h"
#include "sim/interconnect.h"
#include "sim/native/native_simulator.h"

namespace stowplan::sim {
namespace {

std::unique_ptr<Simulator> MakeIdeal(const Problem& problem) {
  return MakeBookedSimulator(problem, Sharing::kNothing);
}

// Transfers whose rates cannot change can be booked.
std::unique_ptr<Simulator> MakeFifo(const Problem& problem) {
  const RouteResources resources(problem.compiled(), Sharing::kExclusive);
  return resources.has_flows() ? MakeQueuedSimulator(problem, Sharing::kExclusive)
                               : MakeBookedSimulator(problem, Sharing::kExclusive);
}

std::unique_ptr<Simulator> MakeFair(const Problem& problem) {
  return MakeQueuedSimulator(problem, Sharing::kMaxMin);
}

}  // namespace

const std::vector<InterconnectRow>& Interconnects() {
  static const std::vector<InterconnectRow> rows = {
      {"ideal", "nothing is shared: the fastest any machine with these links could be", MakeIdeal},
      {"fifo",
       "one transfer at a time on each engine and link direction, in order: what drivers do with big copies",
       MakeFifo},
      {"fair", "concurrent transfers share links max-min fairly: PCIe switches and networks", MakeFair},
  };
  return rows;
}

void CheckInterconnect(const std::string& name) {
  if (FindRow(Interconnects(), name) != nullptr) return;
  const std::vector<std::string> known = NamesOf(Interconnects());
  throw InputError("interconnect '" + name + "' is not known" + DidYouMean(name, known) + "; there are " +
                   JoinNames(known));
}

const InterconnectRow& InterconnectOf(const Cluster& cluster) {
  const std::string wanted = cluster.links.empty() ? "ideal" : cluster.interconnect;
  CheckInterconnect(wanted);
  return *FindRow(Interconnects(), wanted);
}

}  // namespace stowplan::sim
