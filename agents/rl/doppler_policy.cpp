#include "agents/rl/doppler_policy.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "agents/rl/features/unit_features.h"
#include "agents/rl/learner.h"
#include "agents/rl/nn/categorical.h"
#include "sim/base/error.h"

namespace stowplan::agents::rl {
namespace {

constexpr std::int64_t kUnitFeatures = 5;
constexpr double kSlope = 0.1;      // of the rectifiers below zero
constexpr double kNoChoice = -1e9;  // logit: probability 0, and a finite logarithm
constexpr double kLeastVariance = 1e-6;

at::Tensor Rectified(const at::Tensor& x) {
  return at::leaky_relu(x, kSlope);
}

Tensors Joined(const std::vector<Tensors>& parts) {
  Tensors all;
  for (const Tensors& part : parts) Append(all, part);
  return all;
}

at::Tensor ColumnsOf(const std::vector<std::vector<double>>& columns) {
  std::vector<at::Tensor> tensors;
  for (const std::vector<double>& column : columns) tensors.push_back(at::tensor(column, at::kDouble));
  return at::stack(tensors, 1);
}

double SignedLog(double x) {
  return x < 0 ? -std::log1p(-x) : std::log1p(x);
}

// The first `measured` of each device's numbers, compared over the devices as DopplerOptions::deviations says.
void Scale(float* offers, std::int64_t devices, std::int64_t features, std::int64_t measured, bool deviations,
           double length) {
  for (std::int64_t f = 0; f < measured; ++f) {
    double mean = 0, squares = 0;
    for (std::int64_t d = 0; d < devices; ++d)
      mean += offers[d * features + f] / static_cast<double>(devices);
    for (std::int64_t d = 0; d < devices; ++d) {
      const double x = offers[d * features + f] - mean;
      squares += x * x / static_cast<double>(devices);
    }
    // Numbers that should be equal differ by rounding.
    const double deviation = std::sqrt(squares) > 1e-6 * std::abs(mean) ? std::sqrt(squares) : 0;
    for (std::int64_t d = 0; d < devices; ++d) {
      float& x = offers[d * features + f];
      const double above = deviation == 0 ? 0 : x - mean;
      x = static_cast<float>(deviations ? above / std::max(deviation, 1e-30) : SignedLog(above / length));
    }
  }
}

}  // namespace

struct DopplerPolicy::Encoder::Graph {
  at::Tensor features;            // [units, kUnitFeatures]
  at::Tensor senders, receivers;  // [2 * edges]: along the edges, then against them
  at::Tensor weights;             // [edges, 1]: standardised transfer times
  at::Tensor shares;              // [2 * units, 1]: 1 / number of edges that end (begin) there, at least 1
};

struct DopplerPolicy::TaskState {
  explicit TaskState(const Task& given);

  const Task& task;
  UnitScheduleGraph schedule;
  double mean_length;  // of a unit [ps]
  Encoder::Graph graph;
  at::Tensor bottom_paths,
      top_paths;  // [units, units] of 0 and 1: what is on the longest path from and to a unit
};

DopplerPolicy::TaskState::TaskState(const Task& given) : task(given), schedule(given) {
  const auto units = static_cast<std::int64_t>(schedule.units());
  std::vector<std::vector<double>> columns(kUnitFeatures,
                                           std::vector<double>(static_cast<std::size_t>(units), 0));
  std::vector<std::int64_t> from, to;
  std::vector<double> weights;
  std::vector<double> shares(static_cast<std::size_t>(2 * units), 0);
  double sum = 0;
  for (UnitIndex unit = 0; unit < units; ++unit) {
    const auto u = static_cast<std::size_t>(unit);
    columns[0][u] = static_cast<double>(schedule.MeanLength(unit));
    columns[1][u] = static_cast<double>(schedule.Bottom(unit).length);
    columns[2][u] = static_cast<double>(schedule.Top(unit).length);
    sum += columns[0][u];
    for (const auto& input : schedule.InputsOf(unit)) {
      const auto i = static_cast<std::size_t>(input.unit);
      columns[3][u] += static_cast<double>(input.mean_transfer);
      columns[4][i] += static_cast<double>(input.mean_transfer);
      from.push_back(input.unit);
      to.push_back(unit);
      weights.push_back(static_cast<double>(input.mean_transfer));
      ++shares[u];
      ++shares[static_cast<std::size_t>(units) + i];
    }
  }
  mean_length = std::max(sum / static_cast<double>(units), 1.0);
  for (double& share : shares) share = 1 / std::max(share, 1.0);
  graph.features = Standardised(ColumnsOf(columns)).to(at::kFloat);
  graph.senders = at::cat({IndexTensor(from), IndexTensor(to)});
  std::vector<std::int64_t> ends = to;  // rows of the second half are those of the way back
  for (const std::int64_t unit : from) ends.push_back(units + unit);
  graph.receivers = IndexTensor(ends);
  graph.weights = weights.empty()
                      ? at::zeros({0, 1})
                      : Standardised(at::tensor(weights, at::kDouble).unsqueeze(1)).to(at::kFloat);
  graph.shares = at::tensor(shares, at::kDouble).to(at::kFloat).unsqueeze(1);

  const auto paths = [&](auto level) {
    std::vector<std::int64_t> row, column;
    for (UnitIndex unit = 0; unit < units; ++unit) {
      std::vector<std::int64_t> on;
      for (UnitIndex at = unit; at >= 0; at = level(at).next) on.push_back(at);
      std::sort(on.begin(), on.end());
      row.insert(row.end(), on.size(), unit);
      column.insert(column.end(), on.begin(), on.end());
    }
    return IncidenceMatrix(row, column, units, units, at::kFloat);
  };
  bottom_paths = paths([&](UnitIndex unit) { return schedule.Bottom(unit); });
  top_paths = paths([&](UnitIndex unit) { return schedule.Top(unit); });
}

DopplerPolicy::Encoder::Encoder(std::int64_t width, int rounds, Rng& init)
    : own_({kUnitFeatures, width}, 1, at::kFloat, init), input_({kUnitFeatures, width}, 1, at::kFloat, init) {
  Append(parameters_, own_.parameters());
  Append(parameters_, input_.parameters());
  for (int i = 0; i < rounds; ++i) {
    messages_.push_back(Mlp({width, width}, 2, at::kFloat, init));
    edges_.push_back(Mlp({1, 2 * width}, 1, at::kFloat, init));
    combine_.push_back(Mlp({3 * width, width}, 1, at::kFloat, init));
    for (const Mlp* part : {&messages_.back(), &edges_.back(), &combine_.back()})
      Append(parameters_, part->parameters());
  }
}

// h + rectified W [h, mean over the units before of rectified (A h + a e), mean over those after of rectified (B h + b e)].
DopplerPolicy::Encoder::Encoded DopplerPolicy::Encoder::Forward(const Graph& graph) const {
  const std::int64_t units = graph.features.size(0), edges = graph.weights.size(0);
  at::Tensor h = Rectified(input_.Forward(graph.features));
  const std::int64_t width = h.size(1);
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    const at::Tensor sent = messages_[i].Forward(h.expand({2, units, width}));
    const at::Tensor weights = edges_[i].Forward(graph.weights);
    const at::Tensor along =
        sent[0].index_select(0, graph.senders.narrow(0, 0, edges)) + weights.narrow(1, 0, width);
    const at::Tensor against =
        sent[1].index_select(0, graph.senders.narrow(0, edges, edges)) + weights.narrow(1, width, width);
    const at::Tensor received = at::zeros({2 * units, width}, h.options())
                                    .index_add(0, graph.receivers, Rectified(at::cat({along, against}))) *
                                graph.shares;
    h = h + Rectified(combine_[i].Forward(
                at::cat({h, received.narrow(0, 0, units), received.narrow(0, units, units)}, 1)));
  }
  return {Rectified(own_.Forward(graph.features)), h};
}

struct DopplerPolicy::Steps {
  Steps(std::int64_t walks, std::int64_t steps, std::int64_t window, std::int64_t devices,
        std::int64_t features)
      : candidates(at::zeros({walks, steps, window}, at::kLong)),
        closed(at::ones({walks, steps, window}, at::kBool)),
        taken(at::zeros({walks, steps}, at::kLong)),
        units(at::zeros({walks, steps}, at::kLong)),
        slots(at::zeros({walks, steps}, at::kLong)),
        offers(at::zeros({walks, steps, devices, features}, at::kFloat)),
        unit_logs(at::zeros({walks, steps}, at::kDouble)),
        slot_logs(at::zeros({walks, steps}, at::kDouble)),
        path_choices(at::zeros({walks, steps, window}, at::kFloat)),
        start_choices(at::zeros({walks, steps, devices}, at::kFloat)) {}

  at::Tensor candidates;  // units
  at::Tensor closed;      // true: there is no such candidate
  at::Tensor taken;       // which candidate
  at::Tensor units, slots;
  at::Tensor offers;
  at::Tensor unit_logs, slot_logs;         // log-probabilities; of Walk() alone
  at::Tensor path_choices, start_choices;  // 1 for each that the heuristic could choose
};

namespace {

// One walk and what it writes into the rows of a batch.
class Walker {
 public:
  Walker(const UnitScheduleGraph& graph, const DopplerOptions& options, double mean_length)
      : graph_(graph), schedule_(graph), options_(options), mean_length_(mean_length) {}

  const std::vector<UnitIndex>& See(std::int64_t* candidates, bool* closed, float* choices) {
    ready_ = schedule_.Ready(static_cast<std::size_t>(options_.window));
    const sim::Picos longest = graph_.Bottom(ready_.front()).length;
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      candidates[i] = ready_[i];
      closed[i] = false;
      choices[i] = graph_.Bottom(ready_[i]).length == longest ? 1.0F : 0.0F;
    }
    return ready_;
  }

  void Ask(UnitIndex unit, float* offers, std::int64_t features, float* choices) {
    offers_ = schedule_.OffersFor(unit);
    sim::Picos first = offers_.front().end;
    for (const auto& offer : offers_) first = std::min(first, offer.end);
    for (std::size_t d = 0; d < offers_.size(); ++d) {
      const UnitSchedule::Offer& offer = offers_[d];
      float* const to = offers + static_cast<std::int64_t>(d) * features;
      std::int64_t f = 0;
      for (const sim::Picos time :
           {offer.work, offer.input_work, offer.first_start, offer.last_end, offer.end})
        to[f++] = static_cast<float>(time);
      if (options_.neighbour) {
        to[f++] = offer.heaviest ? 1.0F : 0.0F;
        to[f++] = static_cast<float>(offer.input_part);
      }
      choices[d] = offer.end == first ? 1.0F : 0.0F;
    }
    Scale(offers, static_cast<std::int64_t>(offers_.size()), features, 5, options_.deviations, mean_length_);
  }

  void Place(UnitIndex unit, std::int64_t slot) {
    schedule_.Place(unit, static_cast<std::size_t>(slot), offers_[static_cast<std::size_t>(slot)]);
  }

 private:
  const UnitScheduleGraph& graph_;
  UnitSchedule schedule_;
  const DopplerOptions& options_;
  double mean_length_;
  std::vector<UnitIndex> ready_;
  std::vector<UnitSchedule::Offer> offers_;
};

}  // namespace

struct DopplerPolicy::Placing {
  at::Tensor embedding;  // [units, width]
  at::Tensor unit;       // [units, hidden]: a unit's part of the layer before the last
};

DopplerPolicy::DopplerPolicy(const DopplerOptions& options, const std::vector<const Task*>& tasks, Rng& init)
    : options_(options),
      devices_(CommonDevices("doppler", tasks)),
      tasks_(tasks),
      select_(options.width, options.rounds, init),
      place_(options.width, options.rounds, init),
      score_({4 * options.width, options.hidden, 1}, 1, at::kFloat, init),
      offer_({features(), options.width}, 1, at::kFloat, init),
      from_unit_({2 * options.width, options.hidden}, 1, at::kFloat, init),
      from_offer_({options.width, options.hidden}, 1, at::kFloat, init),
      from_sums_({options.width, options.hidden}, 1, at::kFloat, init),
      last_({options.hidden, 1}, 1, at::kFloat, init),
      parameters_(Joined({select_.parameters(), place_.parameters(), score_.parameters(), offer_.parameters(),
                          from_unit_.parameters(), from_offer_.parameters(), from_sums_.parameters(),
                          last_.parameters()})),
      rng_(init.Next(), "imitation"),
      optimiser_(parameters_),
      imitated_(!options.imitate) {
  for (const Task* task : tasks) states_.push_back(std::make_unique<TaskState>(*task));
}

DopplerPolicy::~DopplerPolicy() = default;

at::Tensor DopplerPolicy::Scores(const TaskState& state) const {
  const Encoder::Encoded units = select_.Forward(state.graph);
  const auto along = [&](const at::Tensor& paths) {
    const at::Tensor sums = at::mm(paths, units.embedding);
    const at::Tensor centred = sums - sums.mean(0, true);
    return centred / (centred.square().mean(0, true) + kLeastVariance).sqrt();
  };
  return score_
      .Forward(at::cat({units.own, units.embedding, along(state.bottom_paths), along(state.top_paths)}, 1))
      .squeeze(1);
}

DopplerPolicy::Placing DopplerPolicy::Prepare(const TaskState& state) const {
  const Encoder::Encoded units = place_.Forward(state.graph);
  return {units.embedding, from_unit_.Forward(at::cat({units.own, units.embedding}, 1))};
}

at::Tensor DopplerPolicy::Logits(const Placing& placing, const at::Tensor& units, const at::Tensor& offers,
                                 const at::Tensor& sums, const at::Tensor& step) const {
  const std::int64_t rows = units.size(0), all = rows * devices_;
  const at::Tensor offered =
      from_offer_.Forward(Rectified(offer_.Forward(offers.reshape({all, features()}))));
  const at::Tensor centred = sums - sums.mean(1, true);
  const at::Tensor scaled = options_.deviations
                                ? centred / (centred.square().mean(1, true) + kLeastVariance).sqrt()
                                : centred / (step + 1).sqrt().view({-1, 1, 1});
  const at::Tensor there = from_sums_.Forward(scaled.reshape({all, options_.width}));
  const at::Tensor unit = placing.unit.index_select(0, units).unsqueeze(1);
  const at::Tensor h = Rectified((offered + there).view({rows, devices_, options_.hidden}) + unit);
  return last_.Forward(h.view({all, options_.hidden})).view({rows, devices_});
}

DopplerPolicy::Steps DopplerPolicy::Walk(std::size_t task, std::int64_t count, Mode mode, double epsilon,
                                         Rng* rng) const {
  const at::NoGradGuard no_grad;
  const TaskState& state = *states_[task];
  const std::int64_t units = state.schedule.units(), f = features(), width = options_.width;
  const std::int64_t window = std::min<std::int64_t>(options_.window, units);
  Steps steps(count, units, window, devices_, f);
  const at::Tensor scores = Scores(state);
  const Placing placing = Prepare(state);
  std::vector<Walker> walkers(static_cast<std::size_t>(count),
                              Walker(state.schedule, options_, state.mean_length));
  at::Tensor sums = at::zeros({count, devices_, width});
  const at::Tensor embedding = placing.embedding.contiguous();
  // One action for each row, the mode's; `open` says how many of the first columns there are.
  const auto act = [&](const at::Tensor& logits, const std::vector<std::size_t>& open) {
    DrawnActions drawn = DrawActions(logits, mode == Mode::kSample ? rng : nullptr);
    CheckFinite(drawn.log_probability, "doppler", iteration_);
    // Where scores are below that of no choice.
    for (std::size_t row = 0; row < open.size(); ++row) {
      if (drawn.actions.data_ptr<std::int64_t>()[row] >= static_cast<std::int64_t>(open[row]))
        throw RunError("doppler: the policy's numbers have left their range; a lower lr keeps them there");
    }
    if (mode != Mode::kEpsilon) return drawn;
    const at::Tensor logs = logits.to(at::kDouble).log_softmax(-1);
    for (std::int64_t row = 0; row < count; ++row) {
      if (rng->Uniform() >= epsilon) continue;
      const auto action = static_cast<std::int64_t>(rng->Below(open[static_cast<std::size_t>(row)]));
      drawn.actions[row] = action;
      drawn.log_probability[row] = logs[row][action];
    }
    return drawn;
  };
  std::vector<std::size_t> open(static_cast<std::size_t>(count));
  const std::vector<std::size_t> all_devices(open.size(), static_cast<std::size_t>(devices_));
  at::Tensor offers = at::zeros({count, devices_, f});
  for (std::int64_t step = 0; step < units; ++step) {
    const auto at_step = [&](const at::Tensor& all) { return all.select(1, step); };
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t row = (i * units + step) * window;
      open[static_cast<std::size_t>(i)] =
          walkers[static_cast<std::size_t>(i)]
              .See(steps.candidates.data_ptr<std::int64_t>() + row, steps.closed.data_ptr<bool>() + row,
                   steps.path_choices.data_ptr<float>() + row)
              .size();
    }
    const at::Tensor candidates = at_step(steps.candidates);
    const DrawnActions which = act(scores.index_select(0, candidates.reshape({-1}))
                                       .view({count, window})
                                       .masked_fill(at_step(steps.closed), kNoChoice),
                                   open);
    at_step(steps.taken).copy_(which.actions);
    at_step(steps.unit_logs).copy_(which.log_probability);
    const at::Tensor chosen = candidates.gather(1, which.actions.unsqueeze(1)).squeeze(1);
    at_step(steps.units).copy_(chosen);
    for (std::int64_t i = 0; i < count; ++i) {
      walkers[static_cast<std::size_t>(i)].Ask(
          static_cast<UnitIndex>(chosen.data_ptr<std::int64_t>()[i]),
          offers.data_ptr<float>() + i * devices_ * f, f,
          steps.start_choices.data_ptr<float>() + (i * units + step) * devices_);
    }
    at_step(steps.offers).copy_(offers);
    const DrawnActions where =
        act(Logits(placing, chosen, offers, sums, at::full({1}, static_cast<float>(step))), all_devices);
    at_step(steps.slots).copy_(where.actions);
    at_step(steps.slot_logs).copy_(where.log_probability);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t unit = chosen.data_ptr<std::int64_t>()[i],
                         slot = where.actions.data_ptr<std::int64_t>()[i];
      walkers[static_cast<std::size_t>(i)].Place(static_cast<UnitIndex>(unit), slot);
      float* const sum = sums.data_ptr<float>() + (i * devices_ + slot) * width;
      const float* const own = embedding.data_ptr<float>() + unit * width;
      for (std::int64_t k = 0; k < width; ++k) sum[k] += own[k];
    }
  }
  return steps;
}

DopplerPolicy::Steps DopplerPolicy::Replay(std::size_t task, const Draws& draws) const {
  const TaskState& state = *states_[task];
  const std::int64_t units = state.schedule.units(), f = features();
  const std::int64_t window = std::min<std::int64_t>(options_.window, units);
  Steps steps(draws.size(), units, window, devices_, f);
  steps.units = draws.kinds[0].actions.contiguous();
  steps.slots = draws.kinds[1].actions.contiguous();
  for (std::int64_t i = 0; i < draws.size(); ++i) {
    Walker walker(state.schedule, options_, state.mean_length);
    for (std::int64_t row = i * units; row < (i + 1) * units; ++row) {
      const auto unit = static_cast<UnitIndex>(steps.units.data_ptr<std::int64_t>()[row]);
      const auto& ready = walker.See(steps.candidates.data_ptr<std::int64_t>() + row * window,
                                     steps.closed.data_ptr<bool>() + row * window,
                                     steps.path_choices.data_ptr<float>() + row * window);
      const auto taken = std::find(ready.begin(), ready.end(), unit);
      STOWPLAN_CHECK(taken != ready.end());
      steps.taken.data_ptr<std::int64_t>()[row] = taken - ready.begin();
      walker.Ask(unit, steps.offers.data_ptr<float>() + row * devices_ * f, f,
                 steps.start_choices.data_ptr<float>() + row * devices_);
      walker.Place(unit, steps.slots.data_ptr<std::int64_t>()[row]);
    }
  }
  return steps;
}

DopplerPolicy::AllLogits DopplerPolicy::LogitsOf(std::size_t task, const Steps& steps) const {
  const TaskState& state = *states_[task];
  const std::int64_t walks = steps.units.size(0), count = steps.units.size(1), width = options_.width;
  const at::Tensor selected = Scores(state)
                                  .index_select(0, steps.candidates.reshape({-1}))
                                  .view(steps.candidates.sizes())
                                  .masked_fill(steps.closed, kNoChoice);
  const Placing placing = Prepare(state);
  const at::Tensor units = steps.units.reshape({-1});
  // What is on each device before each step: the embeddings of the steps before, added up.
  const at::Tensor added = placing.embedding.index_select(0, units).view({walks, count, 1, width}) *
                           at::one_hot(steps.slots, devices_).to(at::kFloat).unsqueeze(-1);
  const at::Tensor sums =
      at::cat({at::zeros({walks, 1, devices_, width}), added.narrow(1, 0, count - 1)}, 1).cumsum(1);
  const at::Tensor step = at::arange(count, at::kFloat).expand({walks, count}).reshape({-1});
  const at::Tensor placed = Logits(placing, units, steps.offers.view({walks * count, devices_, features()}),
                                   sums.view({walks * count, devices_, width}), step);
  return {selected, placed.view({walks, count, devices_})};
}

Draws DopplerPolicy::Draw(std::size_t task, std::int64_t count, const Moment& moment, Rng* rng) {
  const Mode mode = rng == nullptr ? Mode::kLikeliest : options_.greedy ? Mode::kEpsilon : Mode::kSample;
  const Steps steps = Walk(task, count, mode, options_.epsilon * (1 - moment.part_spent), rng);
  Draws draws;
  draws.kinds = {{steps.units, steps.unit_logs, {}}, {steps.slots, steps.slot_logs, {}}};
  const Task& on = *tasks_[task];
  for (std::int64_t i = 0; i < count; ++i) {
    UnitPlacement placement(on.units.ops.size());
    for (std::int64_t step = 0; step < steps.units.size(1); ++step) {
      const std::int64_t row = i * steps.units.size(1) + step;
      placement[static_cast<std::size_t>(steps.units.data_ptr<std::int64_t>()[row])] =
          on.devices[static_cast<std::size_t>(steps.slots.data_ptr<std::int64_t>()[row])];
    }
    draws.placements.push_back(std::move(placement));
  }
  return draws;
}

std::vector<ActionTerms> DopplerPolicy::Evaluate(std::size_t task, const Draws& draws) const {
  const Steps steps = Replay(task, draws);
  const AllLogits logits = LogitsOf(task, steps);
  return {TermsOfActions(logits.units, steps.taken), TermsOfActions(logits.devices, steps.slots)};
}

std::optional<double> DopplerPolicy::Pretrain() {
  if (imitated_) return std::nullopt;
  const double left = 1 - static_cast<double>(iteration_) / options_.iterations;
  at::Tensor loss = at::scalar_tensor(0.0, at::kFloat);
  for (std::size_t task = 0; task < tasks_.size(); ++task) {
    const Steps steps = Walk(task, options_.walks, Mode::kEpsilon, left, &rng_);
    const AllLogits logits = LogitsOf(task, steps);
    // The cross-entropy with an even draw from what the heuristic could choose, smoothed.
    const auto add = [&](const at::Tensor& of, const at::Tensor& choices, const at::Tensor& open) {
      const at::Tensor target = (1 - options_.smoothing) * choices / choices.sum(-1, true) +
                                options_.smoothing * open / open.sum(-1, true);
      loss = loss - (target * of.log_softmax(-1)).sum(-1).mean() / static_cast<double>(tasks_.size());
    };
    add(logits.units, steps.path_choices, steps.closed.logical_not().to(at::kFloat));
    add(logits.devices, steps.start_choices, at::ones_like(steps.start_choices));
  }
  optimiser_.Step(Gradients(loss, parameters_), options_.imitation_rate * left, /*clip=*/1);
  imitated_ = ++iteration_ == options_.iterations;
  return loss.item<double>();
}

DopplerPolicy::Agreement DopplerPolicy::AgreementWithHeuristic(std::size_t task, std::int64_t count,
                                                               double epsilon, Rng& rng) const {
  const at::NoGradGuard no_grad;
  const Steps steps = Walk(task, count, Mode::kEpsilon, epsilon, &rng);
  const AllLogits logits = LogitsOf(task, steps);
  const auto part = [](const at::Tensor& of, const at::Tensor& choices) {
    return choices.gather(-1, of.argmax(-1, true)).mean().item<double>();
  };
  return {part(logits.units, steps.path_choices), part(logits.devices, steps.start_choices)};
}

void DopplerPolicy::Save(StateWriter& out) const {
  out.Put(devices_);
  SaveTensors(parameters_, out);
}

void DopplerPolicy::Load(StateReader& in) {
  if (in.Get<std::int64_t>() != devices_) in.Fail("it places on another number of devices");
  LoadTensors(in, parameters_);
  imitated_ = true;
}

void DopplerPolicy::SaveRun(StateWriter& out) const {
  out.Put<std::uint8_t>(imitated_);
  if (imitated_) return;
  SaveRng(rng_, out);
  out.Put(iteration_);
  optimiser_.Save(out);
}

void DopplerPolicy::LoadRun(StateReader& in) {
  imitated_ = in.Get<std::uint8_t>() != 0;
  if (imitated_) return;
  rng_ = LoadRng(in);
  iteration_ = in.Get<std::int64_t>();
  if (iteration_ < 0 || iteration_ >= options_.iterations) in.Fail("it has imitated too often");
  optimiser_.Load(in);
}

}  // namespace stowplan::agents::rl
