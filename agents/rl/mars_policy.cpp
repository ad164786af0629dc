#include "agents/rl/mars_policy.h"

#include <ATen/ATen.h>

#include "agents/classical/unit_graph.h"
#include "agents/rl/features/node_features.h"
#include "agents/rl/learner.h"

namespace stowplan::agents::rl {
namespace {

SequencePlacer::Sizes SizesFor(const MarsOptions& options, const std::vector<const Task*>& tasks) {
  SequencePlacer::Sizes sizes = options.sequence.placer;
  sizes.input = options.encoder_width;
  sizes.choices = CommonDevices("mars", tasks);
  return sizes;
}

}  // namespace

MarsPolicy::MarsPolicy(const MarsOptions& options, const std::vector<const Task*>& tasks, Rng& init)
    : options_(options),
      tasks_(tasks),
      vocabulary_(tasks),
      encoder_(TypeVocabulary::kSize + kNodeFeatures, options.encoder_width, options.layers, at::kFloat,
               init),
      placer_(SizesFor(options, tasks), at::kFloat, init),
      parameters_(placer_.parameters()),
      pretraining_(options.pretraining, encoder_, graphs_, Rng(init.Next(), "pretraining")),
      pretrained_(!options.pretrain) {
  if (!options.freeze) Append(parameters_, encoder_.parameters());
  for (const Task* task : tasks) {
    const UnitGraph graph(*task, /*reach=*/false);
    units_.push_back(placer_.UnitsOf(*task, graph.order()));
    earlier_.push_back(EarlierItems(*task, graph.order()));
    features_.push_back(Reordered(NodeFeatures(*task, graph), graph.order()));
    graphs_.push_back({{}, NormalisedAdjacency(graph, options.graph, at::kFloat)});
  }
  ReadFeatures();
}

void MarsPolicy::ReadFeatures() {
  for (std::size_t t = 0; t < tasks_.size(); ++t) {
    graphs_[t].rows =
        at::cat({Reordered(TypeShares(*tasks_[t], vocabulary_), units_[t].order), features_[t]}, 1);
  }
}

std::optional<double> MarsPolicy::Pretrain() {
  if (pretrained_) return std::nullopt;
  const std::optional<double> loss = pretraining_.Step();
  pretrained_ = pretraining_.done();
  return loss;
}

SequencePlacer::Encoded MarsPolicy::Encode(std::size_t task) const {
  const GraphInfomax::Graph& graph = graphs_[task];
  at::Tensor nodes = encoder_.Forward(graph.rows, graph.adjacency);
  if (options_.freeze) nodes = nodes.detach();
  return placer_.Encode(nodes.unsqueeze(0), earlier_[task], {&units_[task]});
}

Draws MarsPolicy::Draw(std::size_t task, std::int64_t count, const Moment& moment, Rng* rng) {
  const at::NoGradGuard no_grad;
  Draws draws;
  draws.kinds = {placer_.Draw(Encode(task), count, options_.sequence.NoiseAt(moment.update), rng)};
  const at::Tensor& actions = draws.kinds[0].actions;
  for (std::int64_t i = 0; i < count; ++i)
    draws.placements.push_back(PlacementInOrder(*tasks_[task], units_[task].order, actions[i]));
  return draws;
}

std::vector<ActionTerms> MarsPolicy::Evaluate(std::size_t task, const Draws& draws) const {
  const Decisions& devices = draws.kinds[0];
  return {TermsOf(placer_.Logits(Encode(task), devices.actions, devices.delays), devices)};
}

void MarsPolicy::Save(StateWriter& out) const {
  vocabulary_.Save(out);
  SaveTensors(encoder_.parameters(), out);
  SaveTensors(placer_.parameters(), out);
}

void MarsPolicy::Load(StateReader& in) {
  vocabulary_.Load(in);
  LoadTensors(in, encoder_.parameters());
  LoadTensors(in, placer_.parameters());
  ReadFeatures();
  pretrained_ = true;
}

void MarsPolicy::SaveRun(StateWriter& out) const {
  out.Put<std::uint8_t>(pretrained_);
  if (!pretrained_) pretraining_.Save(out);
}

void MarsPolicy::LoadRun(StateReader& in) {
  pretrained_ = in.Get<std::uint8_t>() != 0;
  if (!pretrained_) pretraining_.Load(in);
}

}  // namespace stowplan::agents::rl
