// What lets a network keep units together that belong together (docs/protocol_rules.md#stay; ours, in no paper): to the logits of
// an item is added a weight, read from the item itself, for the choice of an earlier one, its neighbour.
#pragma once

#include <cstdint>

#include "agents/rl/nn/tensors.h"

namespace stowplan::agents::rl {

class Stay {
 public:
  // A fresh policy whose other logits are equal makes its neighbour's choice with this probability; 0 = off. Items are
  // described by `width` numbers.
  Stay(double probability, std::int64_t width, std::int64_t choices, at::ScalarType type);

  bool on() const { return !parameters_.empty(); }
  const Tensors& parameters() const { return parameters_; }

  // Who pulls whom how strongly in some sequences. `earlier`: by item the one before it that is its neighbour, the number of
  // items = none.
  struct Pulls {
    at::Tensor earlier, weight;  // [sequences, items]; undefined where it is off
  };
  // `items` [sequences, items, width].
  Pulls Read(const at::Tensor& items, const at::Tensor& earlier) const;

  // What is added to the logits of `actions` [rows, items], the rows of one sequence side by side: [rows, items, choices].
  at::Tensor Added(const Pulls& pulls, const at::Tensor& actions) const;

  // The same while actions are being drawn, item by item.
  class Walk {
   public:
    Walk(const Stay& stay, const Pulls& pulls, std::int64_t rows);
    // `logits` [rows, choices] of the next item and what is added to them.
    at::Tensor Next(const at::Tensor& logits) const;
    void Choose(const at::Tensor& actions);  // [rows], of that item

   private:
    const Stay& stay_;
    at::Tensor earlier_, weight_, chosen_;
    std::int64_t item_ = 0;
  };

 private:
  at::Tensor Added(const at::Tensor& chosen, const at::Tensor& earlier, const at::Tensor& weight) const;

  std::int64_t choices_;
  Tensors parameters_;  // [width, 1], [1]
};

}  // namespace stowplan::agents::rl
