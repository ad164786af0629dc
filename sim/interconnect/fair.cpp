// `fair`: transfers wait for engines only; those that move bytes share every link max-min fairly.
#include "sim/interconnect/queued_links.h"
#include "sim/native/simulator.h"

namespace berth::sim {
namespace {

struct FairLinks : QueuedLinks {
  static constexpr bool kExclusive = false;
  explicit FairLinks(const Problem::Compiled& compiled) : QueuedLinks(compiled, Sharing::kMaxMin) {}
};

}  // namespace

std::unique_ptr<Simulator> MakeFairSimulator(const Problem& problem) {
  return std::make_unique<NativeSimulator<FairLinks>>(problem);
}

}  // namespace berth::sim
