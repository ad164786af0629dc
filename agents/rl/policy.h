// What a one-shot learner must supply: a policy that draws whole placements.
//
// To add one: derive a Policy, write a factory as in rnn.cpp, and add its settings to agents/learner_settings.cpp and its
// row to plugin.cpp and agents/registry.cpp. one_shot_options.h reads the settings that all share. Rewards, baselines,
// REINFORCE and PPO, the training loop, checkpoints, the log and transfer come from one_shot_learner.h;
// nn/ has layers, features/ has features.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "agents/random_numbers.h"
#include "agents/rl/nn/byte_state.h"
#include "agents/rl/nn/tensors.h"
#include "agents/rl/reinforce.h"
#include "agents/task.h"

namespace stowplan::agents::rl {

// Decisions of one kind that a batch of draws was made of: a device for each unit, or a group for each op.
// Draws may share them: row r belongs to the `draws_per_row` consecutive draws from r * draws_per_row on.
struct Decisions {
  at::Tensor actions;          // [rows, decisions], integers
  at::Tensor log_probability;  // [rows, decisions], double, as drawn
  at::Tensor noise;            // [rows, decisions, choices], added to the logits when drawn; undefined = none
  std::int64_t draws_per_row = 1;
  at::Tensor delays = {};  // [rows, decisions, choices], what Offers told when drawn; undefined = none
};

// Draws of a policy for one task.
struct Draws {
  std::vector<UnitPlacement> placements;
  std::vector<Decisions> kinds;  // the same number and order in every batch of a policy

  std::int64_t size() const { return static_cast<std::int64_t>(placements.size()); }
  // Draws [first, first + count), on borders of rows.
  Draws Slice(std::int64_t first, std::int64_t count) const;
};

// By unit the device that was drawn for it: `slots` [units] are those of the units of `order`, in that order.
UnitPlacement PlacementInOrder(const Task& task, const std::vector<UnitIndex>& order,
                               const at::Tensor& slots);

class Policy {
 public:
  virtual ~Policy() = default;

  // One step of learning from the graphs alone, before anything is drawn, and its loss; nothing where there is
  // nothing (more) to learn so. It costs no samples.
  virtual std::optional<double> Pretrain() { return std::nullopt; }

  // Where a run stands: some policies draw otherwise in its first part.
  struct Moment {
    std::int64_t update = 0;  // updates done
    double part_spent = 0;    // of the budget
  };
  // `count` placements of task `task`, without gradient. Without a generator: the one that the policy stands
  // for (greedy), count is 1. All randomness comes from the generator.
  virtual Draws Draw(std::size_t task, std::int64_t count, const Moment& moment, Rng* rng) = 0;

  // For each kind of decisions, the log-probability and entropy [rows, decisions] that the present weights
  // give to what was drawn. Differentiable.
  virtual std::vector<ActionTerms> Evaluate(std::size_t task, const Draws& draws) const = 0;

  // What is learned; the tensors stay the same from construction on.
  virtual const Tensors& parameters() const = 0;
  // All that carries over to another run: weights, sizes, vocabularies. Load throws InputError (in.Fail) for
  // other sizes.
  virtual void Save(StateWriter& out) const = 0;
  virtual void Load(StateReader& in) = 0;
  // What a resumed run needs beyond that.
  virtual void SaveRun(StateWriter&) const {}
  virtual void LoadRun(StateReader&) {}
};

}  // namespace stowplan::agents::rl
