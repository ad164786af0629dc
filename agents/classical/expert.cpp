// What a person would do: the placement that the scenario gives, else a rule over the accelerators
// (docs/protocol_rules.md#experts).
//   rule=auto      branches where the graph's attribute `expert` says "branch", else layers
//   rule=layers    stage l of L on GPU l * G / L (hierarchical, placeto)
//   rule=modulo    stage l on GPU l mod G (sgdp, mars)
//   rule=branches  parallel branches on different GPUs: attribute `branch` b on GPU b mod G, the trunk on the
//                  first
//   rule=halves    contiguous stages of equal cost together, one part for each GPU
//   rule=ranks     attribute `rank` r, which parallel layouts give, on GPU r; auto where the graph has the attribute
//                  `layout`
//   rule=one       everything on the first GPU
//   rule=fill      each GPU filled to its memory in turn, in topological order depth first, the rest on the CPU: the
//                  greedy baseline of msr-fiddle/dnn-partitioning (NeurIPS 2020, appendix F; read: greedy.cpp), which
//                  counts weights and outputs as held throughout
// The stage is the `stage` attribute of the ops, which the builders set. Ops without one follow what they
// read, and variables, constants and placeholders follow their first consumer. A graph without any stages is
// cut into contiguous parts of equal cost in topological order, by `layers`, `modulo` and `halves` alike. One
// sample.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "agents/agents.h"
#include "agents/placements.h"
#include "sim/base/error.h"

namespace stowplan::agents {
namespace {

constexpr std::int32_t kNone = -1;

std::vector<bool> OnlySources(const Task& task) {
  std::vector<bool> result;
  for (const std::vector<sim::OpIndex>& ops : task.units.ops) {
    result.push_back(std::all_of(ops.begin(), ops.end(), [&](sim::OpIndex op) {
      return task.problem->graph().ops[static_cast<std::size_t>(op)].IsSource();
    }));
  }
  return result;
}

// Units of variables, constants and placeholders without a part take the lowest part of their consumers.
void FollowConsumers(const Task& task, std::vector<std::int32_t>& part) {
  const std::vector<bool> sources = OnlySources(task);
  const std::vector<std::int32_t> before = part;
  for (const UnitEdge& edge : task.edges) {
    const std::int32_t there = before[static_cast<std::size_t>(edge.to)];
    const auto from = static_cast<std::size_t>(edge.from);
    if (!sources[from] || before[from] != kNone || there == kNone) continue;
    part[from] = part[from] == kNone ? there : std::min(part[from], there);
  }
}

// Other units without a part take the highest part of what they read, in unit order.
void FollowProducers(const Task& task, std::vector<std::int32_t>& part) {
  std::vector<UnitEdge> edges = task.edges;
  std::stable_sort(edges.begin(), edges.end(),
                   [](const UnitEdge& a, const UnitEdge& b) { return a.to < b.to; });
  const std::vector<std::int32_t> before = part;
  for (const UnitEdge& edge : edges) {
    const auto to = static_cast<std::size_t>(edge.to);
    if (before[to] == kNone) part[to] = std::max(part[to], part[static_cast<std::size_t>(edge.from)]);
  }
}

std::vector<std::int32_t> Branches(const Task& task) {
  std::vector<std::int32_t> branch = task.branch;
  FollowConsumers(task, branch);
  return branch;
}

// The part of the total cost that lies before a unit, in parts of equal cost. Sources are left to their
// consumers.
std::vector<std::int32_t> EqualParts(const Task& task, sim::DeviceIndex priced, std::int32_t parts) {
  const std::vector<bool> sources = OnlySources(task);
  double total = 0;
  for (UnitIndex unit = 0; unit < task.units.size(); ++unit)
    total += static_cast<double>(task.unit_cost(unit, priced));
  std::vector<std::int32_t> part;
  double before = 0;
  for (UnitIndex unit = 0; unit < task.units.size(); ++unit) {
    const auto share = total > 0 ? static_cast<std::int32_t>(before / total * parts) : 0;
    part.push_back(sources[static_cast<std::size_t>(unit)] ? kNone : std::min(share, parts - 1));
    before += static_cast<double>(task.unit_cost(unit, priced));
  }
  FollowConsumers(task, part);
  return part;
}

std::vector<std::int32_t> Stages(const Task& task) {
  std::vector<std::int32_t> stage = task.stage;
  FollowConsumers(task, stage);
  FollowProducers(task, stage);
  return stage;
}

// Contiguous stages in parts of equal cost, forward and backward together: by the stage that holds the middle
// of its own cost. The stages are those of Stages().
std::vector<std::int32_t> EqualStages(const Task& task, sim::DeviceIndex priced, std::int32_t stages,
                                      std::int32_t parts) {
  std::vector<std::int32_t> part = Stages(task);
  std::vector<double> cost(static_cast<std::size_t>(stages), 0);
  for (UnitIndex unit = 0; unit < task.units.size(); ++unit) {
    const std::int32_t stage = std::max(part[static_cast<std::size_t>(unit)], 0);
    cost[static_cast<std::size_t>(stage)] += static_cast<double>(task.unit_cost(unit, priced));
  }
  const double total = std::accumulate(cost.begin(), cost.end(), 0.0);
  std::vector<std::int32_t> part_of_stage;
  double before = 0;
  for (const double own : cost) {
    const double share = total > 0 ? (before + own / 2) / total : 0;
    part_of_stage.push_back(std::min(static_cast<std::int32_t>(share * parts), parts - 1));
    before += own;
  }
  for (std::int32_t& number : part) number = part_of_stage[static_cast<std::size_t>(std::max(number, 0))];
  return part;
}

// Depth first: what became ready last is next. Units of a cycle, which never become ready, are last.
std::vector<UnitIndex> DepthFirst(const Task& task) {
  const auto units = static_cast<std::size_t>(task.units.size());
  std::vector<int> waits(units, 0);
  for (const UnitEdge& edge : task.edges) ++waits[static_cast<std::size_t>(edge.to)];
  std::vector<UnitIndex> ready, order;
  for (UnitIndex unit = task.units.size() - 1; unit >= 0; --unit) {
    if (waits[static_cast<std::size_t>(unit)] == 0) ready.push_back(unit);
  }
  std::vector<bool> taken(units, false);
  while (!ready.empty()) {
    const UnitIndex unit = ready.back();
    ready.pop_back();
    order.push_back(unit);
    taken[static_cast<std::size_t>(unit)] = true;
    auto edge = std::ranges::lower_bound(task.edges, unit, {}, &UnitEdge::from);
    for (; edge != task.edges.end() && edge->from == unit; ++edge) {
      if (--waits[static_cast<std::size_t>(edge->to)] == 0) ready.push_back(edge->to);
    }
  }
  for (UnitIndex unit = 0; unit < task.units.size(); ++unit) {
    if (!taken[static_cast<std::size_t>(unit)]) order.push_back(unit);
  }
  return order;
}

UnitPlacement Filled(const Task& task) {
  const std::vector<sim::DeviceIndex> gpus = DevicesOf(task, sim::DeviceClass::kGpu);
  const std::vector<sim::DeviceIndex> cpus = DevicesOf(task, sim::DeviceClass::kCpu);
  if (gpus.empty() || cpus.empty())
    throw InputError(
        "expert(rule=fill) fills GPUs and puts the rest on a CPU; the devices to place on need both");
  UnitPlacement placement(task.units.ops.size(), cpus.front());
  auto gpu = gpus.begin();
  sim::Bytes used = 0;
  for (const UnitIndex unit : DepthFirst(task)) {
    const auto at = static_cast<std::size_t>(unit);
    const sim::Bytes size = task.persistent[at] + task.output[at];
    if (gpu == gpus.end() || size > task.device(*gpu).capacity()) continue;
    if (used + size > task.device(*gpu).capacity()) {
      used = 0;
      if (++gpu == gpus.end()) continue;
    }
    used += size;
    placement[at] = *gpu;
  }
  return placement;
}

UnitPlacement GivenPlacement(const Task& task) {
  UnitPlacement placement;
  const auto device_of = [&](sim::OpIndex op) { return task.expert[static_cast<std::size_t>(op)]; };
  const auto name_of = [&](sim::OpIndex op) {
    return task.problem->graph().ops[static_cast<std::size_t>(op)].name + " on " +
           task.device(device_of(op)).name;
  };
  for (const std::vector<sim::OpIndex>& ops : task.units.ops) {
    const sim::DeviceIndex device = device_of(ops.front());
    const auto other =
        std::find_if(ops.begin(), ops.end(), [&](sim::OpIndex op) { return device_of(op) != device; });
    if (other != ops.end()) {
      throw InputError("the expert placement has " + name_of(ops.front()) + " and " + name_of(*other) +
                       ", which grouper " + task.units.grouper +
                       " keeps together; place the expert with grouper colocation");
    }
    if (!std::binary_search(task.devices.begin(), task.devices.end(), device)) {
      throw InputError("the expert placement has " + name_of(ops.front()) +
                       ", which is not among the devices to place on");
    }
    placement.push_back(device);
  }
  return placement;
}

// By the attribute `rank`; units without one follow the others.
std::vector<std::int32_t> GivenRanks(const Task& task) {
  const std::vector<sim::DeviceIndex> devices = Accelerators(task);
  std::vector<std::int32_t> part;
  for (const std::vector<sim::OpIndex>& ops : task.units.ops) {
    part.push_back(kNone);
    for (const sim::OpIndex op : ops) {
      const sim::Op& of = task.problem->graph().ops[static_cast<std::size_t>(op)];
      const auto rank = sim::FindNumber(of.attributes, "rank");
      if (!rank) continue;
      if (*rank < 0 || *rank >= static_cast<double>(devices.size())) {
        throw InputError("op '" + of.name + "' is of rank " + std::to_string(std::llround(*rank)) +
                         ", but there are " + std::to_string(devices.size()) +
                         " accelerators to place on; take a larger cluster or fewer ranks");
      }
      part.back() = static_cast<std::int32_t>(*rank);
    }
  }
  FollowConsumers(task, part);
  FollowProducers(task, part);
  return part;
}

std::string AutoRule(const Task& task) {
  if (sim::FindAttribute(task.problem->graph().attributes, "layout") != nullptr) return "ranks";
  const auto attribute = sim::FindString(task.problem->graph().attributes, "expert");
  return attribute == "branch" ? "branches" : "layers";
}

}  // namespace

UnitPlacement PlaceByRule(const Task& task, const std::string& rule) {
  const std::vector<sim::DeviceIndex> devices = Accelerators(task);
  const auto gpus = static_cast<std::int32_t>(devices.size());
  const std::int32_t stages =
      task.stage.empty() ? 0 : 1 + *std::max_element(task.stage.begin(), task.stage.end());
  const bool staged = stages > 0 && (rule == "layers" || rule == "modulo");
  if (rule == "fill") return Filled(task);
  std::vector<std::int32_t> part(task.units.ops.size(), 0);
  if (rule == "branches") {
    part = Branches(task);
  } else if (rule == "ranks") {
    part = GivenRanks(task);
  } else if (staged) {
    part = Stages(task);
  } else if (rule == "halves" && stages > 1) {
    part = EqualStages(task, devices.front(), stages, gpus);
  } else if (rule != "one") {
    part = EqualParts(task, devices.front(), gpus);
  }
  UnitPlacement placement;
  for (const std::int32_t number : part) {
    const std::int64_t known = std::max(number, 0);
    const std::int64_t gpu = rule == "layers" && staged ? known * gpus / stages : known % gpus;
    placement.push_back(devices[static_cast<std::size_t>(gpu)]);
  }
  return placement;
}

namespace {

class Expert final : public Agent {
 public:
  explicit Expert(const Settings& read) : Agent(read.Canonical()), rule_(read.Text("rule")) {}

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& /*options*/) override {
    if (evaluator.remaining() == 0 || evaluator.stop_requested()) return;
    evaluator.CountProposal();
    const std::string rule = rule_ == "auto" ? AutoRule(task) : rule_;
    evaluator.Evaluate(task.expert.empty() ? PlaceByRule(task, rule) : GivenPlacement(task));
  }

 private:
  std::string rule_;
};

}  // namespace

UnitPlacement ExpertByRule(const Task& task) {
  return PlaceByRule(task, AutoRule(task));
}

std::unique_ptr<Agent> MakeExpert(const Settings& read) {
  return std::make_unique<Expert>(read);
}

}  // namespace stowplan::agents
