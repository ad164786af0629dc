// Which engine runs a problem: the rules say.
#include <memory>

#include "sim/compiled.h"
#include "sim/interconnect.h"
#include "sim/published/simulator.h"
#include "sim/simulator.h"

namespace stowplan::sim {
namespace {

// On clusters whose problems know no transfers.
class SimulatorByPlacement final : public Simulator {
 public:
  explicit SimulatorByPlacement(const Problem& problem) : problem_(problem) {}

  const Outcome& Run(const Placement& placement, const RunOptions& options) override {
    simulator_.reset();
    placed_ = ProblemOfPlacement(problem_, placement);
    simulator_ = MakeSimulator(*placed_);
    return simulator_->Run(placement, options);
  }

 private:
  const Problem& problem_;
  std::unique_ptr<const Problem> placed_;
  std::unique_ptr<Simulator> simulator_;  // reads the problem
};

}  // namespace

std::unique_ptr<Simulator> MakeSimulator(const Problem& problem) {
  const Cluster& cluster = problem.cluster();
  if (problem.compiled().paired == 0) return std::make_unique<SimulatorByPlacement>(problem);
  if (cluster.rules == Rules::kPublished) return MakePublishedSimulator(problem);
  return InterconnectOf(cluster).make(problem);
}

}  // namespace stowplan::sim
