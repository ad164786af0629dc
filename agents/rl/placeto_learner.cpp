#include "agents/rl/placeto_learner.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "agents/placements.h"
#include "agents/rl/categorical.h"
#include "sim/error.h"
#include "sim/parallel.h"

namespace berth::agents::rl {
namespace {

// Units x states of one chunk: its tensors stay in the cache, and its overhead is spread over many states.
constexpr std::int64_t kRowsPerChunk = 4096;

PlacetoNetwork::Sizes SizesFor(const PlacetoOptions& options, const std::vector<const Task*>& tasks) {
  const std::int64_t devices = CommonDevices("placeto", tasks);
  return {.features = (options.memory ? 6 : 5) + devices,
          .devices = devices,
          .rounds = options.rounds,
          .mean = options.mean};
}

PlacetoNetwork FreshNetwork(const PlacetoNetwork::Sizes& sizes, std::uint64_t seed) {
  Rng init(seed, "placeto weights");
  return {sizes, at::kFloat, init};
}

// All units on the first accelerator, else on the first device.
UnitPlacement SinglePlacement(const Task& task) {
  return UnitPlacement(task.units.ops.size(), Accelerators(task).front());
}

}  // namespace

PlacetoLearner::TaskState::TaskState(const Task& task, const PlacetoOptions& options)
    : view(task, options),
      graph(view.graph(), options.graph, at::kFloat),
      baseline(static_cast<std::size_t>(options.window)) {}

PlacetoLearner::PlacetoLearner(const PlacetoOptions& options, const std::vector<const Task*>& tasks,
                               const std::vector<Evaluator*>& evaluators, const SearchOptions& search)
    : Learner(options.name, tasks, evaluators, search),
      options_(options),
      start_rng_(search.seed, "placeto starts"),
      action_rng_(search.seed, "placeto actions"),
      network_(FreshNetwork(SizesFor(options, tasks), search.seed)),
      optimiser_(network_.parameters()) {
  for (const Task* task : tasks) {
    states_.push_back(std::make_unique<TaskState>(*task, options));
    TaskState& state = *states_.back();
    state.start = state.view.ToSlots(options.start == PlacetoOptions::Start::kSingle
                                         ? SinglePlacement(*task)
                                         : StartPlacement(*task, search.seed));
  }
}

bool PlacetoLearner::Step() {
  if (batch_.empty()) {
    part_spent_ = PartSpent();
    if (!PlanBatch()) return false;
  }
  Advance();
  if (!BatchDone()) return true;
  std::erase_if(batch_, [](const PlacetoEpisode& episode) { return episode.greedy || !episode.complete; });
  if (!batch_.empty()) Learn();
  batch_.clear();
  return true;
}

void PlacetoLearner::RefreshStart(std::size_t task) {
  TaskState& state = *states_[task];
  if (options_.start == PlacetoOptions::Start::kRandomEach) {
    state.start = state.view.ToSlots(UniformPlacement(state.view.task(), start_rng_));
  }
  if (options_.start == PlacetoOptions::Start::kBest && evaluator(task).has_best()) {
    state.start = state.view.ToSlots(evaluator(task).best());
  }
}

std::int64_t PlacetoLearner::GreedyDue(const TaskState& state) const {
  if (!search().learn) return 1;
  if (options_.greedy == 0) return 0;
  return state.episodes / options_.greedy + (options_.greedy_first ? 1 : 0);
}

void PlacetoLearner::AddEpisode(std::size_t task, std::int64_t samples_left, bool greedy) {
  const TaskState& state = *states_[task];
  PlacetoEpisode episode;
  episode.task = static_cast<std::int32_t>(task);
  episode.greedy = greedy;
  episode.length = std::min(state.view.steps() + 1, samples_left);
  episode.complete = episode.length == state.view.steps() + 1;
  episode.start = state.start;
  batch_.push_back(std::move(episode));
}

bool PlacetoLearner::PlanBatch() {
  return PlanGreedy() || (search().learn && PlanSampled());
}

bool PlacetoLearner::PlanGreedy() {
  for (std::size_t task = 0; task < states_.size(); ++task) {
    TaskState& state = *states_[task];
    const std::int64_t due = GreedyDue(state);
    if (due <= state.greedy || evaluator(task).remaining() == 0) continue;
    state.greedy = due;
    RefreshStart(task);
    AddEpisode(task, evaluator(task).remaining(), true);
    return true;
  }
  return false;
}

// One task per parallel episode, round robin over those with samples left.
bool PlacetoLearner::PlanSampled() {
  std::vector<std::int64_t> left;
  for (std::size_t task = 0; task < size(); ++task) left.push_back(evaluator(task).remaining());
  std::vector<bool> fresh(states_.size(), false);
  for (int slot = 0; slot < options_.episodes; ++slot) {
    for (std::size_t tried = 0; tried < states_.size(); ++tried) {
      const auto task = static_cast<std::size_t>(next_task_);
      next_task_ = (next_task_ + 1) % static_cast<std::int64_t>(states_.size());
      if (left[task] == 0) continue;
      if (!fresh[task]) RefreshStart(task);
      fresh[task] = true;
      AddEpisode(task, left[task], false);
      left[task] -= batch_.back().length;
      break;
    }
  }
  return !batch_.empty();
}

bool PlacetoLearner::BatchDone() const {
  return std::all_of(batch_.begin(), batch_.end(),
                     [](const PlacetoEpisode& episode) { return episode.done(); });
}

// One sample of each episode that is on the first unfinished task.
void PlacetoLearner::Advance() {
  std::vector<PlacetoEpisode*> episodes;
  for (PlacetoEpisode& episode : batch_) {
    if (!episode.done() && (episodes.empty() || episodes.front()->task == episode.task))
      episodes.push_back(&episode);
  }
  const auto task = static_cast<std::size_t>(episodes.front()->task);
  const TaskState& state = *states_[task];
  if (episodes.front()->samples() > 0) Act(state, episodes);
  std::vector<UnitPlacement> placements;
  for (const PlacetoEpisode* episode : episodes) {
    const auto steps = static_cast<std::int64_t>(episode->actions.size());
    placements.push_back(state.view.ToPlacement(state.view.SlotsBefore(*episode, steps)));
  }
  const auto evaluations = evaluator(task).EvaluateBatch(placements, state.view.wants_starts());
  BERTH_CHECK_EQ(evaluations.size(), placements.size());
  for (std::size_t i = 0; i < episodes.size(); ++i) {
    state.view.Record(evaluations[i], *episodes[i]);
    if (episodes[i]->done()) evaluator(task).CountProposal();
  }
}

void PlacetoLearner::Act(const TaskState& state, const std::vector<PlacetoEpisode*>& episodes) {
  const c10::InferenceMode no_gradients;
  std::vector<PlacetoView::State> states;
  for (const PlacetoEpisode* episode : episodes) states.push_back({episode, episode->samples() - 1});
  const at::Tensor logits =
      network_.Logits(state.graph, state.view.Features(states), state.view.UnitsInTurn(states));
  for (std::size_t i = 0; i < episodes.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    // A greedy pass draws nothing, so that it does not move the draws of the episodes after it.
    const DrawnActions drawn =
        DrawActions(logits.slice(0, row, row + 1), episodes[i]->greedy ? nullptr : &action_rng_);
    CheckFinite(drawn.log_probability, name(), updates());
    episodes[i]->actions.push_back(drawn.actions.item<std::int64_t>());
    episodes[i]->log_probabilities.push_back(drawn.log_probability.item<double>());
  }
}

void PlacetoLearner::Learn() {
  UpdateRecord record;
  record.entropy_weight = options_.entropy.At(part_spent_);
  record.learning_rate = options_.learning_rate.At(part_spent_);
  for (const PlacetoEpisode& episode : batch_) {
    ++states_[static_cast<std::size_t>(episode.task)]->episodes;
    record.mean_cost += episode.costs.back() / static_cast<double>(batch_.size());
  }
  const std::vector<Chunk> chunks = MakeChunks();
  const std::vector<ChunkResult> results = LearnChunks(chunks, record.entropy_weight);
  // Summed in the order of the chunks, whatever thread or rank made them: the same bits for any number of both.
  Tensors gradients;
  for (const at::Tensor& parameter : network_.parameters()) gradients.push_back(at::zeros_like(parameter));
  double decisions = 0;
  for (std::size_t c = 0; c < results.size(); ++c) {
    for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i].add_(results[c].gradients[i]);
    record.loss += results[c].loss;
    record.entropy += results[c].entropy;
    record.drift = std::max(record.drift, results[c].drift);
    decisions += static_cast<double>(chunks[c].states.size());
  }
  record.entropy /= std::max(decisions, 1.0);
  record.gradient_norm = optimiser_.Step(gradients, record.learning_rate, options_.clip);
  for (const auto& state : states_) record.episodes += state->episodes;
  Log(record);
}

std::vector<PlacetoLearner::ChunkResult> PlacetoLearner::LearnChunks(const std::vector<Chunk>& chunks,
                                                                     double entropy_weight) const {
  Ranks& ranks = *search().ranks;
  std::vector<ChunkResult> results(chunks.size());
  const Ranks::Share own = ranks.ShareOf(chunks.size());
  ParallelFor(own.end - own.begin, search().threads, [&](std::size_t i, int) {
    SetUpTorchThread();
    results[own.begin + i] = LearnChunk(chunks[own.begin + i], entropy_weight);
  });
  if (ranks.alone()) return results;
  StateWriter out;
  for (std::size_t i = own.begin; i < own.end; ++i) {
    SaveTensors(results[i].gradients, out);
    for (const double number : {results[i].loss, results[i].entropy, results[i].drift}) out.Put(number);
  }
  const std::vector<std::string> all = ranks.Exchange(out.Take());
  for (int rank = 0; rank < ranks.size(); ++rank) {
    if (rank == ranks.rank()) continue;
    StateReader in(all[static_cast<std::size_t>(rank)], "rank " + std::to_string(rank));
    const Ranks::Share share = ranks.ShareOf(chunks.size(), rank);
    for (std::size_t i = share.begin; i < share.end; ++i) {
      for (const at::Tensor& parameter : network_.parameters())
        results[i].gradients.push_back(at::empty_like(parameter));
      LoadTensors(in, results[i].gradients);
      results[i].loss = in.Get<double>();
      results[i].entropy = in.Get<double>();
      results[i].drift = in.Get<double>();
    }
    in.Finish();
  }
  return results;
}

std::vector<PlacetoLearner::Chunk> PlacetoLearner::MakeChunks() {
  std::vector<Chunk> chunks;
  for (std::size_t task = 0; task < states_.size(); ++task) {
    std::vector<const PlacetoEpisode*> episodes;
    std::vector<std::vector<double>> returns;
    for (const PlacetoEpisode& episode : batch_) {
      if (static_cast<std::size_t>(episode.task) != task) continue;
      episodes.push_back(&episode);
      returns.push_back(ReturnsOfDecreases(episode.costs));
    }
    if (episodes.empty()) continue;
    const std::vector<double> baseline = states_[task]->baseline.Update(returns);
    const std::int64_t most =
        std::max<std::int64_t>(kRowsPerChunk / std::max<std::int64_t>(states_[task]->view.units(), 1), 1);
    bool full = true;
    for (std::size_t e = 0; e < episodes.size(); ++e) {
      for (std::size_t t = 0; t < baseline.size(); ++t) {
        if (full) chunks.push_back({task, {}, {}});
        chunks.back().states.push_back({episodes[e], static_cast<std::int64_t>(t)});
        chunks.back().advantages.push_back(returns[e][t] - baseline[t]);
        full = static_cast<std::int64_t>(chunks.back().states.size()) == most;
      }
    }
  }
  return chunks;
}

PlacetoLearner::ChunkResult PlacetoLearner::LearnChunk(const Chunk& chunk, double entropy_weight) const {
  const TaskState& state = *states_[chunk.task];
  std::vector<std::int64_t> actions;
  for (const auto& [episode, step] : chunk.states)
    actions.push_back(episode->actions[static_cast<std::size_t>(step)]);
  const at::Tensor logits =
      network_.Logits(state.graph, state.view.Features(chunk.states), state.view.UnitsInTurn(chunk.states));
  const ActionTerms terms = TermsOfActions(logits, IndexTensor(actions), options_.entropy_floor);
  const at::Tensor loss = PolicyLoss(terms, chunk.advantages, entropy_weight);
  ChunkResult result;
  result.gradients = Gradients(loss, network_.parameters());
  result.loss = loss.item<double>();
  result.entropy = terms.entropy.sum().item<double>();
  for (std::size_t i = 0; i < chunk.states.size(); ++i) {
    const auto& [episode, step] = chunk.states[i];
    const double drawn = episode->log_probabilities[static_cast<std::size_t>(step)];
    const double learned = terms.log_probability[static_cast<std::int64_t>(i)].item<double>();
    result.drift = std::max(result.drift, std::abs(learned - drawn));
  }
  return result;
}

}  // namespace berth::agents::rl
