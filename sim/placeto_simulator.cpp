#include "sim/placeto_simulator.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "sim/error.h"
#include "sim/placeto_run.h"

namespace berth::sim {

std::unique_ptr<Simulator> MakePlacetoSimulator(const Problem& problem) {
  PlacetoWiring wiring(problem.graph());
  const UInt128 latest = wiring.LatestTime(problem.costs());
  if (latest > UInt128(std::numeric_limits<Picos>::max())) {
    throw InputError(
        "graph '" + problem.graph().name +
        "': its ops and transfers one after the other take more than 2^63 ps, which a simulated time "
        "cannot hold; make the costs or the tensors smaller");
  }
  using Narrow = PlacetoQueues<std::uint64_t>;
  const std::size_t places =
      wiring.ops.size() + wiring.durations.size() + 2 * problem.cluster().devices.size();
  if (latest < UInt128{1} << (63 - Narrow::PlaceBits(places))) {
    return std::make_unique<PlacetoSimulator<Narrow>>(problem, std::move(wiring));
  }
  return std::make_unique<PlacetoSimulator<PlacetoQueues<UInt128>>>(problem, std::move(wiring));
}

}  // namespace berth::sim
