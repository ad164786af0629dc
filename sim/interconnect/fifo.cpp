// `fifo`: a transfer holds an engine and every link direction of its route, in order of queue numbers. One
// common order, so no deadlock; that a waiting transfer holds up those behind it (the convoy effect) is
// intended.
#include "sim/interconnect/queued_links.h"
#include "sim/native/incremental.h"
#include "sim/native/shortest_way.h"

namespace berth::sim {
namespace {

struct FifoLinks : QueuedLinks {
  static constexpr bool kExclusive = true;
  FifoLinks(const Problem::Compiled& compiled, std::int32_t spare)
      : QueuedLinks(compiled, Sharing::kExclusive, spare) {}
};

}  // namespace

std::unique_ptr<Simulator> MakeFifoSimulator(const Problem& problem) {
  const RouteResources resources(problem.compiled(), Sharing::kExclusive);
  return std::make_unique<ShortestWay<FifoLinks>>(problem, !resources.has_flows());
}

std::unique_ptr<IncrementalSimulator> MakeFifoIncremental(const Problem& problem) {
  return std::make_unique<NativeIncremental<FifoLinks>>(problem);
}

}  // namespace berth::sim
