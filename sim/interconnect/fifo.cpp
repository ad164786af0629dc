// `fifo`: a transfer holds an engine and every link direction of its route, in order of queue numbers. One
// common order, so no deadlock; that a waiting transfer holds up those behind it (the convoy effect) is
// intended.
#include "sim/interconnect/queued_links.h"
#include "sim/native/simulator.h"

namespace berth::sim {
namespace {

struct FifoLinks : QueuedLinks {
  static constexpr bool kExclusive = true;
  explicit FifoLinks(const Problem::Compiled& compiled) : QueuedLinks(compiled, Sharing::kExclusive) {}
};

}  // namespace

std::unique_ptr<Simulator> MakeFifoSimulator(const Problem& problem) {
  return std::make_unique<NativeSimulator<FifoLinks>>(problem);
}

}  // namespace berth::sim
