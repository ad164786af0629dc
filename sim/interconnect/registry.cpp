#include <algorithm>

#include "sim/error.h"
#include "sim/interconnect.h"
#include "sim/nearest_name.h"
#include "sim/spec.h"

namespace berth::sim {

std::unique_ptr<Simulator> MakeIdealSimulator(const Problem& problem);
std::unique_ptr<Simulator> MakeFifoSimulator(const Problem& problem);
std::unique_ptr<Simulator> MakeFairSimulator(const Problem& problem);
std::unique_ptr<IncrementalSimulator> MakeIdealIncremental(const Problem& problem);
std::unique_ptr<IncrementalSimulator> MakeFifoIncremental(const Problem& problem);
std::unique_ptr<IncrementalSimulator> MakeFairIncremental(const Problem& problem);

const std::vector<InterconnectRow>& Interconnects() {
  static const std::vector<InterconnectRow> rows = {
      {"ideal", "nothing is shared: the fastest any machine with these links could be", MakeIdealSimulator,
       MakeIdealIncremental},
      {"fifo",
       "one transfer at a time on each engine and link direction, in order: what drivers do with big copies",
       MakeFifoSimulator, MakeFifoIncremental},
      {"fair", "concurrent transfers share links max-min fairly: PCIe switches and networks",
       MakeFairSimulator, MakeFairIncremental},
  };
  return rows;
}

void CheckInterconnect(const std::string& name) {
  std::vector<std::string> known;
  for (const InterconnectRow& row : Interconnects()) known.emplace_back(row.name);
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  throw InputError("interconnect '" + name + "' is not known" + DidYouMean(name, known) + "; there are " +
                   JoinNames(known));
}

const InterconnectRow& InterconnectOf(const Cluster& cluster) {
  const std::string wanted = cluster.links.empty() ? "ideal" : cluster.interconnect;
  CheckInterconnect(wanted);
  const auto& rows = Interconnects();
  return *std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.name == wanted; });
}

}  // namespace berth::sim
