// `sgdp`: a graph network reads the units, attention in segments places them all in one shot; PPO. And
// `encoder_placer`, the same without superposition, to which Mars compares itself.
//
// Source of sgdp: Zhou et al., GDP (arXiv 1910.01578), in IEEE Micro 2020 as SGDP and in NeurIPS 2020 as GO
// (docs/protocol_rules.md#sgdp). Nearly all of it is recalled, not read; what layers there are is said in
// graph_sage.h and segment_placer.h, the learner in one_shot_learner.h. One graph: `stowplan place`; a batch of
// graphs: `stowplan train`; fine-tuning: `stowplan place --init`.
//
// Assumptions, where nothing is known:
//   - all sizes: those of a public third-party program that reproduces GO for fusion (`size=full`), or
//     smaller ones;
//   - the features of a unit: node_features.h and the mean over its ops of a learned embedding of their type
//     (32);
//   - the settings of `paper`, ratio and clip for each node with one advantage for all, no value network;
//   - each graph has its own running mean as baseline; batches of graphs are learned by turns, one graph an
//     update;
//   - segments of units in topological order, by depth and index (ours);
//   - `passes` beyond one add the probabilities, less 1 / devices, times a weight to what the placer reads
//     (ours); the number of GO is 3, of SGDP 1.
// `tuned` changes the learner (docs/protocol_rules.md#tuned), centres what the output reads over the units (`centred`: without
// that the policy stays undecided under a high entropy weight and goes to one device under a low one), and draws units one
// after the other, each pulled to its neighbour's device (`stay`) and told where it would end first (`offers`).
//
// Source of encoder_placer: the comparison in Mars (ICPP 2021; docs/protocol_rules.md#encoder-placer), which says
// no more than its design. It learns as `mars` does, so that designs are compared and not learners;
// learner=reinforce is the other candidate. Both its learner and its sizes are assumptions.
//
// Where they fail: without `stay` and `offers` devices of units are drawn independently, so two units that should move
// together, or apart, find that out only by chance, and units that look alike in surroundings that look alike get the same
// probabilities; with thousands of units all placements of a batch are about equally good.
#include <ATen/ATen.h>

#include "agents/rl/features/node_features.h"
#include "agents/rl/features/offers.h"
#include "agents/rl/features/unit_features.h"
#include "agents/rl/learners.h"
#include "agents/rl/nn/categorical.h"
#include "agents/rl/nn/graph_sage.h"
#include "agents/rl/nn/stay.h"
#include "agents/rl/one_shot_learner.h"
#include "agents/rl/segment_placer.h"
#include "sim/base/error.h"

namespace stowplan::agents::rl {
namespace {

constexpr std::int64_t kSgdpTypeEmbedding = 32;
constexpr int kEncoderLayers = 2;

struct GraphPlacerOptions {
  std::string agent;
  bool graph = true;            // false hides the edges from the encoder (an ablation)
  SegmentPlacer::Sizes placer;  // choices follow from the task
  double stay = 0;              // Stay's probability; with it or offers units are drawn one after the other
  bool offers = false;          // Offers
};

class GraphPlacerPolicy : public Policy {
 public:
  GraphPlacerPolicy(const GraphPlacerOptions& options, const std::vector<const Task*>& tasks, Rng& init)
      : tasks_(tasks),
        sizes_(SizesFor(options, tasks)),
        vocabulary_(tasks),
        embedding_(GlorotMatrix(TypeVocabulary::kSize, kSgdpTypeEmbedding, at::kFloat, init)),
        encoder_(kSgdpTypeEmbedding + kNodeFeatures, sizes_.width, kEncoderLayers, at::kFloat, init),
        placer_(sizes_, at::kFloat, init),
        stay_(options.stay, sizes_.width, sizes_.choices, at::kFloat),
        offers_(options.offers, sizes_.width, at::kFloat),
        parameters_{embedding_} {
    for (const Tensors& part :
         {encoder_.parameters(), placer_.parameters(), stay_.parameters(), offers_.parameters()})
      Append(parameters_, part);
    for (const Task* task : tasks) {
      const UnitGraph graph(*task, /*reach=*/false);
      units_.push_back(offers_.UnitsOf(*task, graph.order()));
      earlier_.push_back(EarlierItems(*task, graph.order()));
      features_.push_back(Reordered(NodeFeatures(*task, graph), graph.order()));
      graphs_.push_back(options.graph ? Neighbourhood(graph) : Neighbourhood::Empty(graph.size()));
    }
    CountAllTypes();
  }

  // All draws are from one forward pass.
  Draws Draw(std::size_t task, std::int64_t count, const Moment&, Rng* rng) override {
    const at::NoGradGuard no_grad;
    Draws draws;
    draws.kinds = {stay_.on() || offers_.on() ? DrawInTurn(task, count, rng) : DrawAtOnce(task, count, rng)};
    for (std::int64_t i = 0; i < count; ++i)
      draws.placements.push_back(
          PlacementInOrder(*tasks_[task], units_[task].order, draws.kinds[0].actions[i]));
    return draws;
  }

  std::vector<ActionTerms> Evaluate(std::size_t task, const Draws& draws) const override {
    const at::Tensor& actions = draws.kinds[0].actions;
    const Read read = Forward(task);
    at::Tensor logits = read.logits.expand({actions.size(0), -1, -1});
    if (stay_.on()) logits = logits + stay_.Added(read.pulls, actions);
    if (offers_.on()) logits = logits + Offers::Added(read.haste, draws.kinds[0].delays);
    return {TermsOfActions(logits, actions)};
  }

  const Tensors& parameters() const override { return parameters_; }

  void Save(StateWriter& out) const override {
    out.Put(sizes_.choices);
    vocabulary_.Save(out);
    SaveTensors(parameters_, out);
  }
  void Load(StateReader& in) override {
    const auto choices = in.Get<std::int64_t>();
    if (choices != sizes_.choices) {
      in.Fail("the policy is one for " + std::to_string(choices) + " devices, but " +
              std::to_string(sizes_.choices) + " are needed");
    }
    vocabulary_.Load(in);
    LoadTensors(in, parameters_);
    CountAllTypes();
  }

 private:
  static SegmentPlacer::Sizes SizesFor(const GraphPlacerOptions& options,
                                       const std::vector<const Task*>& tasks) {
    SegmentPlacer::Sizes sizes = options.placer;
    sizes.choices = CommonDevices(options.agent, tasks);
    return sizes;
  }

  void CountAllTypes() {
    types_.clear();
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      types_.push_back(Reordered(TypeShares(*tasks_[t], vocabulary_), units_[t].order));
    }
  }

  struct Read {
    at::Tensor logits;  // [units, devices], rows in the order
    Stay::Pulls pulls;
    Offers::Haste haste;
  };
  Read Forward(std::size_t task) const {
    const at::Tensor rows = at::cat({types_[task].matmul(embedding_), features_[task]}, 1);
    const at::Tensor nodes = encoder_.Forward(rows, graphs_[task]);
    return {placer_.Logits(nodes), stay_.Read(nodes.unsqueeze(0), earlier_[task]),
            offers_.Read(nodes.unsqueeze(0), {&units_[task]})};
  }

  Decisions DrawAtOnce(std::size_t task, std::int64_t count, Rng* rng) const {
    const DrawnActions drawn = DrawActions(Forward(task).logits.repeat({count, 1}), rng);
    return {drawn.actions.view({count, -1}), drawn.log_probability.view({count, -1}), {}, 1};
  }

  Decisions DrawInTurn(std::size_t task, std::int64_t count, Rng* rng) const {
    const Read read = Forward(task);
    Stay::Walk stays(stay_, read.pulls, count);
    Offers::Walk offers(read.haste, count);
    Tensors actions, log_probabilities;
    for (const at::Tensor& logits : read.logits.unbind(0)) {
      const DrawnActions drawn = DrawActions(offers.Next(stays.Next(logits.expand({count, -1}))), rng);
      stays.Choose(drawn.actions);
      offers.Choose(drawn.actions);
      actions.push_back(drawn.actions);
      log_probabilities.push_back(drawn.log_probability);
    }
    return {at::stack(actions, 1), at::stack(log_probabilities, 1), {}, 1, offers.Delays()};
  }

  const std::vector<const Task*> tasks_;
  const SegmentPlacer::Sizes sizes_;
  TypeVocabulary vocabulary_;
  at::Tensor embedding_;
  GraphSage encoder_;
  SegmentPlacer placer_;
  Stay stay_;
  Offers offers_;
  Tensors parameters_;
  std::vector<Offers::Units> units_;   // by task
  std::vector<Neighbourhood> graphs_;  // by task, like all below with rows in the order
  Tensors earlier_;                    // as Stay reads them, [1, units]
  Tensors features_;
  Tensors types_;  // parts of a unit's ops
};

}  // namespace

// Also encoder_placer's factory, which has no superposition.
std::unique_ptr<Agent> MakeSgdp(const Settings& read) {
  GraphPlacerOptions policy;
  policy.agent = read.name();
  SegmentPlacer::Sizes& placer = policy.placer;
  placer.heads = read.Int("heads");
  placer.width = read.Int("width");
  placer.layers = read.Int("layers");
  placer.segment = read.Int("segment");
  placer.passes = static_cast<int>(read.Int("passes"));
  placer.superposition = read.Has("superposition") && read.Bool("superposition");
  placer.centred = read.Bool("centred");
  policy.graph = read.Bool("graph");
  policy.stay = read.Double("stay");
  policy.offers = read.Bool("offers");
  if (placer.width % placer.heads != 0) {
    throw InputError(policy.agent + ": width=" + std::to_string(placer.width) +
                     " cannot be split among heads=" + std::to_string(placer.heads) +
                     "; expected a multiple");
  }
  return MakeOneShotAgent(read.Canonical(), ReadOneShotOptions(read), [policy](const auto& tasks, Rng& init) {
    return std::make_unique<GraphPlacerPolicy>(policy, tasks, init);
  });
}

}  // namespace stowplan::agents::rl
