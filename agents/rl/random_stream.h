// Random numbers of one purpose. Every use of chance has a stream of its own, named after its purpose, so
// that one more draw for sampling moves neither the initial weights nor the start placement (PROTOCOL rule
// 8).
#pragma once

#include <cstdint>
#include <string_view>

#include <ATen/core/Generator.h>

#include "agents/rl/byte_state.h"

namespace berth::agents::rl {

class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view purpose);

  double Uniform();                        // [0, 1), 53 bits
  std::int64_t Below(std::int64_t limit);  // 0 .. limit - 1
  // For torch's own draws.
  const at::Generator& generator() const { return generator_; }

  void Save(StateWriter& out) const;
  void Load(StateReader& in);

 private:
  at::Generator generator_;
};

}  // namespace berth::agents::rl
