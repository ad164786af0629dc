#include "agents/rl/placeto_learner.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "agents/placements.h"
#include "sim/error.h"
#include "sim/parallel.h"

namespace berth::agents::rl {
namespace {

// Units x states of one chunk: its tensors stay in the cache, and its overhead is spread over many states.
constexpr std::int64_t kRowsPerChunk = 4096;

PlacetoNetwork::Sizes SizesFor(const PlacetoOptions& options, const std::vector<const Task*>& tasks) {
  const auto devices = static_cast<std::int64_t>(tasks.front()->devices.size());
  for (const Task* task : tasks) {
    if (static_cast<std::int64_t>(task->devices.size()) != devices) {
      throw InputError("placeto learns on tasks with one number of devices, but is given some with " +
                       std::to_string(devices) + " and some with " + std::to_string(task->devices.size()));
    }
  }
  return {.features = (options.memory ? 6 : 5) + devices, .devices = devices, .rounds = options.rounds};
}

PlacetoNetwork FreshNetwork(const PlacetoNetwork::Sizes& sizes, std::uint64_t seed) {
  Rng init(seed, "placeto weights");
  return {sizes, at::kFloat, init};
}

// All units on the first accelerator, else on the first device.
UnitPlacement SinglePlacement(const Task& task) {
  return UnitPlacement(task.units.ops.size(), Accelerators(task).front());
}

std::vector<double> LogSoftmax(const float* logits, std::int64_t count) {
  const double largest = *std::max_element(logits, logits + count);
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += std::exp(logits[i] - largest);
  std::vector<double> result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(logits[i] - largest - std::log(sum));
  return result;
}

std::int64_t Draw(const std::vector<double>& log_probabilities, double uniform) {
  std::size_t action = 0;
  for (double sum = std::exp(log_probabilities[0]);
       sum <= uniform && action + 1 < log_probabilities.size();) {
    sum += std::exp(log_probabilities[++action]);
  }
  return static_cast<std::int64_t>(action);
}

}  // namespace

PlacetoLearner::TaskState::TaskState(const Task& task, const PlacetoOptions& options)
    : view(task, options),
      graph(view.graph(), options.graph, at::kFloat),
      baseline(static_cast<std::size_t>(options.window)) {}

PlacetoLearner::PlacetoLearner(const PlacetoOptions& options, const std::vector<const Task*>& tasks,
                               const std::vector<Evaluator*>& evaluators, const SearchOptions& search)
    : options_(options),
      search_(search),
      evaluators_(evaluators),
      start_rng_(search.seed, "placeto starts"),
      action_rng_(search.seed, "placeto actions"),
      network_(FreshNetwork(SizesFor(options, tasks), search.seed)),
      optimiser_(network_.parameters()) {
  BERTH_CHECK_EQ(tasks.size(), evaluators.size());
  for (const Task* task : tasks) {
    tasks_.push_back(std::make_unique<TaskState>(*task, options));
    TaskState& state = *tasks_.back();
    state.start = state.view.ToSlots(options.start == PlacetoOptions::Start::kSingle
                                         ? SinglePlacement(*task)
                                         : StartPlacement(*task, search.seed));
  }
}

void PlacetoLearner::Run() {
  UseOneTorchThread();
  const std::string log_path = search_.checkpoint.empty() ? "" : search_.checkpoint + ".log.csv";
  if (search_.resume && CheckpointExists(search_.checkpoint)) {
    RestoreRun(search_.checkpoint);
  } else {
    log_ = LearningLog(log_path);
  }
  clock_.Restart();
  while (!StopRequested() && (!batch_.empty() || PlanBatch())) {
    Advance();
    if (BatchDone()) FinishBatch();
    if (clock_.Due()) SaveRun();
  }
  SaveRun();
}

void PlacetoLearner::RefreshStart(std::size_t task) {
  TaskState& state = *tasks_[task];
  if (options_.start == PlacetoOptions::Start::kRandomEach) {
    state.start = state.view.ToSlots(UniformPlacement(state.view.task(), start_rng_));
  }
  if (options_.start == PlacetoOptions::Start::kBest && evaluators_[task]->has_best()) {
    state.start = state.view.ToSlots(evaluators_[task]->best());
  }
}

std::int64_t PlacetoLearner::GreedyDue(const TaskState& state) const {
  if (!search_.learn) return 1;
  if (options_.greedy == 0) return 0;
  return state.episodes / options_.greedy + (options_.greedy_first ? 1 : 0);
}

void PlacetoLearner::AddEpisode(std::size_t task, std::int64_t samples_left, bool greedy) {
  const TaskState& state = *tasks_[task];
  PlacetoEpisode episode;
  episode.task = static_cast<std::int32_t>(task);
  episode.greedy = greedy;
  episode.length = std::min(state.view.steps() + 1, samples_left);
  episode.complete = episode.length == state.view.steps() + 1;
  episode.start = state.start;
  batch_.push_back(std::move(episode));
}

bool PlacetoLearner::PlanBatch() {
  return PlanGreedy() || (search_.learn && PlanSampled());
}

bool PlacetoLearner::PlanGreedy() {
  for (std::size_t task = 0; task < tasks_.size(); ++task) {
    TaskState& state = *tasks_[task];
    const std::int64_t due = GreedyDue(state);
    if (due <= state.greedy || evaluators_[task]->remaining() == 0) continue;
    state.greedy = due;
    RefreshStart(task);
    AddEpisode(task, evaluators_[task]->remaining(), true);
    return true;
  }
  return false;
}

// One task per parallel episode, round robin over those with samples left.
bool PlacetoLearner::PlanSampled() {
  std::vector<std::int64_t> left;
  for (const Evaluator* evaluator : evaluators_) left.push_back(evaluator->remaining());
  std::vector<bool> fresh(tasks_.size(), false);
  for (int slot = 0; slot < options_.episodes; ++slot) {
    for (std::size_t tried = 0; tried < tasks_.size(); ++tried) {
      const auto task = static_cast<std::size_t>(next_task_);
      next_task_ = (next_task_ + 1) % static_cast<std::int64_t>(tasks_.size());
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
  const TaskState& state = *tasks_[task];
  if (episodes.front()->samples() > 0) Act(state, episodes);
  std::vector<UnitPlacement> placements;
  for (const PlacetoEpisode* episode : episodes) {
    const auto steps = static_cast<std::int64_t>(episode->actions.size());
    placements.push_back(state.view.ToPlacement(state.view.SlotsBefore(*episode, steps)));
  }
  const auto evaluations = evaluators_[task]->EvaluateBatch(placements, state.view.wants_starts());
  BERTH_CHECK_EQ(evaluations.size(), placements.size());
  for (std::size_t i = 0; i < episodes.size(); ++i) {
    state.view.Record(evaluations[i], *episodes[i]);
    if (episodes[i]->done()) evaluators_[task]->CountProposal();
  }
}

void PlacetoLearner::Act(const TaskState& state, const std::vector<PlacetoEpisode*>& episodes) {
  const c10::InferenceMode no_gradients;
  std::vector<PlacetoView::State> states;
  for (const PlacetoEpisode* episode : episodes) states.push_back({episode, episode->samples() - 1});
  const at::Tensor logits =
      network_.Logits(state.graph, state.view.Features(states), state.view.UnitsInTurn(states)).contiguous();
  const std::int64_t devices = state.view.devices();
  for (std::size_t i = 0; i < episodes.size(); ++i) {
    const float* const row = logits.data_ptr<float>() + static_cast<std::int64_t>(i) * devices;
    const auto log_probabilities = LogSoftmax(row, devices);
    if (!std::isfinite(log_probabilities.front())) {
      throw RunError(options_.name + ": the policy gives no finite number after " + std::to_string(updates_) +
                     " updates; a lower lr or fewer rounds keep it in range");
    }
    // A greedy pass draws nothing, so that it does not move the draws of the episodes after it.
    const std::int64_t action =
        episodes[i]->greedy
            ? std::max_element(log_probabilities.begin(), log_probabilities.end()) - log_probabilities.begin()
            : Draw(log_probabilities, action_rng_.Uniform());
    episodes[i]->actions.push_back(action);
    episodes[i]->log_probabilities.push_back(log_probabilities[static_cast<std::size_t>(action)]);
  }
}

void PlacetoLearner::FinishBatch() {
  const double progress = Progress();
  std::erase_if(batch_, [](const PlacetoEpisode& episode) { return episode.greedy || !episode.complete; });
  if (!batch_.empty()) {
    const UpdateRecord record = Learn(progress);
    log_.Append(record);
    if (on_update) on_update(record, batch_);
  }
  batch_.clear();
}

UpdateRecord PlacetoLearner::Learn(double progress) {
  UpdateRecord record;
  record.entropy_weight = options_.entropy.At(progress);
  record.learning_rate = options_.learning_rate.At(progress);
  for (const PlacetoEpisode& episode : batch_) {
    ++tasks_[static_cast<std::size_t>(episode.task)]->episodes;
    record.mean_cost += episode.costs.back() / static_cast<double>(batch_.size());
  }
  const std::vector<Chunk> chunks = MakeChunks();
  std::vector<ChunkResult> results(chunks.size());
  ParallelFor(chunks.size(), search_.threads, [&](std::size_t i, int) {
    UseOneTorchThread();
    results[i] = LearnChunk(chunks[i], record.entropy_weight);
  });
  // Summed in the order of the chunks, whatever thread made them.
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
  record.update = ++updates_;
  record.samples = SamplesSpent();
  for (const auto& state : tasks_) record.episodes += state->episodes;
  if (tasks_.size() == 1 && evaluators_.front()->has_best()) {
    record.best_us = sim::ToMicros(evaluators_.front()->best_runtime());
  }
  return record;
}

std::vector<PlacetoLearner::Chunk> PlacetoLearner::MakeChunks() {
  std::vector<Chunk> chunks;
  for (std::size_t task = 0; task < tasks_.size(); ++task) {
    std::vector<const PlacetoEpisode*> episodes;
    std::vector<std::vector<double>> returns;
    for (const PlacetoEpisode& episode : batch_) {
      if (static_cast<std::size_t>(episode.task) != task) continue;
      episodes.push_back(&episode);
      returns.push_back(ReturnsOfDecreases(episode.costs));
    }
    if (episodes.empty()) continue;
    const std::vector<double> baseline = tasks_[task]->baseline.Update(returns);
    const std::int64_t most =
        std::max<std::int64_t>(kRowsPerChunk / std::max<std::int64_t>(tasks_[task]->view.units(), 1), 1);
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
  const TaskState& state = *tasks_[chunk.task];
  std::vector<std::int64_t> actions;
  for (const auto& [episode, step] : chunk.states)
    actions.push_back(episode->actions[static_cast<std::size_t>(step)]);
  const at::Tensor logits =
      network_.Logits(state.graph, state.view.Features(chunk.states), state.view.UnitsInTurn(chunk.states));
  const ActionTerms terms = TermsOfActions(logits, actions, options_.entropy_floor);
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

std::int64_t PlacetoLearner::SamplesSpent() const {
  std::int64_t samples = 0;
  for (const Evaluator* evaluator : evaluators_) samples += evaluator->samples();
  return samples;
}

double PlacetoLearner::Progress() const {
  std::int64_t before = SamplesSpent(), budget = 0;
  for (const PlacetoEpisode& episode : batch_) before -= episode.samples();
  for (const Evaluator* evaluator : evaluators_) budget += evaluator->budget();
  return static_cast<double>(before) / static_cast<double>(std::max<std::int64_t>(budget, 1));
}

bool PlacetoLearner::StopRequested() const {
  return std::any_of(evaluators_.begin(), evaluators_.end(),
                     [](const Evaluator* evaluator) { return evaluator->stop_requested(); });
}

}  // namespace berth::agents::rl
