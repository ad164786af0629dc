// Random search, the opponent that every learner must beat at equal samples (docs/protocol_rules.md#random-search),
// at three units:
//   unit=op     every unit of the task on a device of its own draw
//   unit=group  the same for the groups of `grouper`; a unit of the task follows the group of its first op
//   unit=block  contiguous blocks in topological order, one to four per device, each on one device
// The first sample of unit=op is the start placement that all agents of a row share. Spends the whole budget.
#include <algorithm>

#include "agents/agents.h"
#include "agents/placements.h"

namespace stowplan::agents {
namespace {

constexpr std::int64_t kBatch = 64;

class Random final : public Agent {
 public:
  explicit Random(const Settings& read) : Agent(read.Canonical()) {
    unit_ = read.Text("unit");
    grouper_ = read.Text("grouper");
  }

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& options) override {
    Rng rng(options.seed, unit_ == "op" ? "start" : "random " + unit_);
    Units groups;
    if (unit_ == "group") groups = MakeUnits(grouper_, *task.problem);
    while (evaluator.remaining() > 0 && !evaluator.stop_requested()) {
      std::vector<UnitPlacement> batch;
      for (std::int64_t i = std::min(kBatch, evaluator.remaining()); i > 0; --i) {
        batch.push_back(unit_ == "op"      ? UniformPlacement(task, rng)
                        : unit_ == "block" ? BlockPlacement(task, rng)
                                           : GroupPlacement(task, groups, rng));
        evaluator.CountProposal();
      }
      evaluator.EvaluateBatch(batch);
    }
  }

 private:
  static UnitPlacement GroupPlacement(const Task& task, const Units& groups, Rng& rng) {
    std::vector<sim::DeviceIndex> device_of_group(groups.ops.size());
    for (sim::DeviceIndex& device : device_of_group) device = rng.Pick(task.devices);
    UnitPlacement placement;
    for (const std::vector<sim::OpIndex>& ops : task.units.ops) {
      const UnitIndex group = groups.unit_of_op[static_cast<std::size_t>(ops.front())];
      placement.push_back(device_of_group[static_cast<std::size_t>(group)]);
    }
    return placement;
  }

  std::string unit_;
  std::string grouper_;
};

}  // namespace

std::unique_ptr<Agent> MakeRandom(const Settings& read) {
  return std::make_unique<Random>(read);
}

}  // namespace stowplan::agents
