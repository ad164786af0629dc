#include "sim/native/links/queued_links.h"
#include "sim/native/native_simulator.h"

namespace berth::sim {
namespace {

template <typename Moment>
struct LinksOf : QueuedLinks {
  LinksOf(const Problem::Compiled& compiled, Sharing sharing, const Moments<Moment>&)
      : QueuedLinks(compiled, sharing) {}
};

}  // namespace

std::unique_ptr<Simulator> MakeQueuedSimulator(const Problem& problem, Sharing sharing) {
  return std::make_unique<NativeSimulator<LinksOf>>(problem, sharing);
}

}  // namespace berth::sim
