#include "agents/rl/features/unit_features.h"

#include <algorithm>
#include <map>
#include <utility>

#include <ATen/ATen.h>

#include "agents/search/neighbours.h"
#include "sim/base/error.h"

namespace stowplan::agents::rl {

TypeVocabulary::TypeVocabulary(const std::vector<const Task*>& tasks) {
  std::map<std::string, std::int64_t> counts;
  for (const Task* task : tasks) {
    for (const sim::Op& op : task->problem->graph().ops) ++counts[op.type];
  }
  std::vector<std::pair<std::int64_t, std::string>> ranked;
  for (const auto& [type, count] : counts) ranked.emplace_back(-count, type);
  std::sort(ranked.begin(), ranked.end());
  ranked.resize(std::min<std::size_t>(ranked.size(), kSize - 1));
  for (auto& [count, type] : ranked) names_.push_back(std::move(type));
}

std::int64_t TypeVocabulary::IndexOf(const std::string& type) const {
  const auto found = std::find(names_.begin(), names_.end(), type);
  return found == names_.end() ? 0 : found - names_.begin() + 1;
}

void TypeVocabulary::Save(StateWriter& out) const {
  out.Put<std::uint64_t>(names_.size());
  for (const std::string& name : names_) out.PutText(name);
}

void TypeVocabulary::Load(StateReader& in) {
  const auto size = in.Get<std::uint64_t>();
  if (size >= static_cast<std::uint64_t>(kSize)) in.Fail("it knows too many op types");
  names_.resize(static_cast<std::size_t>(size));
  for (std::string& name : names_) name = in.GetText();
}

at::Tensor CountTypes(const Task& task, const TypeVocabulary& vocabulary) {
  at::Tensor counts = at::zeros({task.units.size(), TypeVocabulary::kSize});
  auto to = counts.accessor<float, 2>();
  for (UnitIndex unit = 0; unit < task.units.size(); ++unit) {
    for (const sim::OpIndex op : task.units.ops[static_cast<std::size_t>(unit)]) {
      to[unit][vocabulary.IndexOf(task.problem->graph().ops[static_cast<std::size_t>(op)].type)] += 1;
    }
  }
  return counts;
}

at::Tensor TypeShares(const Task& task, const TypeVocabulary& vocabulary) {
  const at::Tensor counts = CountTypes(task, vocabulary);
  return counts / counts.sum(1, true);
}

at::Tensor SumShapes(const Task& task, std::int64_t outputs, std::int64_t dimensions) {
  at::Tensor sums = at::zeros({task.units.size(), outputs * dimensions});
  auto to = sums.accessor<float, 2>();
  for (std::size_t op = 0; op < task.problem->graph().ops.size(); ++op) {
    const std::vector<sim::Output>& has = task.problem->graph().ops[op].outputs;
    for (std::int64_t o = 0; o < std::min(outputs, static_cast<std::int64_t>(has.size())); ++o) {
      const std::vector<std::int64_t>& shape = has[static_cast<std::size_t>(o)].shape;
      for (std::int64_t d = 0; d < std::min(dimensions, static_cast<std::int64_t>(shape.size())); ++d) {
        to[task.units.unit_of_op[op]][o * dimensions + d] +=
            static_cast<float>(shape[static_cast<std::size_t>(d)]);
      }
    }
  }
  return sums;
}

at::Tensor AdjacencyOf(const Task& task) {
  at::Tensor adjacency = at::zeros({task.units.size(), task.units.size()});
  auto to = adjacency.accessor<float, 2>();
  for (const UnitEdge& edge : task.edges) to[edge.from][edge.to] = 1;
  return adjacency;
}

at::Tensor Standardised(const at::Tensor& features) {
  const at::Tensor centred = features - features.mean(0, true);
  const at::Tensor deviation = centred.square().mean(0, true).sqrt();
  return at::where(deviation > 1e-6, centred / deviation.clamp_min(1e-6), at::zeros_like(centred));
}

at::Tensor Reordered(const at::Tensor& rows, const std::vector<UnitIndex>& units) {
  return rows.index_select(0, IndexTensor({units.begin(), units.end()}));
}

at::Tensor EarlierItems(const Task& task, const std::vector<UnitIndex>& units) {
  std::vector<std::int64_t> earlier;
  for (const UnitIndex position : HeaviestEarlierNeighbours(task, units))
    earlier.push_back(position < 0 ? static_cast<std::int64_t>(units.size()) : position);
  return IndexTensor(earlier).unsqueeze(0);
}

at::Tensor PlannerGroupFeatures(const at::Tensor& edges, const at::Tensor& types, const at::Tensor& shapes) {
  at::Tensor counts = at::cat({types, at::zeros_like(shapes)}, 1);
  counts.narrow(1, 0, shapes.size(1)).add_(shapes);
  const at::Tensor all = at::cat({edges, edges.t(), counts}, 1);
  return all / (all.amax({1}, true) + 1);
}

}  // namespace stowplan::agents::rl
