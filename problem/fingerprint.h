// A hash of everything that decides a simulated result: the scenario's name in results
// (docs/protocol_rules.md#scenario).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/fnv.h"
#include "sim/simulator.h"

namespace stowplan::problem {

// FNV-1a over what is added. The same on every machine.
class Fingerprint {
 public:
  void Add(std::string_view text);
  void Add(std::int64_t number);
  std::string ToString() const;  // 16 hexadecimal digits

 private:
  std::uint64_t hash_ = kFnvStart;
};

// Of a graph alone, whatever it was read from.
std::string GraphFingerprint(const sim::OpGraph& graph);

// Graph, cluster with rules and links, and the price of every op.
Fingerprint FingerprintOf(const sim::Problem& problem);

}  // namespace stowplan::problem
