// Transfers in their bytes phase: remaining bytes under changing rates (docs/model.md section 4, "Both
// directions", "Max-min shares" and "Arithmetic"). Internal to sim/native/.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "sim/native/links/fair_share.h"
#include "sim/native/route_resources.h"
#include "sim/native/transfers.h"

namespace stowplan::sim {

class Flows {
 public:
  // No more than `most` at a time, each of no more than `longest` links.
  Flows(const Compiled& compiled, Sharing sharing, std::size_t most, std::size_t longest);

  void Reset();
  void Add(Picos now, TransferIndex index, const Transfer& transfer);
  // Removes those that end now and appends their transfers to `ended`.
  void PopEnded(Picos now, std::vector<TransferIndex>& ended);
  // After Add and PopEnded of one pass: the rates from now on, and the ends under them.
  void Update(Picos now);
  Picos next() const { return next_; }

 private:
  using Id = Compiled::Id;
  struct Flow {
    Int128 remaining = 0;  // [1e-15 B] = rate [mB/s] x time [ps], at `since`
    Picos since = 0;       // of the last change of rate
    Picos end = kNever;
    std::int64_t rate = 0;   // [mB/s]
    std::int64_t limit = 0;  // [mB/s] what it moves when alone
    TransferIndex transfer = 0;
    Id route = 0;
  };
  std::span<const Id> Directions(Id route) const {
    return {c_.route_directions.data() + c_.routes[route].first,
            c_.route_directions.data() + c_.routes[route].last};
  }
  void Count(Id route, int change);
  void FindAffected();
  std::int64_t Capacity(Id direction) const;
  std::int64_t RateAlone(const Flow& flow) const;
  static void SetRate(Picos now, std::int64_t rate, Flow& flow);

  const Compiled& c_;
  const Sharing sharing_;
  struct Direction {
    std::int64_t capacity = 0;  // [mB/s] alone
    std::int64_t both = 0;      // [mB/s] while the other direction has a flow
    Id zone = 0;                // directions of one zone depend on each other even without a common flow
  };
  ById<Direction> directions_;
  ById<std::int32_t> flowing_;  // flows by link direction
  std::vector<Flow> active_;    // in order of queue numbers
  Picos next_ = kNever;
  bool changed_ = false;
  ById<std::uint64_t> route_zones_;  // by route: bits of its zones
  std::uint64_t changed_zones_ = 0;  // that a flow has joined or left in this pass

  // Scratch of Update().
  std::vector<std::int32_t> affected_, others_;  // places in active_
  std::vector<FairShare::Flow> fair_flows_;
  FairShare fair_share_;
};

}  // namespace stowplan::sim
