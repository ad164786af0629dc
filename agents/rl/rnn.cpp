// `rnn`: an LSTM reads the groups of the model, another names a device for each in turn; REINFORCE.
//
// Source: Mirhoseini et al., Device Placement Optimization with Reinforcement Learning, ICML 2017
// (docs/protocol_rules.md#rnn). The groups are the task's units; the published ones are co-location groups. What
// the networks are is said in sequence_placer.h, the learner in one_shot_learner.h.
//
// A group's vector, presets `tuned` and `paper`: mean over its ops of a learned embedding of their type
// (32), sum of their output shapes (4 outputs x 4 dimensions, log1p, standardised), 0/1 adjacency from and to
// all groups.
//
// Assumptions, where nothing is known or only recalled:
//   - all sizes: one-directional encoder, embedding 32, 16 numbers of shapes, width 512 (`size=full`) or 128;
//   - the learner of `paper`; only feasible draws from a quarter of the budget on is after some 5,000 updates as published;
//   - the order of the groups: topological, by depth and index (ours);
//   - the context goes into the logits, not into the decoder (ours, after the authors' later program).
// Preset `tuned` is ours in its learner (PPO, entropy held; docs/protocol_rules.md#tuned) and in its network: the decoder reads the
// group it is placing (`aligned`), the logits are `centred` (without either it collapses onto one device), groups are pulled to
// the device of a neighbour (`stay`) and told where a schedule would end them first (`offers`), attention is that of products and
// the width is half as large, which is four times as fast.
//
// `network=planner` is that of the sequence half of TensorFlow's open planner on these groups, which
// Placeto's authors probably ran as their RNN: encoder of both directions, one shared forget bias,
// its group vectors. Preset `code` has that network, and the program's learner and noise. Not kept of it:
// freezing the actions after 500 updates, which without a grouper would end the search; and the program joins
// step i of the forward with step i of the backward pass, which are different groups (ours joins the same
// ones). `as_shipped` (fresh actions and a zero input in the loss) belongs to `hierarchical`.
//
// Where it fails: a decision is rewarded only through the whole placement, so hundreds of groups need
// thousands of samples; adjacency ties the weights to one number and order of groups, so they mean nothing on
// other graphs.
#include <ATen/ATen.h>

#include "agents/classical/unit_graph.h"
#include "agents/rl/features/unit_features.h"
#include "agents/rl/learner.h"
#include "agents/rl/learners.h"
#include "agents/rl/nn/layers.h"
#include "agents/rl/one_shot_learner.h"
#include "agents/rl/sequence_options.h"
#include "sim/base/error.h"

namespace stowplan::agents::rl {
namespace {

constexpr std::int64_t kRnnTypeEmbedding = 32;

struct RnnOptions {
  bool planner;  // group vectors of the open planner
  SequenceOptions sequence;
};

class RnnPolicy : public Policy {
 public:
  RnnPolicy(const RnnOptions& options, const std::vector<const Task*>& tasks, Rng& init)
      : options_(options),
        tasks_(tasks),
        vocabulary_(tasks),
        embedding_(GlorotMatrix(TypeVocabulary::kSize, kRnnTypeEmbedding, at::kFloat, init)),
        placer_(SizesFor(options, tasks), at::kFloat, init),
        parameters_(placer_.parameters()) {
    if (!options.planner) parameters_.push_back(embedding_);
    for (const Task* task : tasks) {
      units_.push_back(placer_.UnitsOf(*task, UnitGraph(*task, /*reach=*/false).order()));
      earlier_.push_back(EarlierItems(*task, units_.back().order));
    }
    ReadFeatures();
  }

  Draws Draw(std::size_t task, std::int64_t count, const Moment& moment, Rng* rng) override {
    const at::NoGradGuard no_grad;
    Draws draws;
    draws.kinds = {placer_.Draw(Encode(task), count, options_.sequence.NoiseAt(moment.update), rng)};
    const at::Tensor& actions = draws.kinds[0].actions;
    for (std::int64_t i = 0; i < count; ++i)
      draws.placements.push_back(PlacementInOrder(*tasks_[task], units_[task].order, actions[i]));
    return draws;
  }

  std::vector<ActionTerms> Evaluate(std::size_t task, const Draws& draws) const override {
    const Decisions& devices = draws.kinds[0];
    return {TermsOf(placer_.Logits(Encode(task), devices.actions, devices.delays), devices)};
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
  static SequencePlacer::Sizes SizesFor(const RnnOptions& options, const std::vector<const Task*>& tasks) {
    const std::int64_t groups = tasks.front()->units.size();
    for (const Task* task : tasks) {
      if (task->units.size() != groups) {
        throw InputError("rnn learns on tasks with one number of units, but is given some with " +
                         std::to_string(groups) + " and some with " + std::to_string(task->units.size()) +
                         "; a grouper such as neighbour(groups=128) makes them equal");
      }
    }
    SequencePlacer::Sizes sizes = options.sequence.placer;
    sizes.choices = CommonDevices("rnn", tasks);
    sizes.input = 2 * groups + (options.planner ? TypeVocabulary::kSize + 25 : kRnnTypeEmbedding + 16);
    return sizes;
  }

  // What does not change while learning: all of a group's vector but the embedded types.
  void ReadFeatures() {
    types_.clear();
    features_.clear();
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      const auto& order = units_[t].order;
      const at::Tensor counts = Reordered(CountTypes(*tasks_[t], vocabulary_), order);
      const at::Tensor edges = Reordered(Reordered(AdjacencyOf(*tasks_[t]), order).t(), order).t();
      types_.push_back(counts / counts.sum(1, true));
      features_.push_back(
          options_.planner
              ? PlannerGroupFeatures(edges, counts, Reordered(SumShapes(*tasks_[t], 5, 5), order))
              : at::cat(
                    {Standardised(Reordered(SumShapes(*tasks_[t], 4, 4), order).log1p()), edges, edges.t()},
                    1));
    }
  }

  at::Tensor Items(std::size_t task) const {  // [1, groups, input]
    if (options_.planner) return features_[task].unsqueeze(0);
    return at::cat({types_[task].matmul(embedding_), features_[task]}, 1).unsqueeze(0);
  }

  SequencePlacer::Encoded Encode(std::size_t task) const {
    return placer_.Encode(Items(task), earlier_[task], {&units_[task]});
  }

  const RnnOptions options_;
  const std::vector<const Task*> tasks_;
  TypeVocabulary vocabulary_;
  at::Tensor embedding_;
  SequencePlacer placer_;
  Tensors parameters_;
  std::vector<Offers::Units> units_;  // by task
  Tensors earlier_;                   // by task, as the placer reads them
  Tensors types_, features_;          // by task, rows in that order
};

}  // namespace

std::unique_ptr<Agent> MakeRnn(const Settings& read) {
  RnnOptions options{read.Is("network", "planner"), ReadSequenceOptions(read)};
  options.sequence.placer.both_directions = options.planner;
  options.sequence.placer.biases = !options.planner;
  return MakeOneShotAgent(
      read.Canonical(), ReadOneShotOptions(read),
      [options](const auto& tasks, Rng& init) { return std::make_unique<RnnPolicy>(options, tasks, init); });
}

}  // namespace stowplan::agents::rl
