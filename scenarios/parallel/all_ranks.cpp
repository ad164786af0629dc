#include "scenarios/parallel/all_ranks.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "scenarios/parallel/graph_edit.h"
#include "scenarios/parallel/stages.h"
#include "sim/base/error.h"
#include "sim/formats/collective_types.h"
#include "sim/formats/collectives.h"

namespace stowplan::scenarios {
namespace {

using sim::OpIndex;
using sim::TensorRef;

constexpr std::int64_t kMostOfAllRanks = std::int64_t{1} << 20;  // ops

class RankWriter {
 public:
  RankWriter(const sim::OpGraph& graph, const Layout& layout)
      : graph_(graph),
        tensor_(layout.tensor),
        pipeline_(layout.pipeline),
        copies_(layout.tensor * layout.data) {
    for (const sim::Op& op : graph.ops) {
      first_.push_back(static_cast<OpIndex>(next_));
      next_ += Times(op);
      if (next_ > kMostOfAllRanks)
        throw InputError(fmt::format(
            "ranks=all: {} ranks have more than {} ops; take ranks=one, where one rank stands for all alike",
            layout.ranks(), kMostOfAllRanks));
    }
  }

  sim::OpGraph Run() {
    sim::OpGraph made;
    made.name = graph_.name;
    made.attributes = graph_.attributes;
    made.ops.reserve(static_cast<std::size_t>(next_));
    for (OpIndex op = 0; op < graph_.size(); ++op) {
      const std::int64_t times = Times(graph_.ops[At(op)]);
      for (std::int64_t i = 0; i < times; ++i)
        made.ops.push_back(IsJoined(graph_.ops[At(op)]) ? Joined(op, i) : Copied(op, i));
    }
    made.Finish();
    return formats::SplitCollectives(made);
  }

 private:
  // Of one rank, with `ranks`; those of several stages have a tensor of each already and are copied.
  static bool IsJoined(const sim::Op& op) {
    return formats::IsWholeCollective(op) && sim::FindAttribute(op.attributes, "ranks") != nullptr;
  }
  bool IsOfTensor(const sim::Op& op) const { return sim::FindString(op.attributes, "group") == "tensor"; }
  std::int64_t Times(const sim::Op& op) const {
    if (!IsJoined(op)) return copies_;
    return IsOfTensor(op) ? copies_ / tensor_ : tensor_;
  }

  // Copy c is of tensor rank c % tensor and data rank c / tensor.
  TensorRef Mapped(TensorRef tensor, std::int64_t copy) const {
    const sim::Op& producer = graph_.ops[At(tensor.op)];
    if (!IsJoined(producer)) return {first_[At(tensor.op)] + static_cast<OpIndex>(copy), tensor.output};
    const bool of_tensor = IsOfTensor(producer);
    const std::int64_t group = of_tensor ? copy / tensor_ : copy % tensor_;
    const std::int64_t member = of_tensor ? copy % tensor_ : copy / tensor_;
    return {first_[At(tensor.op)] + static_cast<OpIndex>(group), static_cast<std::int32_t>(member)};
  }

  sim::Op Copied(OpIndex index, std::int64_t copy) const {
    sim::Op op = graph_.ops[At(index)];
    if (copies_ > 1) op.name = fmt::format("data{}/tensor{}/{}", copy / tensor_, copy % tensor_, op.name);
    for (TensorRef& input : op.inputs) input = Mapped(input, copy);
    for (sim::Output& output : op.outputs)
      if (output.storage == sim::Output::Storage::kInput) output.alias = Mapped(output.alias, copy);
    for (OpIndex& control : op.control) control = Mapped({control, 0}, copy).op;
    if (formats::IsWholeCollective(op)) {
      op.attributes.clear();
      return op;
    }
    for (auto& [key, value] : op.attributes) {
      if (key != kRank) continue;
      const std::int64_t rank =
          std::get<std::int64_t>(value.value) + copy / tensor_ * tensor_ * pipeline_ + copy % tensor_;
      value.value = rank;
      op.colocate = fmt::format("rank{}", rank);
    }
    return op;
  }

  sim::Op Joined(OpIndex index, std::int64_t group) const {
    sim::Op op = graph_.ops[At(index)];
    const bool of_tensor = IsOfTensor(op);
    const std::int64_t ranks = of_tensor ? tensor_ : copies_ / tensor_;
    op.name = fmt::format("{}{}/{}", of_tensor ? "data" : "tensor", group, op.name);
    op.attributes.clear();
    op.colocate.clear();
    const TensorRef input = op.inputs.front();
    const std::vector<OpIndex> control = std::exchange(op.control, {});
    op.inputs.clear();
    op.outputs.assign(static_cast<std::size_t>(ranks), op.outputs.front());
    for (std::int64_t member = 0; member < ranks; ++member) {
      const std::int64_t copy = of_tensor ? group * tensor_ + member : member * tensor_ + group;
      op.inputs.push_back(Mapped(input, copy));
      for (const OpIndex other : control) op.control.push_back(Mapped({other, 0}, copy).op);
    }
    return op;
  }

  const sim::OpGraph& graph_;
  const std::int64_t tensor_, pipeline_, copies_;
  std::vector<OpIndex> first_;
  std::int64_t next_ = 0;
};

}  // namespace

sim::OpGraph WriteAllRanks(const sim::OpGraph& graph, const Layout& layout) {
  return RankWriter(graph, layout).Run();
}

}  // namespace stowplan::scenarios
