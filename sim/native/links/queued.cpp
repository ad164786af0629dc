#include "sim/native/links/queued_links.h"
#include "sim/native/native_simulator.h"

namespace stowplan::sim {
namespace {

template <typename Moment>
struct QueuedHere : QueuedLinks {
  QueuedHere(const Compiled& compiled, Sharing sharing, const Moments<Moment>&)
      : QueuedLinks(compiled, sharing) {}
};

}  // namespace

std::unique_ptr<Simulator> MakeQueuedSimulator(const Problem& problem, Sharing sharing) {
  return std::make_unique<NativeSimulator<QueuedHere>>(problem, sharing);
}

}  // namespace stowplan::sim
