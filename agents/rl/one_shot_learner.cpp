#include "agents/rl/one_shot_learner.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "agents/rl/learning_agent.h"
#include "agents/rl/losses.h"
#include "agents/rl/nn/categorical.h"
#include "sim/base/error.h"

namespace stowplan::agents::rl {
namespace {

// Sums the weights of the draws that share a row.
at::Tensor WeightsOfRows(const std::vector<double>& weights, const Decisions& kind, at::ScalarType type) {
  const at::Tensor all = at::tensor(weights, at::kDouble);
  return all.view({kind.actions.size(0), kind.draws_per_row}).sum(-1).to(type);
}

double LargestDifference(const at::Tensor& a, const at::Tensor& b) {
  return a.numel() == 0 ? 0 : (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

}  // namespace

OneShotLearner::OneShotLearner(std::string name, const OneShotOptions& options,
                               std::unique_ptr<Policy> policy, const std::vector<const Task*>& tasks,
                               const std::vector<Evaluator*>& evaluators, const SearchOptions& search)
    : Learner(std::move(name), tasks, evaluators, search),
      options_(options),
      policy_(std::move(policy)),
      rng_(search.seed, "actions"),
      optimiser_(policy_->parameters()),
      states_(tasks.size(), {BatchBaseline(options.baseline, options.decay)}) {}

bool OneShotLearner::Step() {
  if (const auto loss = search().learn ? policy_->Pretrain() : std::nullopt) {
    LogPretraining(*loss);
    return true;
  }
  for (std::size_t tried = 0; tried < size(); ++tried) {
    const std::size_t t = next_task_;
    if (evaluator(t).remaining() > 0) {
      if (StepGreedy(t)) return true;
      if (search().learn) {
        const double part_spent = PartSpent();
        const Draws draws = policy_->Draw(t, options_.batch, {updates(), part_spent}, &rng_);
        const std::vector<Evaluation> evaluations = Sample(t, draws);
        if (evaluations.size() == draws.placements.size()) Learn(t, draws, evaluations, part_spent);
        next_task_ = (t + 1) % size();
        return true;
      }
    }
    next_task_ = (t + 1) % size();
  }
  return false;
}

bool OneShotLearner::StepGreedy(std::size_t t) {
  TaskState& state = states_[t];
  std::int64_t due = 1;
  if (search().learn) due = options_.greedy == 0 ? 0 : state.updates / options_.greedy;
  if (state.greedy >= due) return false;
  ++state.greedy;
  Sample(t, policy_->Draw(t, 1, {updates(), PartSpent()}, nullptr));
  return true;
}

std::vector<Evaluation> OneShotLearner::Sample(std::size_t t, const Draws& draws) {
  for (const Decisions& kind : draws.kinds) CheckFinite(kind.log_probability, name(), updates());
  std::vector<Evaluation> evaluations = evaluator(t).EvaluateBatch(draws.placements);
  for (std::size_t i = 0; i < evaluations.size(); ++i) evaluator(t).CountProposal();
  return evaluations;
}

// The advantage of each draw over the number that are learned from.
std::vector<double> OneShotLearner::WeightsOf(std::size_t t, const std::vector<Evaluation>& evaluations,
                                              bool valid_only, UpdateRecord& record) {
  std::vector<double> rewards;
  std::vector<bool> counts;
  for (const Evaluation& evaluation : evaluations) {
    rewards.push_back(RewardOf(options_.reward, task(t), evaluation));
    counts.push_back(evaluation.feasible || !valid_only);
    record.mean_cost -= rewards.back() / static_cast<double>(evaluations.size());
  }
  std::vector<double> weights = states_[t].baseline.Advantages(rewards, counts);
  if (options_.standardise) Standardise(weights, counts);
  const auto n = std::count(counts.begin(), counts.end(), true);
  for (double& weight : weights) weight /= static_cast<double>(std::max<std::ptrdiff_t>(n, 1));
  episodes_ += n;
  return weights;
}

void OneShotLearner::Learn(std::size_t t, const Draws& draws, const std::vector<Evaluation>& evaluations,
                           double part_spent) {
  UpdateRecord record;
  entropies_.resize(draws.kinds.size());
  WeighEntropies(part_spent);
  record.learning_rate = options_.LearningRateAt(part_spent, updates());
  const std::vector<double> weights =
      WeightsOf(t, evaluations, options_.ValidOnlyAt(part_spent, updates()), record);
  const bool ppo = options_.algorithm == OneShotOptions::Algorithm::kPpo;
  const bool still = record.learning_rate == 0;  // no step would change anything
  const std::int64_t parts = ppo ? options_.minibatches : 1;
  const std::int64_t count = draws.size() / parts;
  for (int epoch = 0; !still && epoch < (ppo ? options_.epochs : 1); ++epoch) {
    for (std::int64_t part = 0; part < parts; ++part) {
      const auto first = weights.begin() + part * count;
      Improve(t, draws.Slice(part * count, count), {first, first + count}, epoch + part == 0, record);
    }
  }
  if (still) Observe(t, draws, record);
  ++states_[t].updates;
  record.episodes = episodes_;
  Log(record);
}

// The record of an update without a step, which has no gradient and so no loss either. The entropies that later weights
// hang on stay as they are.
void OneShotLearner::Observe(std::size_t t, const Draws& draws, UpdateRecord& record) const {
  const at::NoGradGuard no_gradient;
  const std::vector<ActionTerms> terms = policy_->Evaluate(t, draws);
  for (std::size_t k = 0; k < terms.size(); ++k) {
    record.entropy += terms[k].entropy.mean().item<double>() / static_cast<double>(terms.size());
    record.entropy_weight += entropies_[k].weight / static_cast<double>(terms.size());
  }
  record.loss = record.gradient_norm = record.drift = std::nan("");
}

void OneShotLearner::WeighEntropies(double part_spent) {
  for (Entropy& kind : entropies_) {
    if (options_.target.first == 0 || kind.fresh <= 0) {
      kind.weight = options_.entropy.At(part_spent);
    } else {
      const double lack = options_.target.At(part_spent) - kind.last / kind.fresh;
      kind.weight = std::clamp(kind.weight * std::exp(lack), OneShotOptions::kLeastEntropyWeight,
                               options_.entropy_most.value_or(1));
    }
  }
}

void OneShotLearner::Improve(std::size_t t, const Draws& draws, const std::vector<double>& weights,
                             bool first_step, UpdateRecord& record) {
  // Under MPI each rank takes some of the draws and the gradients are summed: another number of ranks groups the same
  // sum otherwise, so that results differ by rounding.
  Ranks& ranks = *search().ranks;
  std::int64_t border = 1;
  for (const Decisions& kind : draws.kinds) border = std::max(border, kind.draws_per_row);
  const Ranks::Share own = ranks.ShareOf(static_cast<std::size_t>(draws.size() / border));
  const std::int64_t first = static_cast<std::int64_t>(own.begin) * border;
  const std::int64_t count = static_cast<std::int64_t>(own.end - own.begin) * border;
  Part part{.entropies = std::vector<double>(draws.kinds.size(), 0.0)};
  if (count > 0) {
    const double share = static_cast<double>(count) / static_cast<double>(draws.size());
    part = PartOf(t, draws.Slice(first, count), {weights.begin() + first, weights.begin() + first + count},
                  share);
  } else {
    for (const at::Tensor& parameter : policy_->parameters())
      part.gradients.push_back(at::zeros_like(parameter));
  }
  SumOverRanks(part.gradients, ranks);
  const double norm = optimiser_.Step(part.gradients, record.learning_rate, options_.clip);
  if (!first_step) return;
  std::vector<double> sums = {part.loss, part.drift};
  sums.insert(sums.end(), part.entropies.begin(), part.entropies.end());
  ranks.Sum(sums);
  record.loss = sums[0];
  record.drift = sums[1];
  for (std::size_t k = 0; k < entropies_.size(); ++k) {
    Entropy& kind = entropies_[k];
    kind.last = sums[2 + k];
    if (kind.fresh == 0) kind.fresh = kind.last;
    record.entropy += kind.last / static_cast<double>(entropies_.size());
    record.entropy_weight += kind.weight / static_cast<double>(entropies_.size());
  }
  record.gradient_norm = norm;
}

OneShotLearner::Part OneShotLearner::PartOf(std::size_t t, const Draws& draws,
                                            const std::vector<double>& weights, double share) const {
  const std::vector<ActionTerms> terms = policy_->Evaluate(t, draws);
  STOWPLAN_CHECK_EQ(terms.size(), draws.kinds.size());
  Part part;
  at::Tensor loss;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    const at::Tensor& logs = terms[k].log_probability;
    const at::Tensor drawn = draws.kinds[k].log_probability.to(logs.scalar_type());
    part.drift = std::max(part.drift, LargestDifference(logs.detach(), drawn));
    part.entropies.push_back(share * terms[k].entropy.mean().item<double>());
    const double entropy_weight = share * entropies_[k].weight;
    const at::Tensor rows = WeightsOfRows(weights, draws.kinds[k], logs.scalar_type());
    // Weights carry the draws' share of the batch, the mean entropy does not.
    const at::Tensor kind = options_.algorithm == OneShotOptions::Algorithm::kPpo
                                ? PpoLoss(terms[k], drawn, rows, options_.range, entropy_weight)
                                : ReinforceLoss(terms[k], rows, entropy_weight, options_.mean);
    loss = loss.defined() ? loss + kind : kind;
  }
  part.gradients = Gradients(loss, policy_->parameters());
  part.loss = loss.item<double>();
  return part;
}

std::string OneShotLearner::WriteWeights() const {
  StateWriter out;
  policy_->Save(out);
  return out.Take();
}

void OneShotLearner::ReadWeights(const std::string& bytes, const std::string& origin) {
  StateReader in(bytes, origin + ", weights");
  policy_->Load(in);
  in.Finish();
}

void OneShotLearner::SaveState(StateWriter& out) const {
  SaveRng(rng_, out);
  optimiser_.Save(out);
  out.Put(episodes_);
  out.Put<std::uint64_t>(entropies_.size());
  for (const Entropy& kind : entropies_) {
    for (const double number : {kind.fresh, kind.last, kind.weight}) out.Put(number);
  }
  out.Put<std::uint64_t>(next_task_);
  for (const TaskState& state : states_) {
    state.baseline.Save(out);
    out.Put(state.updates);
    out.Put(state.greedy);
  }
  policy_->SaveRun(out);
}

void OneShotLearner::LoadState(StateReader& in) {
  rng_ = LoadRng(in);
  optimiser_.Load(in);
  episodes_ = in.GetCount();
  const auto kinds = in.Get<std::uint64_t>();
  if (kinds > 2) in.Fail("it has more kinds of decisions than any policy");
  entropies_.resize(static_cast<std::size_t>(kinds));
  for (Entropy& kind : entropies_) {
    for (double* number : {&kind.fresh, &kind.last, &kind.weight}) *number = in.Get<double>();
  }
  next_task_ = static_cast<std::size_t>(in.Get<std::uint64_t>());
  if (next_task_ >= size()) in.Fail("it goes on with no task");
  for (TaskState& state : states_) {
    state.baseline.Load(in);
    state.updates = in.GetCount();
    state.greedy = in.GetCount();
  }
  policy_->LoadRun(in);
}

std::unique_ptr<Agent> MakeOneShotAgent(std::string name, const OneShotOptions& options, PolicyFactory make) {
  const auto learner = [name, options, make = std::move(make)](const auto& tasks, const auto& evaluators,
                                                               const auto& search) {
    Rng init(search.seed, "weights");
    return std::make_unique<OneShotLearner>(name, options, make(tasks, init), tasks, evaluators, search);
  };
  return MakeLearningAgent(name, learner);
}

}  // namespace stowplan::agents::rl
