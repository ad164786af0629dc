#include "tests/sim/oracle_collectives.h"

#include <algorithm>

#include "sim/collectives.h"

namespace stowplan::sim {

OracleCollectives::OracleCollectives(const OpGraph& graph, const Cluster& cluster, const Placement& placement,
                                     const CollectivePrices& prices)
    : graph_(graph), placement_(placement), queue_(cluster.devices.size()) {
  for (const Collective& collective : CollectivesOf(graph)) {
    Joined joined;
    joined.members.insert(collective.members.begin(), collective.members.end());
    for (const OpIndex i : collective.members) {
      joined.devices.insert(Where(i));
      of_[i] = all_.size();
    }
    const auto devices = DevicesOf(collective, graph, cluster, placement.device);
    joined.price = prices.TimeOf({collective.type, collective.bytes, devices});
    all_.push_back(joined);
  }
}

std::vector<std::pair<OpIndex, OpIndex>> OracleCollectives::Turns() const {
  std::vector<std::pair<OpIndex, OpIndex>> turns;
  std::map<DeviceIndex, OpIndex> last;
  for (const OpIndex i : graph_.topological_order()) {
    if (!IsMember(i)) continue;
    const auto [before, is_first] = last.try_emplace(Where(i), i);
    if (is_first) continue;
    turns.emplace_back(before->second, i);
    before->second = i;
  }
  return turns;
}

void OracleCollectives::Issue(OpIndex i) {
  const std::size_t which = of_.at(i);
  auto& queue = queue_[static_cast<std::size_t>(Where(i))];
  if (!all_[which].ended && std::ranges::find(queue, which) == queue.end()) queue.push_back(which);
}

bool OracleCollectives::RunsOn(DeviceIndex d) const {
  const auto& queue = queue_[static_cast<std::size_t>(d)];
  return !queue.empty() && all_[queue.front()].end < kNever;
}

std::vector<OpIndex> OracleCollectives::Start(Picos now, const std::function<bool(OpIndex)>& ready) {
  std::vector<OpIndex> started;
  for (std::size_t which = 0; which < all_.size(); ++which) {
    Joined& joined = all_[which];
    if (joined.end < kNever || joined.ended) continue;
    const bool is_first = std::ranges::all_of(joined.devices, [&](DeviceIndex d) {
      const auto& queue = queue_[static_cast<std::size_t>(d)];
      return !queue.empty() && queue.front() == which;
    });
    if (!is_first || !std::ranges::all_of(joined.members, ready)) continue;
    joined.end = now + joined.price;
    started.insert(started.end(), joined.members.begin(), joined.members.end());
  }
  return started;
}

std::vector<OpIndex> OracleCollectives::End(Picos now) {
  std::vector<OpIndex> ended;
  for (Joined& joined : all_) {
    if (joined.end != now) continue;
    joined.end = kNever;
    joined.ended = true;
    ended.insert(ended.end(), joined.members.begin(), joined.members.end());
    for (const DeviceIndex d : joined.devices) {
      auto& queue = queue_[static_cast<std::size_t>(d)];
      queue.erase(queue.begin());
    }
  }
  return ended;
}

Picos OracleCollectives::next_end() const {
  Picos next = kNever;
  for (const Joined& joined : all_) next = std::min(next, joined.end);
  return next;
}

}  // namespace stowplan::sim
