#include "sim/native/links/flows.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace stowplan::sim {

Flows::Flows(const Compiled& compiled, Sharing sharing, std::size_t most, std::size_t longest)
    : c_(compiled), sharing_(sharing), fair_share_(2 * compiled.cluster->links.size(), most, longest) {
  for (const Link& link : c_.cluster->links) {
    const std::int64_t alone = link.bandwidth * 1000;
    const bool slows = link.duplex == Duplex::kFull && link.both_ppm < kPpm;
    const auto both =
        slows ? static_cast<std::int64_t>(static_cast<Int128>(alone) * link.both_ppm / kPpm) : alone;
    const auto forward = static_cast<Id>(directions_.size());
    directions_.push_back({alone, both, forward});
    directions_.push_back({alone, both, slows ? forward : forward + 1});
  }
  flowing_.resize(directions_.size());
  for (Id route = 0; route < static_cast<Id>(c_.routes.size()); ++route) {
    std::uint64_t zones = 0;
    for (const Id direction : Directions(route))
      zones |= std::uint64_t{1} << (directions_[direction].zone % 64);
    route_zones_.push_back(zones);
  }
  active_.reserve(most);
  affected_.reserve(most);
  others_.reserve(most);
  fair_flows_.reserve(most);
}

void Flows::Reset() {
  std::fill(flowing_.begin(), flowing_.end(), 0);
  changed_zones_ = 0;
  active_.clear();
  next_ = kNever;
  changed_ = false;
}

void Flows::Count(Id route, int change) {
  changed_ = true;
  changed_zones_ |= route_zones_[route];
  for (const Id direction : Directions(route)) flowing_[direction] += change;
}

void Flows::Add(Picos now, TransferIndex index, const Transfer& transfer) {
  Flow flow;
  flow.limit = c_.routes[transfer.route].narrowest * 1000;
  flow.remaining = static_cast<Int128>(transfer.move) * flow.limit;
  flow.since = now;
  flow.transfer = index;
  flow.route = transfer.route;
  active_.push_back(flow);
  for (std::size_t i = active_.size() - 1; i > 0 && active_[i - 1].transfer > index; --i)
    std::swap(active_[i - 1], active_[i]);
  Count(transfer.route, 1);
}

void Flows::PopEnded(Picos now, std::vector<TransferIndex>& ended) {
  if (next_ != now) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < active_.size(); ++i) {
    if (active_[i].end == now) {
      ended.push_back(active_[i].transfer);
      Count(active_[i].route, -1);
    } else {
      if (kept != i) active_[kept] = active_[i];
      ++kept;
    }
  }
  active_.resize(kept);
}

// Flows that share a zone with one that joined or left, or with an affected one, are affected; those of other
// components of the machine keep their rates. (Two zones of one bit make no difference but to the work: flows
// that were not affected are given the rate they have.)
void Flows::FindAffected() {
  affected_.clear();
  others_.clear();
  std::uint64_t reached = std::exchange(changed_zones_, 0);
  const auto reach = [&](std::int32_t f) {
    const std::uint64_t zones = route_zones_[active_[static_cast<std::size_t>(f)].route];
    if ((zones & reached) == 0) return false;
    reached |= zones;
    affected_.push_back(f);
    return true;
  };
  for (std::int32_t f = 0; f < static_cast<std::int32_t>(active_.size()); ++f)
    if (!reach(f)) others_.push_back(f);
  while (!others_.empty() && std::erase_if(others_, reach) > 0) {
  }
}

std::int64_t Flows::Capacity(Id direction) const {
  return flowing_[direction ^ 1] > 0 ? directions_[direction].both : directions_[direction].capacity;
}

std::int64_t Flows::RateAlone(const Flow& flow) const {
  std::int64_t rate = flow.limit;
  for (const Id direction : Directions(flow.route)) rate = std::min(rate, Capacity(direction));
  return std::max<std::int64_t>(rate, 1);
}

void Flows::SetRate(Picos now, std::int64_t rate, Flow& flow) {
  if (rate == flow.rate) return;
  flow.remaining -= static_cast<Int128>(flow.rate) * (now - flow.since);
  flow.since = now;
  flow.rate = rate;
  flow.end = EndAfter(now, std::max<Int128>(flow.remaining, 0), rate);
}

void Flows::Update(Picos now) {
  if (!changed_) return;
  changed_ = false;
  FindAffected();
  const auto at = [&](std::int32_t f) -> Flow& { return active_[static_cast<std::size_t>(f)]; };
  if (sharing_ == Sharing::kExclusive || affected_.size() == 1) {
    for (const std::int32_t f : affected_) SetRate(now, RateAlone(at(f)), at(f));
  } else if (!affected_.empty()) {
    fair_flows_.clear();
    for (const std::int32_t f : affected_) fair_flows_.push_back({Directions(at(f).route), at(f).limit, 0});
    fair_share_.Solve([&](Id direction) { return Capacity(direction); }, fair_flows_);
    for (std::size_t i = 0; i < affected_.size(); ++i) SetRate(now, fair_flows_[i].rate, at(affected_[i]));
  }
  next_ = kNever;
  for (const Flow& flow : active_) next_ = std::min(next_, flow.end);
}

}  // namespace stowplan::sim
