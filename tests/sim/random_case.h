// Random problems for comparing programs that must agree: small graphs with everything in them that the
// formats allow, on small machines with everything in them that the model knows.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "sim/cluster.h"
#include "sim/collective_prices.h"
#include "sim/cost_model.h"
#include "sim/op_graph.h"
#include "sim/placement.h"

namespace stowplan::sim {

// Draws that are the same on every standard library, unlike those of <random>'s distributions.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  // A fuzzer's: each draw takes as many of these bytes as its range needs. When they are used up, as of a seed.
  explicit Dice(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  // In [low, high].
  std::int64_t Between(std::int64_t low, std::int64_t high) {
    const auto range = static_cast<std::uint64_t>(high - low + 1);
    return low + static_cast<std::int64_t>((bytes_.empty() ? engine_() : TakeBytes(range - 1)) % range);
  }
  bool Percent(int percent) { return Between(1, 100) <= percent; }
  template <typename T>
  const T& OneOf(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(Between(0, static_cast<std::int64_t>(values.size()) - 1))];
  }

 private:
  std::uint64_t TakeBytes(std::uint64_t most) {
    std::uint64_t number = 0;
    for (; most > 0 && !bytes_.empty(); most >>= 8, bytes_ = bytes_.subspan(1))
      number = number << 8 | bytes_.front();
    return number;
  }

  std::span<const std::uint8_t> bytes_;
  std::mt19937_64 engine_;
};

// How many cases a test compares; STOWPLAN_ORACLE_CASES=1000000 are a million, overnight.
std::uint64_t OracleCases();

// What a kind of test needs of its cases; the defaults allow everything.
struct CaseShape {
  int max_ops = 60;
  int least_devices = 1, most_devices = 5;
  bool may_tie = true;       // half of the cases: few different times and sizes, so that much happens at once
  bool chain = false;        // each op reads one output of the one before: never two transfers at a time
  bool solo = false;         // each device has its own thread and runs one op at a time at a fixed rate
  bool extreme = false;      // any number up to its limit: Problem may refuse the case
  bool collectives = false;  // some ops are members of collectives, with RandomPrices
  std::string interconnect;  // empty = any
};

// Of any shape some time, the same for the same shape; some take none.
class RandomPrices final : public CollectivePrices {
 public:
  explicit RandomPrices(bool ties) : ties_(ties) {}
  Picos TimeOf(const CollectiveShape& collective) const override;

 private:
  bool ties_;
};

struct RandomCase {
  std::uint64_t seed = 0;
  OpGraph graph;
  Cluster cluster;
  CostTable costs;
  Placement placement;
};

RandomCase MakeRandomCase(std::uint64_t seed, const CaseShape& shape = {});
RandomCase MakeRandomCase(Dice& dice, const CaseShape& shape);  // its seed is 0

// From a device along links, each from where the one before ends; it need not be a route that a cluster may have.
Route RandomWalk(const Cluster& cluster, Dice& dice);

// Another placement of the same case, colocation kept; priority or order now and then.
Placement MakeRandomPlacement(const OpGraph& graph, const Cluster& cluster, Dice& dice);

// Seed, stowplan.graph (with the costs), stowplan.cluster and stowplan.placement: all that is needed to look at a
// failure.
std::string PrintCase(const RandomCase& random_case);

}  // namespace stowplan::sim
