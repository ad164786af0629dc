// Apart from simulator.cpp, so that who runs one placement at a time needs no threads (stowplan-profile needs the standard
// library alone).
#include <utility>

#include "sim/base/parallel.h"
#include "sim/simulator.h"

namespace stowplan::sim {

struct BatchSimulator::Impl {
  const Problem& problem;
  int threads;
  // By slot. Made at first use, by the thread that uses it, so that the scratch memory of two threads shares
  // neither a cache line nor an arena of the allocator.
  std::vector<std::unique_ptr<Simulator>> simulators;

  Simulator& Of(int slot) {
    std::unique_ptr<Simulator>& simulator = simulators[static_cast<std::size_t>(slot)];
    if (simulator == nullptr) simulator = MakeSimulator(problem);
    return *simulator;
  }
};

BatchSimulator::BatchSimulator(const Problem& problem, int threads)
    : impl_(std::make_unique<Impl>(Impl{problem, ResolveThreads(threads), {}})) {
  impl_->simulators.resize(static_cast<std::size_t>(impl_->threads));
  impl_->Of(0);  // what cannot be simulated is refused here
}

BatchSimulator::~BatchSimulator() = default;

std::vector<Outcome> BatchSimulator::Run(std::span<const Placement> placements, const RunOptions& options) {
  std::vector<Outcome> outcomes(placements.size());
  ParallelFor(placements.size(), impl_->threads, [&](std::size_t item, int slot) {
    outcomes[item] = impl_->Of(slot).Run(placements[item], options);
  });
  return outcomes;
}

int BatchSimulator::threads() const {
  return impl_->threads;
}

}  // namespace stowplan::sim
