// Recursive bisection by the METIS library (Karypis, Kumar, SIAM J. Sci. Comput. 1998) onto the GPUs, equal
// shares, 3 % imbalance (docs/protocol_rules.md#partitioners). Vertex weights are costs on the first GPU, edge
// weights bytes; memory=yes balances persistent and output bytes as a second constraint. Fails where the
// critical path matters more than the balance. One sample.
#include <cstdint>
#include <mutex>

#include <metis.h>

#include "agents/agents.h"
#include "agents/classical/partition_graph.h"
#include "sim/base/error.h"

namespace stowplan::agents {
namespace {

static_assert(sizeof(idx_t) == sizeof(std::int32_t), "stowplan is written for METIS with 32-bit numbers");

std::vector<idx_t> Partition(PartitionGraph& graph, bool with_memory, idx_t parts, std::uint64_t seed) {
  auto vertices = static_cast<idx_t>(graph.unit_cost.size());
  idx_t constraints = with_memory ? 2 : 1;
  std::vector<idx_t> weights;
  for (std::size_t unit = 0; unit < graph.unit_cost.size(); ++unit) {
    weights.push_back(graph.unit_cost[unit]);
    if (with_memory) weights.push_back(graph.unit_memory[unit]);
  }
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = static_cast<idx_t>(seed & INT32_MAX);
  options[METIS_OPTION_UFACTOR] = 30;  // thousandths

  std::vector<idx_t> part(graph.unit_cost.size());
  idx_t cut = 0;
  static std::mutex mutex;  // METIS seeds and draws from the C library's global generator
  const std::lock_guard lock(mutex);
  const int status = METIS_PartGraphRecursive(
      &vertices, &constraints, graph.offsets.data(), graph.targets.data(), weights.data(), nullptr,
      graph.edge_bytes.data(), &parts, nullptr, nullptr, options, &cut, part.data());
  if (status != METIS_OK)
    throw RunError("METIS could not partition the graph: status " + std::to_string(status));
  return part;
}

class Metis final : public Agent {
 public:
  explicit Metis(const Settings& read) : Agent(read.Canonical()), memory_(read.Bool("memory")) {}

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& options) override {
    if (evaluator.remaining() == 0 || evaluator.stop_requested()) return;
    const std::vector<sim::DeviceIndex> targets = Accelerators(task);
    UnitPlacement placement(task.units.ops.size(), targets.front());
    if (placement.size() <=
        targets.size()) {  // METIS refuses or divides by zero; one unit a device is the balance
      for (std::size_t unit = 0; unit < placement.size(); ++unit) placement[unit] = targets[unit];
    } else if (targets.size() > 1) {
      PartitionGraph graph = MakePartitionGraph(task, targets.front());
      const std::vector<idx_t> part =
          Partition(graph, memory_, static_cast<idx_t>(targets.size()), options.seed);
      for (std::size_t unit = 0; unit < placement.size(); ++unit) {
        placement[unit] = targets[static_cast<std::size_t>(part[unit])];
      }
    }
    evaluator.CountProposal();
    evaluator.Evaluate(placement);
  }

 private:
  bool memory_ = false;
};

}  // namespace

std::unique_ptr<Agent> MakeMetis(const Settings& read) {
  return std::make_unique<Metis>(read);
}

}  // namespace stowplan::agents
