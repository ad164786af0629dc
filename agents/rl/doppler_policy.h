// The two policies of `doppler` (docs/protocol_rules.md#doppler): one selects which ready unit is next, the other places it,
// until all units are placed. What they see beside the graph is what a list schedule offers (agents/classical/unit_schedule.h).
//
// All draws of a batch go step by step together. What was drawn is learned from by going the same steps again, all of
// them at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "agents/classical/unit_schedule.h"
#include "agents/rl/nn/layers.h"
#include "agents/rl/nn/optimiser.h"
#include "agents/rl/policy.h"

namespace stowplan::agents::rl {

struct DopplerOptions {
  std::int64_t width = 64;   // of embeddings
  std::int64_t hidden = 32;  // of the last layer before a score
  int rounds = 3;            // of messages
  int window = 64;  // the select policy sees this many ready units at most, longest bottom levels first
  // What an offer's numbers are measured in: the deviation over the devices, as published, which for two devices leaves
  // their order alone; or mean lengths of units, as signed logarithms of the difference to the mean over the devices.
  bool deviations = false;
  bool neighbour =
      true;  // two more numbers of an offer: whether the heaviest input is there, and which part of the bytes

  // Greedy: the likeliest action or, with probability `epsilon`, one drawn evenly; epsilon falls to 0 over the budget.
  // Otherwise actions are drawn from the policies.
  bool greedy = false;
  double epsilon = 0.2;

  // Learning from the critical-path heuristic before the first sample.
  bool imitate = true;
  int iterations = 100;
  int walks = 8;                 // of each task in an iteration
  double imitation_rate = 1e-3;  // of Adam, falls to 0
  double smoothing = 0.2;        // of what is imitated, spread evenly over all choices
};

class DopplerPolicy : public Policy {
 public:
  DopplerPolicy(const DopplerOptions& options, const std::vector<const Task*>& tasks, Rng& init);
  ~DopplerPolicy() override;

  // One iteration of imitation. In its walks actions are drawn evenly at first and are the likeliest at the end.
  std::optional<double> Pretrain() override;
  // Kinds of decisions: the unit of each step, the slot of each step.
  Draws Draw(std::size_t task, std::int64_t count, const Moment& moment, Rng* rng) override;
  std::vector<ActionTerms> Evaluate(std::size_t task, const Draws& draws) const override;

  const Tensors& parameters() const override { return parameters_; }
  void Save(StateWriter& out) const override;
  void Load(StateReader& in) override;
  void SaveRun(StateWriter& out) const override;
  void LoadRun(StateReader& in) override;

  // The part of the steps of `count` walks, of the policies' likeliest actions but for a part `epsilon` drawn evenly, in
  // which the likeliest unit, and the likeliest device, is one that the heuristic could choose.
  struct Agreement {
    double units, devices;
  };
  Agreement AgreementWithHeuristic(std::size_t task, std::int64_t count, double epsilon, Rng& rng) const;

 private:
  // Message passing over the units, and the features beside it.
  class Encoder {
   public:
    Encoder(std::int64_t width, int rounds, Rng& init);

    struct Encoded {
      at::Tensor own;        // [units, width]: of the features alone
      at::Tensor embedding;  // [units, width]
    };
    struct Graph;
    Encoded Forward(const Graph& graph) const;
    const Tensors& parameters() const { return parameters_; }

   private:
    Mlp own_, input_;
    std::vector<Mlp> messages_, edges_, combine_;
    Tensors parameters_;
  };

  struct TaskState;
  struct Steps;      // of some walks: what was seen, and what was done
  struct Selection;  // what the select policy gives, for one task and the present weights
  struct Placing;    // what of the place policy does not depend on the walk

  enum class Mode : std::uint8_t { kSample, kLikeliest, kEpsilon };
  Steps Walk(std::size_t task, std::int64_t count, Mode mode, double epsilon, Rng* rng) const;
  Steps Replay(std::size_t task, const Draws& draws) const;
  at::Tensor Scores(const TaskState& state) const;  // [units]
  Placing Prepare(const TaskState& state) const;
  // [rows, devices] for rows of units, what devices offer them [rows, devices, features] and the sums of the embeddings of
  // what is on them [rows, devices, width], after `step` units.
  at::Tensor Logits(const Placing& placing, const at::Tensor& units, const at::Tensor& offers,
                    const at::Tensor& sums, const at::Tensor& step) const;
  struct AllLogits {
    at::Tensor units;    // [walks, steps, window]
    at::Tensor devices;  // [walks, steps, devices]
  };
  AllLogits LogitsOf(std::size_t task, const Steps& steps) const;
  std::int64_t features() const { return options_.neighbour ? 7 : 5; }

  const DopplerOptions options_;
  const std::int64_t devices_;
  const std::vector<const Task*> tasks_;
  std::vector<std::unique_ptr<TaskState>> states_;
  Encoder select_, place_;
  Mlp score_;  // of a unit, from own, embedding and the sums along both its paths
  Mlp offer_;  // of what a device offers
  Mlp from_unit_, from_offer_, from_sums_, last_;
  Tensors parameters_;
  Rng rng_;  // of imitation
  Optimiser optimiser_;
  std::int64_t iteration_ = 0;
  bool imitated_;  // or not wanted
};

}  // namespace stowplan::agents::rl
