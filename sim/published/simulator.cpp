#include "sim/published/simulator.h"

#include <cstdint>
#include <utility>

#include "sim/published/records.h"
#include "sim/published/run.h"

namespace stowplan::sim {

std::unique_ptr<Simulator> MakePublishedSimulator(const Problem& problem) {
  PublishedWiring wiring(problem.graph(), problem.costs());
  const UInt128 latest = wiring.LatestTime(problem.costs());
  using Narrow = PublishedQueues<std::uint64_t>;
  const std::size_t places =
      wiring.ops.size() + wiring.durations.size() + 2 * problem.cluster().devices.size();
  if (latest < UInt128{1} << (63 - Narrow::PlaceBits(places))) {
    return std::make_unique<PublishedSimulator<Narrow>>(problem, std::move(wiring));
  }
  return std::make_unique<PublishedSimulator<PublishedQueues<UInt128>>>(problem, std::move(wiring));
}

}  // namespace stowplan::sim
