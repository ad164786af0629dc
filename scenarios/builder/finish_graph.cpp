// What a builder does last: gradients, updates, storage, and the unfused form.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scenarios/builder/gradients.h"
#include "scenarios/builder/graph_builder.h"
#include "scenarios/builder/unfused.h"
#include "sim/base/error.h"

namespace stowplan::scenarios {

void GraphBuilder::Minimise(Tensor loss) {
  losses_.push_back(loss);
}

sim::OpGraph GraphBuilder::Finish(sim::Attributes attributes) {
  graph_.attributes = std::move(attributes);
  const auto forward_ops = static_cast<sim::OpIndex>(graph_.ops.size());
  if (training()) {
    STOWPLAN_CHECK(!losses_.empty());
    Sweep(forward_ops);
    AppendUpdates(forward_ops);
  }
  SettleStorage();
  if (options_.granularity == Granularity::kUnfused) {
    constexpr std::string_view kApply = "Apply";
    graph_ = ExpandRaw(graph_, forward_of_,
                       std::string_view(UpdateType(options_.optimizer)).substr(kApply.size()));
  }
  graph_.Finish();
  return std::move(graph_);
}

void GraphBuilder::Sweep(sim::OpIndex forward_ops) {
  for (const Tensor loss : losses_) gradients_[loss];
  for (sim::OpIndex i = forward_ops - 1; i >= 0; --i) {
    const auto index = static_cast<std::size_t>(i);
    if (!requires_gradient_[index] || graph_.ops[index].type == "Variable") continue;
    if (options_.colocate_gradients) graph_.ops[index].colocate = graph_.ops[index].name;

    const auto first = gradients_.lower_bound({i, 0});
    if (first == gradients_.end() || first->first.op != i) continue;
    std::vector<Tensor> arrived(graph_.ops[index].outputs.size());
    for (std::size_t output = 0; output < arrived.size(); ++output) {
      arrived[output] = Total({i, static_cast<std::int32_t>(output)}, graph_.ops[index].colocate);
    }
    const GradientRule rule = FindGradientRule(graph_.ops[index].type);
    if (rule == nullptr) {
      throw InputError("op '" + graph_.ops[index].name + "' is of type " + graph_.ops[index].type +
                       ", for which there is no gradient; training graphs need one for every op between a "
                       "variable and the loss");
    }
    GradientContext context(*this, i, std::move(arrived));
    rule(context);
  }
}

Tensor GraphBuilder::Total(Tensor tensor, std::string colocate) {
  const auto found = gradients_.find(tensor);
  if (found == gradients_.end() || found->second.empty()) return {};
  const std::vector<Tensor>& parts = found->second;
  if (parts.size() == 1) return parts.front();

  const auto is_sparse = [this](Tensor part) { return op(part).type == kSparseGradient; };
  OpSpec spec{.type = "AddN", .name = "", .inputs = parts, .outputs = {{shape(tensor), dtype(tensor)}}};
  if (std::all_of(parts.begin(), parts.end(), is_sparse)) {
    // Rows of several look-ups are put one after another, not added: the update goes through them all.
    Shape rows = shape(parts.front());
    rows[0] = 0;
    for (const Tensor part : parts) rows[0] += shape(part)[0];
    spec.type = "ConcatV2";
    spec.outputs = {{rows, dtype(tensor)}};
  }
  std::string name = "gradients/" + op(tensor).name + "/sum";
  if (op(tensor).outputs.size() > 1) name += std::to_string(tensor.output);
  const Tensor sum = AppendAt(spec, name, "backward", locations_[static_cast<std::size_t>(tensor.op)]);
  if (options_.colocate_gradients) graph_.ops.back().colocate = std::move(colocate);
  return sum;
}

void GraphBuilder::AppendUpdates(sim::OpIndex forward_ops) {
  std::map<sim::OpIndex, std::vector<sim::OpIndex>> backward_readers;
  for (auto i = static_cast<std::size_t>(forward_ops); i < graph_.ops.size(); ++i) {
    for (const Tensor input : graph_.ops[i].inputs) {
      if (op(input).type == "Variable") backward_readers[input.op].push_back(static_cast<sim::OpIndex>(i));
    }
  }
  for (sim::OpIndex i = 0; i < forward_ops; ++i) {
    if (graph_.ops[static_cast<std::size_t>(i)].type == "Variable") Update(i, backward_readers[i]);
  }
}

void GraphBuilder::Update(sim::OpIndex variable, const std::vector<sim::OpIndex>& backward_readers) {
  const std::string name = graph_.ops[static_cast<std::size_t>(variable)].name;
  const Tensor gradient = Total({variable, 0}, name);
  if (gradient.op < 0) return;  // nothing between it and a loss: never trained
  OpSpec spec{
      .type = UpdateType(options_.optimizer), .name = "", .inputs = {{variable, 0}, gradient}, .outputs = {}};
  AddAttribute(spec.attributes, "slots", std::int64_t{Slots(options_.optimizer)});
  AppendAt(spec, "updates/" + name, "update", locations_[static_cast<std::size_t>(variable)]);
  graph_.ops.back().colocate = name;
  // Forward readers are upstream of the gradient; backward ones need not be, and must see the old weights.
  graph_.ops.back().control = backward_readers;
}

void GraphBuilder::SettleStorage() {
  constexpr sim::OpIndex kNobody = -1;
  constexpr sim::OpIndex kSeveral = -2;
  std::vector<std::size_t> first;  // by op: where its outputs begin among those of all ops
  std::size_t outputs = 0;
  for (const sim::Op& op : graph_.ops) {
    first.push_back(outputs);
    outputs += op.outputs.size();
  }
  const auto at = [&](Tensor tensor) {
    return first[static_cast<std::size_t>(tensor.op)] + static_cast<std::size_t>(tensor.output);
  };
  std::vector<sim::OpIndex> reader(outputs, kNobody);
  for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
    const auto self = static_cast<sim::OpIndex>(i);
    for (const Tensor input : graph_.ops[i].inputs) {
      sim::OpIndex& known = reader[at(input)];
      if (known != self) known = known == kNobody ? self : kSeveral;
    }
  }

  // By output: may its only reader overwrite it? Not the storage of a variable, constant or placeholder, and
  // each tensor that shares the storage must have the next as its only reader. Ops stand behind what they
  // read, so the answer of an alias is there before it is asked for.
  std::vector<bool> free(outputs);
  const auto is_free = [&](Tensor tensor, sim::OpIndex by) {
    return reader[at(tensor)] == by && free[at(tensor)];
  };
  for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
    const auto self = static_cast<sim::OpIndex>(i);
    sim::Op& made = graph_.ops[i];
    if (in_place_[i] >= 0) {
      const Tensor shared = made.inputs[static_cast<std::size_t>(in_place_[i])];
      const sim::Output& source = op(shared).outputs[static_cast<std::size_t>(shared.output)];
      if (source.bytes == made.outputs[0].bytes && is_free(shared, self)) {
        made.outputs[0].storage = sim::Output::Storage::kInput;
        made.outputs[0].alias = shared;
      }
    }
    for (std::size_t output = 0; output < made.outputs.size(); ++output) {
      const sim::Output& own = made.outputs[output];
      free[first[i] + output] = own.storage == sim::Output::Storage::kInput
                                    ? is_free(own.alias, self)
                                    : own.storage == sim::Output::Storage::kOwn && !made.IsSource();
    }
  }
}

}  // namespace stowplan::scenarios
