// Which of several to ask next, by what each has gained of late.
#pragma once

#include <cstddef>
#include <vector>

#include "agents/random_numbers.h"

namespace stowplan::agents {

// Each once, then mostly who gained most a turn; what is long past counts less, so that who did well while gains were easy is
// found out. One turn in five is anybody's.
class Bandit {
 public:
  explicit Bandit(std::size_t arms) : gain_(arms), turns_(arms) {}

  // Of those that are `open`, at least one.
  std::size_t Choose(const std::vector<bool>& open, Rng& rng) const;
  void Credit(std::size_t arm, double gain);

 private:
  std::vector<double> gain_, turns_;  // by arm, both fading
};

}  // namespace stowplan::agents
