// `fair`: transfers wait for engines only; those that move bytes share every link max-min fairly.
#include "sim/interconnect/queued_links.h"
#include "sim/native/incremental.h"
#include "sim/native/shortest_way.h"

namespace berth::sim {
namespace {

struct FairLinks : QueuedLinks {
  static constexpr bool kExclusive = false;
  FairLinks(const Problem::Compiled& compiled, std::int32_t spare)
      : QueuedLinks(compiled, Sharing::kMaxMin, spare) {}
};

}  // namespace

std::unique_ptr<Simulator> MakeFairSimulator(const Problem& problem) {
  return std::make_unique<ShortestWay<FairLinks>>(problem, false);
}

std::unique_ptr<IncrementalSimulator> MakeFairIncremental(const Problem& problem) {
  return std::make_unique<NativeIncremental<FairLinks>>(problem);
}

}  // namespace berth::sim
