// Adam behind a clip of the global gradient norm; the learning rate is given at each step, so that schedules
// stay with those who know the budget.
#pragma once

#include <memory>

#include "agents/rl/nn/byte_state.h"
#include "agents/rl/nn/tensors.h"

namespace stowplan::agents::rl {

class Optimiser {
 public:
  // The tensors share storage with the network's: a step changes the network. Adam's betas are 0.9 and 0.999.
  explicit Optimiser(const Tensors& parameters);
  ~Optimiser();

  // One step against `gradients` (in the order of the parameters), scaled down to the norm `clip` where they
  // are longer. Returns the norm before clipping.
  double Step(const Tensors& gradients, double learning_rate, double clip);

  void Save(StateWriter& out) const;
  void Load(StateReader& in);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stowplan::agents::rl
