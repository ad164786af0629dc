// `encoder_placer`: a graph network encodes the units, segment attention names all devices at once; PPO.
//
// Source: one of the two designs that Mars (Lan et al., ICPP 2021) compares with; the design of GDP (Zhou et
// al. 2019) without its superposition layer (PAPERS 4 and 5, PROTOCOL 4.5 and 4.6). The networks are
// described in graph_sage.h and segment_placer.h, the features in node_features.h, beside a learned embedding
// of the op types (32, mean over a unit).
//
// Assumptions, where nothing is known: all sizes (`size=full`: width 128, 3 attention layers of 8 heads,
// segments of 256; `small`: 64, 2 layers of 4 heads, 128) come from a public reproduction of GO; the units go
// in topological order, by depth and index. Which learner the design had in Mars is not published: PPO as in
// Mars is taken, one ratio for each unit; `paper` has Mars' learner as recalled, `tuned` PROTOCOL 4.0's with
// 10 placements.
//
// Where it fails: devices are drawn independently, so two units that must go together do so only once the
// policy is nearly sure of both.
#include <ATen/ATen.h>

#include "agents/rl/categorical.h"
#include "agents/rl/graph_sage.h"
#include "agents/rl/learner.h"
#include "agents/rl/learners.h"
#include "agents/rl/node_features.h"
#include "agents/rl/one_shot_learner.h"
#include "agents/rl/segment_placer.h"
#include "agents/rl/unit_features.h"
#include "sim/error.h"

namespace berth::agents::rl {
namespace {

constexpr std::int64_t kTypeEmbedding = 32;
constexpr int kEncoderLayers = 2;

class EncoderPolicy : public Policy {
 public:
  EncoderPolicy(SegmentPlacer::Sizes sizes, const std::vector<const Task*>& tasks, Rng& init)
      : tasks_(tasks),
        vocabulary_(tasks),
        embedding_(GlorotMatrix(TypeVocabulary::kSize, kTypeEmbedding, at::kFloat, init)),
        encoder_(kTypeEmbedding + kNodeFeatures, sizes.width, kEncoderLayers, at::kFloat, init),
        placer_(WithChoices(sizes, tasks), at::kFloat, init),
        parameters_{embedding_} {
    Append(parameters_, encoder_.parameters());
    Append(parameters_, placer_.parameters());
    for (const Task* task : tasks) graphs_.emplace_back(task->units.size(), task->edges, /*reach=*/false);
    for (const UnitGraph& graph : graphs_) neighbours_.emplace_back(graph);
    ReadFeatures();
  }

  Draws Draw(std::size_t task, std::int64_t count, const Moment&, Rng* rng) override {
    const at::NoGradGuard no_grad;
    const auto units = static_cast<std::int64_t>(graphs_[task].size());
    const DrawnActions drawn = DrawActions(Logits(task).repeat({count, 1}), rng);
    Draws draws;
    draws.kinds = {{drawn.actions.view({count, units}), drawn.log_probability.view({count, units}), {}, 1}};
    for (std::int64_t i = 0; i < count; ++i) {
      draws.placements.push_back(PlacementOfSlots(
          *tasks_[task],
          {drawn.actions.data_ptr<std::int64_t>() + i * units, static_cast<std::size_t>(units)}));
    }
    return draws;
  }

  std::vector<ActionTerms> Evaluate(std::size_t task, const Draws& draws) const override {
    const at::Tensor& actions = draws.kinds[0].actions;
    return {TermsOfActions(Logits(task).expand({actions.size(0), -1, -1}), actions)};
  }

  const Tensors& parameters() const override { return parameters_; }

  void Save(StateWriter& out) const override {
    vocabulary_.Save(out);
    SaveTensors(parameters_, out);
  }
  void Load(StateReader& in) override {
    vocabulary_.Load(in);
    LoadTensors(in, parameters_);
    ReadFeatures();
  }

 private:
  static SegmentPlacer::Sizes WithChoices(SegmentPlacer::Sizes sizes, const std::vector<const Task*>& tasks) {
    sizes.choices = CommonDevices("encoder_placer", tasks);
    return sizes;
  }

  void ReadFeatures() {
    types_.clear();
    features_.clear();
    for (const Task* task : tasks_) {
      const at::Tensor counts = CountTypes(*task, vocabulary_);
      types_.push_back(counts / counts.sum(1, true));
      features_.push_back(NodeFeatures(*task));
    }
  }

  // [units, devices], rows by unit; the placer reads them in topological order.
  at::Tensor Logits(std::size_t task) const {
    const at::Tensor units = at::cat({types_[task].matmul(embedding_), features_[task]}, 1);
    const std::vector<UnitIndex>& order = graphs_[task].order();
    const at::Tensor ordered = Reordered(encoder_.Forward(units, neighbours_[task]), order);
    std::vector<UnitIndex> position(order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      position[static_cast<std::size_t>(order[i])] = static_cast<UnitIndex>(i);
    return Reordered(placer_.Forward(ordered), position);
  }

  const std::vector<const Task*> tasks_;
  TypeVocabulary vocabulary_;
  at::Tensor embedding_;
  GraphSage encoder_;
  SegmentPlacer placer_;
  Tensors parameters_;
  std::vector<UnitGraph> graphs_;  // by task
  std::vector<NeighbourLists> neighbours_;
  Tensors types_, features_;
};

SegmentPlacer::Sizes ReadSizes(ParameterReader& read, const std::string& spec) {
  const bool full = read.Choice("size", {"small", "full"}) == "full";
  SegmentPlacer::Sizes sizes;
  sizes.width = read.Int("width", full ? 128 : 64, 1, 8192);
  sizes.layers = static_cast<int>(read.Int("layers", full ? 3 : 2, 1, 64));
  sizes.heads = static_cast<int>(read.Int("heads", full ? 8 : 4, 1, 256));
  sizes.segment = read.Int("segment", full ? 256 : 128, 1, 100'000);
  if (sizes.width % sizes.heads != 0) {
    throw InputError(spec + ": width=" + std::to_string(sizes.width) + " is not divisible by heads=" +
                     std::to_string(sizes.heads) + "; expected a multiple of it");
  }
  return sizes;
}

}  // namespace

std::unique_ptr<Agent> MakeEncoderPlacer(const Spec& spec) {
  ParameterReader read(spec);
  const bool paper = read.Choice("preset", {"tuned", "paper"}) == "paper";
  const SegmentPlacer::Sizes sizes = ReadSizes(read, spec.ToString());
  OneShotOptions learner = paper ? PublishedPpo() : OneShotOptions{};
  learner.algorithm = OneShotOptions::Algorithm::kPpo;
  learner.batch = 10;
  learner = ReadOneShotOptions(read, learner);
  read.Finish();
  return MakeOneShotAgent(read.Canonical(), learner, [sizes](const auto& tasks, Rng& init) {
    return std::make_unique<EncoderPolicy>(sizes, tasks, init);
  });
}

}  // namespace berth::agents::rl
