#include "agents/rl/placeto/placeto_learner.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <ATen/ATen.h>

#include "agents/placements.h"
#include "agents/rl/nn/categorical.h"
#include "sim/base/error.h"
#include "sim/base/parallel.h"

namespace stowplan::agents::rl {
namespace {

// Units x states of one chunk: its tensors stay in the cache, and its overhead is spread over many states.
constexpr std::int64_t kRowsPerChunk = 4096;

// Less their mean, in standard deviations; zeros where all are alike.
std::vector<double> Standardised(std::vector<double> values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double variance = 0;
  for (double& value : values) {
    value -= mean;
    variance += value * value / count;
  }
  for (double& value : values) value = variance > 0 ? value / std::sqrt(variance) : 0;
  return values;
}

// [decisions, devices, kOfferNumbers].
at::Tensor OfferTensor(const std::vector<float>& numbers, std::int64_t decisions) {
  return at::tensor(numbers).view({decisions, -1, kOfferNumbers});
}

// Sums decide where the network's own logits are of order 1; of 13 ratios the best on the graphs of cifar10 that no policy
// is trained on (results/agents/placeto.md).
constexpr float kGreedyOffers[kOfferNumbers] = {1000, 700};

PlacetoNetwork::Sizes SizesFor(const PlacetoOptions& options, const std::vector<const Task*>& tasks) {
  const std::int64_t devices = CommonDevices("placeto", tasks);
  return {.features = (options.memory ? 6 : 5) + devices,
          .devices = devices,
          .rounds = options.rounds,
          .mean = options.mean,
          .reach = options.reach,
          .offers = options.offers ? kOfferNumbers : 0,
          .follows = options.greedy_offers
                         ? std::vector<float>(std::begin(kGreedyOffers), std::end(kGreedyOffers))
                         : std::vector<float>{}};
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
      baseline(static_cast<std::size_t>(options.window)) {
  const auto units = static_cast<double>(view.units());
  const double moves = options.moves.first;
  if (moves > 0 && moves < units && view.devices() > 1) {
    stay = std::log((units / moves - 1) * static_cast<double>(view.devices() - 1));
  }
}

PlacetoLearner::PlacetoLearner(const PlacetoOptions& options, const std::vector<const Task*>& tasks,
                               const std::vector<Evaluator*>& evaluators, const SearchOptions& search)
    : Learner(options.name, tasks, evaluators, search),
      options_(options),
      start_rng_(search.seed, "placeto starts"),
      action_rng_(search.seed, "placeto actions"),
      network_(FreshNetwork(SizesFor(options, tasks), search.seed)),
      optimiser_(network_.parameters()) {
  // Its logit for staying belongs to the run and outweighs what the network has learned.
  if (options.moves.first > 0 && (tasks.size() > 1 || !search.learn)) {
    throw InputError(
        options.name +
        ": with moves above 0 it searches one graph from its best placement; weights for several graphs, or "
        "to be applied without learning, are those of placeto(preset=transfer)");
  }
  for (const Task* task : tasks) {
    states_.push_back(std::make_unique<TaskState>(*task, options));
    TaskState& state = *states_.back();
    for (int worker = 0; worker < options.episodes; ++worker) {
      state.starts.push_back(state.view.ToSlots(options.start == PlacetoOptions::Start::kSingle
                                                    ? SinglePlacement(*task)
                                                : worker == 0 ? StartPlacement(*task, search.seed)
                                                              : UniformPlacement(*task, start_rng_)));
    }
  }
}

bool PlacetoLearner::Step() {
  if (batch_.empty()) {
    part_spent_ = PartSpent();
    if (!PlanBatch()) return false;
  }
  Advance();
  if (!BatchDone()) return true;
  std::erase_if(batch_, [](const PlacetoEpisode& episode) { return episode.greedy || episode.cut; });
  if (!batch_.empty()) Learn();
  batch_.clear();
  return true;
}

std::vector<std::int32_t> PlacetoLearner::StartOf(std::size_t task, std::size_t worker) {
  const TaskState& state = *states_[task];
  if (options_.start == PlacetoOptions::Start::kRandomEach) {
    return state.view.ToSlots(UniformPlacement(state.view.task(), start_rng_));
  }
  if (options_.start == PlacetoOptions::Start::kBest && evaluator(task).has_best()) {
    return state.view.ToSlots(evaluator(task).best());
  }
  return state.starts[worker];
}

std::int64_t PlacetoLearner::GreedyDue(const TaskState& state) const {
  if (!search().learn) return 1;
  if (options_.greedy == 0) return 0;
  return state.episodes / options_.greedy + (options_.greedy_first ? 1 : 0);
}

void PlacetoLearner::AddEpisode(std::size_t task, std::size_t worker, bool greedy) {
  TaskState& state = *states_[task];
  PlacetoEpisode episode;
  episode.task = static_cast<std::int32_t>(task);
  episode.greedy = greedy;
  episode.length = state.view.steps();
  episode.start = StartOf(task, worker);
  episode.slots = episode.start;
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
    AddEpisode(task, 0, true);
    return true;
  }
  return false;
}

// One task per parallel episode, round robin over those with samples left.
bool PlacetoLearner::PlanSampled() {
  for (int worker = 0; worker < options_.episodes; ++worker) {
    for (std::size_t tried = 0; tried < states_.size(); ++tried) {
      const auto task = static_cast<std::size_t>(next_task_);
      next_task_ = (next_task_ + 1) % static_cast<std::int64_t>(states_.size());
      if (evaluator(task).remaining() == 0) continue;
      AddEpisode(task, static_cast<std::size_t>(worker), false);
      break;
    }
  }
  return !batch_.empty();
}

bool PlacetoLearner::BatchDone() const {
  return std::all_of(batch_.begin(), batch_.end(),
                     [](const PlacetoEpisode& episode) { return episode.done(); });
}

// One step of each episode that is not over; before the first one, the evaluation of its start.
void PlacetoLearner::Advance() {
  for (std::size_t task = 0; task < size(); ++task) {
    std::vector<PlacetoEpisode*> episodes;
    for (PlacetoEpisode& episode : batch_) {
      if (!episode.done() && static_cast<std::size_t>(episode.task) == task) episodes.push_back(&episode);
    }
    if (episodes.empty()) continue;
    if (!episodes.front()->costs.empty()) Act(*states_[task], episodes);
    Sample(task, episodes);
  }
}

// Notes where the episode is now if that need not be evaluated.
bool PlacetoLearner::IsKnown(const TaskState& state, PlacetoEpisode& episode) const {
  if (options_.repeats || (episode.steps == episode.length && episode.spent == 0)) return false;
  if (episode.costs.empty()) {
    if (episode.slots != state.best.slots) return false;
    episode.Append(state.best);
    return true;
  }
  if (episode.moved.back() != 0) return false;
  episode.Repeat();
  return true;
}

void PlacetoLearner::Sample(std::size_t task, const std::vector<PlacetoEpisode*>& episodes) {
  TaskState& state = *states_[task];
  std::vector<PlacetoEpisode*> asking;
  std::vector<UnitPlacement> placements;
  for (PlacetoEpisode* episode : episodes) {
    if (IsKnown(state, *episode)) continue;
    asking.push_back(episode);
    placements.push_back(state.view.ToPlacement(episode->slots));
  }
  std::vector<Evaluation> evaluations;
  if (!asking.empty() && evaluator(task).remaining() > 0) {
    evaluations = evaluator(task).EvaluateBatch(placements, state.view.wants_starts());
  }
  for (std::size_t i = 0; i < asking.size(); ++i) {
    PlacetoEpisode& episode = *asking[i];
    episode.cut = i >= evaluations.size();
    if (episode.cut) continue;
    const PlacetoSample sample = state.view.SampleOf(episode.slots, evaluations[i]);
    if (evaluator(task).has_best() && evaluator(task).best() == placements[i]) state.best = sample;
    episode.Append(sample);
    ++episode.spent;
  }
  for (const PlacetoEpisode* episode : episodes) {
    if (episode->done()) evaluator(task).CountProposal();
  }
}

// The episodes of a task act together: what torch asks for a call is paid once for all of them.
void PlacetoLearner::Act(const TaskState& state, const std::vector<PlacetoEpisode*>& episodes) {
  const c10::InferenceMode no_gradients;
  const std::int64_t step = episodes.front()->steps;
  const std::span<const UnitIndex> units = state.view.UnitsOfStep(step);
  std::vector<PlacetoView::State> states;
  for (PlacetoEpisode* episode : episodes) {
    episode->moved.push_back(0);
    states.push_back({episode, step});
  }
  // By episode, then by unit. A greedy pass is alone and draws nothing, so that it does not move the draws of the
  // episodes after it.
  STOWPLAN_CHECK(!episodes.front()->greedy || episodes.size() == 1);
  std::vector<double> uniforms(episodes.front()->greedy ? 0 : episodes.size() * units.size());
  for (double& uniform : uniforms) uniform = action_rng_.Uniform();
  const PlacetoNetwork::Preferences read =
      network_.Read(state.graph, state.view.Features(states), state.view.UnitsInTurn(states), state.stay);
  if (!state.view.offers()) {
    Draw(episodes, units, read.With(), uniforms);
  } else {
    DrawWithOffers(state, episodes, read, uniforms);
  }
  for (PlacetoEpisode* episode : episodes) ++episode->steps;
}

// Unit after unit: each is offered what those before it have left.
void PlacetoLearner::DrawWithOffers(const TaskState& state, const std::vector<PlacetoEpisode*>& episodes,
                                    const PlacetoNetwork::Preferences& read,
                                    std::span<const double> uniforms) {
  const std::int64_t step = episodes.front()->steps;
  const std::span<const UnitIndex> units = state.view.UnitsOfStep(step);
  std::vector<UnitSchedule> schedules;
  for (const PlacetoEpisode* episode : episodes) {
    schedules.push_back(state.view.ScheduleBefore(episode->slots, step));
  }
  for (std::size_t i = 0; i < units.size(); ++i) {
    const UnitIndex unit = units[i];
    std::vector<std::vector<UnitSchedule::Offer>> offers;
    std::vector<float> numbers;
    std::vector<double> drawn_by;
    for (std::size_t e = 0; e < episodes.size(); ++e) {
      offers.push_back(schedules[e].OffersFor(unit));
      const std::vector<float> own = state.view.OfferNumbers(unit, offers[e]);
      episodes[e]->offers.insert(episodes[e]->offers.end(), own.begin(), own.end());
      numbers.insert(numbers.end(), own.begin(), own.end());
      if (!uniforms.empty()) drawn_by.push_back(uniforms[e * units.size() + i]);
    }
    const at::Tensor offered = OfferTensor(numbers, static_cast<std::int64_t>(episodes.size()));
    const PlacetoNetwork::Preferences own =
        read.OfUnit(static_cast<std::int64_t>(i), static_cast<std::int64_t>(units.size()));
    Draw(episodes, {&unit, 1}, own.With(offered), drawn_by);
    for (std::size_t e = 0; e < episodes.size(); ++e) {
      const auto slot = static_cast<std::size_t>(episodes[e]->slots[static_cast<std::size_t>(unit)]);
      schedules[e].Place(unit, slot, offers[e][slot]);
    }
  }
}

// The devices of `units` in each of `episodes` by `logits` [episodes * units, devices].
void PlacetoLearner::Draw(const std::vector<PlacetoEpisode*>& episodes, std::span<const UnitIndex> units,
                          const at::Tensor& logits, std::span<const double> uniforms) {
  const at::Tensor wide = logits.to(at::kDouble);
  const at::Tensor chances = wide.softmax(-1).contiguous();
  const double* chance = chances.data_ptr<double>();
  const DrawnActions drawn = DrawActions(wide, uniforms);
  CheckFinite(drawn.log_probability, name(), updates());
  const std::int64_t* slot = drawn.actions.data_ptr<std::int64_t>();
  const double* log_probability = drawn.log_probability.data_ptr<double>();
  for (PlacetoEpisode* episode : episodes) {
    for (const UnitIndex unit : units) {
      std::int32_t& now = episode->slots[static_cast<std::size_t>(unit)];
      episode->expected_moves += 1 - chance[now];
      if (now != *slot) episode->moved.back() = 1;
      now = static_cast<std::int32_t>(*slot);
      episode->actions.push_back(*slot++);
      episode->log_probabilities.push_back(*log_probability++);
      chance += logits.size(1);
    }
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
    decisions += static_cast<double>(chunks[c].advantages.size());
  }
  record.entropy /= std::max(decisions, 1.0);
  record.gradient_norm = optimiser_.Step(gradients, record.learning_rate, options_.clip);
  SteerMoves();
  for (const auto& state : states_) record.episodes += state->episodes;
  Log(record);
}

// Learning says which units move, the logit for staying how many: learned alone, a policy that starts from the
// best placement soon moves none.
void PlacetoLearner::SteerMoves() {
  if (options_.moves.first == 0) return;
  const double wanted = options_.moves.At(part_spent_);
  for (std::size_t task = 0; task < size(); ++task) {
    const Episodes episodes = EpisodesOf(task);
    if (episodes.empty()) continue;
    double moves = 0;
    for (const PlacetoEpisode* episode : episodes) moves += episode->expected_moves;
    moves /= static_cast<double>(episodes.size()) * options_.passes;
    states_[task]->stay += 0.5 * std::log(std::clamp(moves / wanted, 0.1, 10.0));
  }
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

PlacetoLearner::Episodes PlacetoLearner::EpisodesOf(std::size_t task) const {
  Episodes episodes;
  for (const PlacetoEpisode& episode : batch_) {
    if (static_cast<std::size_t>(episode.task) == task) episodes.push_back(&episode);
  }
  return episodes;
}

std::vector<double> PlacetoLearner::ReturnsOf(const PlacetoEpisode& episode) const {
  switch (options_.reward) {
    case PlacetoOptions::Reward::kDecrease:
      return ReturnsOfDecreases(episode.costs);
    case PlacetoOptions::Reward::kBestLater:
      return ReturnsToTheBestLater(episode.costs);
    case PlacetoOptions::Reward::kFinal:
      break;
  }
  return std::vector<double>(episode.costs.size() - 1, -episode.costs.back());
}

// [episode][step]
std::vector<std::vector<double>> PlacetoLearner::AdvantagesOf(TaskState& state,
                                                              const Episodes& episodes) const {
  std::vector<std::vector<double>> advantages;
  for (const PlacetoEpisode* episode : episodes) advantages.push_back(ReturnsOf(*episode));
  if (options_.baseline == PlacetoOptions::Baseline::kStep) {
    const std::vector<double> baseline = state.baseline.Update(advantages);
    for (std::vector<double>& row : advantages) {
      for (std::size_t t = 0; t < row.size(); ++t) row[t] -= baseline[t];
    }
    return advantages;
  }
  std::vector<double> of_moves;
  for (std::size_t e = 0; e < episodes.size(); ++e) {
    for (std::size_t t = 0; t < advantages[e].size(); ++t) {
      if (episodes[e]->moved[t] != 0) of_moves.push_back(advantages[e][t]);
    }
  }
  const std::vector<double> standardised = Standardised(of_moves);
  auto next = standardised.begin();
  for (std::size_t e = 0; e < episodes.size(); ++e) {
    for (std::size_t t = 0; t < advantages[e].size(); ++t) {
      advantages[e][t] = episodes[e]->moved[t] != 0 ? *next++ : 0;
    }
  }
  return advantages;
}

// Step by step, the episodes of a task together: a chunk has equally many units in turn in each state.
std::vector<PlacetoLearner::Chunk> PlacetoLearner::MakeChunks() {
  std::vector<Chunk> chunks;
  for (std::size_t task = 0; task < size(); ++task) {
    TaskState& state = *states_[task];
    const Episodes episodes = EpisodesOf(task);
    if (episodes.empty()) continue;
    const std::vector<std::vector<double>> advantages = AdvantagesOf(state, episodes);
    const auto most = static_cast<std::size_t>(
        std::max<std::int64_t>(kRowsPerChunk / std::max<std::int64_t>(state.view.units(), 1), 1));
    std::size_t in_turn = 0;  // in the states of the last chunk
    for (std::int64_t step = 0; step < state.view.steps(); ++step) {
      const std::size_t units = state.view.UnitsOfStep(step).size();
      for (std::size_t e = 0; e < episodes.size(); ++e) {
        if (units != in_turn || chunks.back().states.size() == most) chunks.push_back({task, {}, {}});
        in_turn = units;
        Chunk& chunk = chunks.back();
        chunk.states.push_back({episodes[e], step});
        chunk.advantages.insert(chunk.advantages.end(), units, advantages[e][static_cast<std::size_t>(step)]);
      }
    }
  }
  return chunks;
}

PlacetoLearner::ChunkResult PlacetoLearner::LearnChunk(const Chunk& chunk, double entropy_weight) const {
  const TaskState& state = *states_[chunk.task];
  std::vector<std::int64_t> actions;
  std::vector<double> drawn;
  std::vector<float> offers;
  for (const auto& [episode, step] : chunk.states) {
    const std::size_t first = state.view.FirstDecision(step);
    for (std::size_t i = first; i < first + state.view.UnitsOfStep(step).size(); ++i) {
      actions.push_back(episode->actions[i]);
      drawn.push_back(episode->log_probabilities[i]);
      if (!state.view.offers()) continue;
      const auto count = static_cast<std::size_t>(state.view.devices() * kOfferNumbers);
      const auto numbers = std::span(episode->offers).subspan(i * count, count);
      offers.insert(offers.end(), numbers.begin(), numbers.end());
    }
  }
  const PlacetoNetwork::Preferences read = network_.Read(state.graph, state.view.Features(chunk.states),
                                                         state.view.UnitsInTurn(chunk.states), state.stay);
  const at::Tensor logits = read.With(
      offers.empty() ? at::Tensor() : OfferTensor(offers, static_cast<std::int64_t>(actions.size())));
  const ActionTerms terms = TermsOfActions(logits, IndexTensor(actions), options_.entropy_floor);
  const at::Tensor loss = PolicyLoss(terms, chunk.advantages, entropy_weight);
  ChunkResult result;
  result.gradients = Gradients(loss, network_.parameters());
  result.loss = loss.item<double>();
  result.entropy = terms.entropy.sum().item<double>();
  const at::Tensor learned = terms.log_probability.detach().to(at::kDouble).contiguous();
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    result.drift = std::max(result.drift, std::abs(learned.data_ptr<double>()[i] - drawn[i]));
  }
  return result;
}

}  // namespace stowplan::agents::rl
