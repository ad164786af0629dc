// Sequence to sequence with attention (docs/protocol_rules.md#rnn and #hierarchical): an LSTM reads the items,
// another names a choice for each of them in turn, from its state and a mixture of what the first one said.
//
// As in TensorFlow's open planner: the choice before is fed back as an embedding of the decoder's width (a
// start embedding at first), the decoder starts from the encoder's last state, the mixture is of the
// projected memory and goes into the logits only, logits = tanh_constant * tanh([h, mixture] W /
// temperature).
//
// Long sequences in segments, as Mars is recalled to do it (docs/protocol_rules.md#mars): each segment is read on
// its own, in both directions, and attention stays inside it; the decoder's state runs on through all of
// them, its gradient ends at their borders.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "agents/rl/features/offers.h"
#include "agents/rl/nn/attention.h"
#include "agents/rl/nn/recurrent.h"
#include "agents/rl/nn/stay.h"
#include "agents/rl/policy.h"

namespace stowplan::agents::rl {

class SequencePlacer {
 public:
  struct Sizes {
    std::int64_t input = 0;
    std::int64_t width = 128;      // of encoder and decoder
    std::int64_t choices = 2;      // devices
    bool both_directions = false;  // the encoder's halves read both ways
    bool biases = true;            // false: one shared forget bias and no other, as in the open planner
    Attention::Kind attention = Attention::Kind::kAdditive;
    double temperature = 1;
    double tanh_constant = 0;  // 0 = logits are not bounded
    bool aligned = false;      // the decoder also reads the item's row of the memory as it names its choice
    // What the items have in common speaks through the output's bias alone: from what the output reads is taken its mean
    // over the items, in a walk that is told no choices.
    bool centred = false;
    double stay = 0;           // Stay's probability: items make the choice of an earlier neighbour
    bool offers = false;       // whether items are told where they would end first (Offers)
    std::int64_t segment = 0;  // items are read in segments of this length (Mars); 0 = all in one
  };
  SequencePlacer(const Sizes& sizes, at::ScalarType type, Rng& init);

  // Several sequences of one length, read once for all draws.
  struct Encoded {
    Tensors memory;    // by segment: [sequences, items, width]
    Lstm::State last;  // of the first segment: [sequences, width]
    // By segment, what the memory says to the decoder's gates, [items, sequences, 4 width]; none unless aligned.
    Tensors told = {};
    Stay::Pulls pulls = {};
    Offers::Haste haste = {};

    at::Tensor Told(std::size_t segment) const { return told.empty() ? at::Tensor() : told[segment]; }
  };
  // `items` [sequences, items, input]. Needed where they are on: `earlier` [sequences, items] by Stay, `placed` by Offers.
  Encoded Encode(const at::Tensor& items, const at::Tensor& earlier = {},
                 const Offers::Placed& placed = {}) const;

  // `draws` choices for each item of each sequence, one row a draw, the draws of one sequence side by side;
  // without a generator the likeliest. `noise` > 0 adds Gaussian noise to the logits, of that many times
  // their root mean square in the step, and keeps it for Logits.
  Decisions Draw(const Encoded& encoded, std::int64_t draws, double noise, Rng* rng) const;
  // What Draw saw, from the present weights: [rows, items, choices], without the noise. `delays` are those of its decisions,
  // needed where Offers are on.
  at::Tensor Logits(const Encoded& encoded, const at::Tensor& actions, const at::Tensor& delays = {}) const;

  // What Encode wants of a task.
  Offers::Units UnitsOf(const Task& task, std::vector<UnitIndex> order) const {
    return offers_.UnitsOf(task, std::move(order));
  }

  const Tensors& parameters() const { return parameters_; }

 private:
  // By choice, what it says to the decoder's gates: there are no more different inputs than that, [choices + 1, 4 width].
  at::Tensor Fed() const;
  // What the decoder's gates get, [items, rows, 4 width]: of the choices before, `before` [items, rows], and aligned of the
  // items themselves.
  at::Tensor GateSums(const at::Tensor& fed, const at::Tensor& before, const at::Tensor& told) const;
  // Of `before` [items, rows], what the output reads, by segment: [sequences, rows / sequences * items, 2 width].
  Tensors Walked(const Encoded& encoded, const at::Tensor& before) const;
  // The mean over the items of what the output reads in a walk that is told no choices, [sequences, 1, 2 width]; undefined
  // unless centred.
  at::Tensor CommonOf(const Encoded& encoded) const;
  at::Tensor LogitsOf(const at::Tensor& read, const at::Tensor& common) const;

  Sizes sizes_;
  Lstm encoder_, decoder_;
  Attention attention_;
  Stay stay_;
  Offers offers_;
  at::Tensor embeddings_;  // [choices + 1, width]; the last one starts
  Tensors output_;         // [2 width, choices] and, with biases or centred, [choices]
  Tensors parameters_;
};

// The terms of REINFORCE and PPO for decisions that were drawn from `logits` [rows, decisions, choices] plus
// their noise.
ActionTerms TermsOf(const at::Tensor& logits, const Decisions& decisions);

}  // namespace stowplan::agents::rl
