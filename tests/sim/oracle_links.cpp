#include "tests/sim/oracle_links.h"

#include <algorithm>
#include <set>

namespace stowplan::sim {
namespace {

using Wide = OracleWide;

// Flows that are not fixed yet, and the capacity left, of every direction in use.
struct Sharing {
  std::map<OracleDirection, std::set<std::size_t>> unfixed;
  std::map<OracleDirection, Wide> left;
  Wide Share(const OracleDirection& d) const { return left.at(d) / static_cast<Wide>(unfixed.at(d).size()); }
};

Sharing CapacitiesInForce(const Cluster& cluster, const std::vector<OracleFlow>& flows) {
  Sharing sharing;
  for (const OracleFlow& flow : flows) {
    for (const Cluster::Hop& hop : flow.route) {
      sharing.unfixed[OracleDirectionOf(cluster, hop)].insert(flow.number);
    }
  }
  for (const auto& [direction, users] : sharing.unfixed) {
    const Link& link = cluster.links[static_cast<std::size_t>(direction.first)];
    const OracleDirection opposite{direction.first, 1 - direction.second};
    const bool both = link.duplex == Duplex::kFull && sharing.unfixed.contains(opposite);
    sharing.left[direction] = Wide{link.bandwidth} * 1000 * (both ? link.both_ppm : kPpm) / kPpm;
  }
  return sharing;
}

std::map<std::size_t, Wide> RatesAlone(const Sharing& sharing) {
  std::map<std::size_t, Wide> rates;
  for (const auto& [direction, users] : sharing.unfixed) {
    const Wide capacity = std::max(sharing.left.at(direction), Wide{1});
    for (const std::size_t i : users) rates[i] = rates.contains(i) ? std::min(rates[i], capacity) : capacity;
  }
  return rates;
}

}  // namespace

OracleDirection OracleDirectionOf(const Cluster& cluster, const Cluster::Hop& hop) {
  const bool half = cluster.links[static_cast<std::size_t>(hop.link)].duplex == Duplex::kHalf;
  return {hop.link, half || hop.forward ? 0 : 1};
}

Picos OracleLoneTime(const Link& link, Bytes bytes) {
  const auto nearest = [](Wide numerator, Wide denominator) {
    return static_cast<Picos>((2 * numerator + denominator) / (2 * denominator));
  };
  if (link.curve.empty()) return link.latency + nearest(Wide{bytes} * 1'000'000'000'000, link.bandwidth);
  std::size_t i = 1;
  while (i + 1 < link.curve.size() && link.curve[i].first < bytes) ++i;
  const auto& [b0, t0] = link.curve[i - 1];
  const auto& [b1, t1] = link.curve[i];
  return t0 + nearest(Wide{bytes - b0} * (t1 - t0), b1 - b0);
}

std::map<std::size_t, Wide> OracleRates(const Cluster& cluster, const std::vector<OracleFlow>& flows) {
  Sharing sharing = CapacitiesInForce(cluster, flows);
  if (cluster.interconnect == "fifo") return RatesAlone(sharing);
  std::map<std::size_t, Wide> rates;
  while (rates.size() < flows.size()) {
    OracleDirection least = sharing.unfixed.begin()->first;
    for (const auto& [direction, users] : sharing.unfixed) {
      if (sharing.Share(direction) < sharing.Share(least)) least = direction;
    }
    Wide rate = std::max(sharing.Share(least), Wide{1});
    std::set<std::size_t> fixed = sharing.unfixed[least];
    for (const OracleFlow& flow : flows) {
      const Wide limit = Wide{flow.bandwidth} * 1000;
      if (rates.contains(flow.number) || limit > sharing.Share(least)) continue;
      rate = limit;
      fixed = {flow.number};
      break;
    }
    for (const OracleFlow& flow : flows) {
      if (!fixed.contains(flow.number)) continue;
      rates[flow.number] = rate;
      for (const Cluster::Hop& hop : flow.route) {
        const OracleDirection direction = OracleDirectionOf(cluster, hop);
        sharing.left[direction] -= rate;
        sharing.unfixed[direction].erase(flow.number);
      }
    }
    std::erase_if(sharing.unfixed, [](const auto& entry) { return entry.second.empty(); });
  }
  return rates;
}

}  // namespace stowplan::sim
