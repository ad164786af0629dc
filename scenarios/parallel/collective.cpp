#include "scenarios/parallel/collective.h"

#include <utility>

#include "scenarios/builder/graph_builder.h"
#include "scenarios/parallel/graph_edit.h"

namespace stowplan::scenarios {

sim::Op CollectiveBeside(const sim::Op& of, const std::string& name, const std::string& type,
                         sim::TensorRef input, sim::Output output, const RankGroup& group) {
  sim::Op op = Beside(of, name, type);
  op.inputs = {input};
  output.storage = sim::Output::Storage::kOwn;
  op.outputs = {std::move(output)};
  AddAttribute(op.attributes, "ranks", group.ranks);
  AddAttribute(op.attributes, "stride", group.stride);
  AddAttribute(op.attributes, "group", group.name);
  return op;
}

}  // namespace stowplan::scenarios
