#include "scenarios/parallel/lay_out.h"

#include <algorithm>
#include <utility>

#include "scenarios/builder/graph_builder.h"
#include "scenarios/builder/workload_options.h"
#include "scenarios/parallel/all_ranks.h"
#include "scenarios/parallel/gradients.h"
#include "scenarios/parallel/graph_edit.h"
#include "scenarios/parallel/recompute.h"
#include "scenarios/parallel/sharded_weights.h"
#include "scenarios/parallel/stages.h"
#include "scenarios/parallel/tensor.h"
#include "scenarios/workloads/micro_batches.h"
#include "scenarios/workloads/workloads.h"
#include "sim/collectives.h"
#include "sim/formats/collectives.h"

namespace stowplan::scenarios {
namespace {

// A builder's gradient of a table is of the rows that were read; ranks can only add whole ones, as torch makes them.
void MakeTableGradientsWhole(sim::OpGraph& graph) {
  for (sim::Op& op : graph.ops) {
    if (op.type != "GatherGrad") continue;
    const auto read = std::ranges::find_if(graph.ops, [&](const sim::Op& one) {
      return one.type == "GatherV2" && one.inputs.size() == 2 && op.inputs.size() == 2 &&
             one.inputs[1] == op.inputs[1];
    });
    if (read == graph.ops.end()) continue;
    op.type = "ScatterND";
    op.outputs.front() = OutputOf(graph, read->inputs.front());
    op.outputs.front().storage = sim::Output::Storage::kOwn;
  }
  graph.Finish();
}

// In place of the model's layers.
void MarkStages(sim::OpGraph& graph, const Layout& layout) {
  for (sim::Op& op : graph.ops) {
    std::erase_if(op.attributes, [](const auto& one) { return one.first == "stage"; });
    const auto rank = sim::FindNumber(op.attributes, kRank);
    if (rank) AddAttribute(op.attributes, "stage", static_cast<std::int64_t>(*rank) / layout.tensor);
  }
}

// What the model says of itself, where the layout does not say other things.
void AddAttributesOf(const sim::Attributes& model, sim::Attributes& attributes) {
  for (const auto& one : model) {
    const bool is_default = one.first == "mode" && one.second.value == decltype(one.second.value)("training");
    if (one.first != "schedule" && !is_default && sim::FindAttribute(attributes, one.first) == nullptr)
      attributes.push_back(one);
  }
}

}  // namespace

LaidOut LayOutMicroBatch(sim::OpGraph share, const Layout& layout) {
  LaidOut made{.graph = std::move(share)};
  MakeTableGradientsWhole(made.graph);
  if (layout.tensor > 1) {
    TensorRank rank = CutTensors(made.graph, {.ranks = layout.tensor, .sequence_parallel = layout.sequence});
    made.cut_share = rank.flops > 0 ? rank.cut_flops / rank.flops : 1;
    made.graph = std::move(rank.graph);
  }
  if (layout.recompute != Recompute::kNone) made.graph = RecomputeLayers(made.graph, layout.recompute);
  return made;
}

LaidOut LayOut(const std::string& of, const Layout& layout) {
  const RankGroup tensor{"tensor", layout.tensor, 1},
      data{"data", layout.data, layout.tensor * layout.pipeline};
  const std::int64_t shares = layout.of_micro_batch ? 1 : layout.data * layout.micro_batches;
  LaidOut made = LayOutMicroBatch(ShareOf(of, shares, "layout: data x micro_batches"), layout);
  const sim::Attributes attributes = made.graph.attributes;
  made.graph = CutStages(made.graph, layout.pipeline, layout.tensor);
  if (layout.zero == 3 && layout.data > 1) made.graph = ShardWeights(made.graph, data, layout.prefetch);
  made.graph = RepeatMicroBatch(made.graph, layout.micro_batches, layout.schedule);
  made.graph.Finish();
  const bool exchanges = layout.zero != 3;
  made.graph = ExchangeGradients(made.graph, {.tensor = tensor,
                                              .data = exchanges ? data : RankGroup{},
                                              .zero = layout.zero,
                                              .bucket = layout.bucket << 20});
  MarkStages(made.graph, layout);
  InProgramOrder(made.graph);
  for (sim::Op& op : made.graph.ops)
    if (sim::CollectiveTypeOf(op.type)) op.colocate.clear();  // its ranks are where their tensors are made
  made.graph.attributes.clear();
  if (layout.micro_batches > 1) AddAttribute(made.graph.attributes, "schedule", layout.schedule);
  AddAttribute(made.graph.attributes, "layout", layout.Text());
  AddAttribute(made.graph.attributes, "layers", layout.pipeline);
  AddAttribute(made.graph.attributes, "expert", std::string("stage"));
  AddAttributesOf(attributes, made.graph.attributes);
  return made;
}

sim::OpGraph BuildLayout(const Settings& read) {
  const Layout layout = ReadLayout(read);
  LaidOut made = LayOut(read.Text("of"), layout);
  made.graph.name = read.name();
  const sim::Attributes of_graph =
      std::exchange(made.graph.attributes, Describe(read, layout.pipeline, "stage"));
  AddAttribute(made.graph.attributes, "cut_share", made.cut_share);
  AddAttributesOf(of_graph, made.graph.attributes);
  return read.Is("ranks", "all") ? WriteAllRanks(made.graph, layout) : formats::SplitCollectives(made.graph);
}

}  // namespace stowplan::scenarios
