#include "sim/native/communicators.h"

#include "sim/base/error.h"
#include "sim/horizon.h"

namespace stowplan::sim {
namespace {

constexpr std::size_t kMostKnown = 65'536;

}  // namespace

const std::vector<Picos>& PricedCollectives::Under(std::span<const DeviceIndex> placement) {
  const Compiled& c = problem_.compiled();
  const CollectivePrices& prices =
      problem_.collective_prices() != nullptr ? *problem_.collective_prices() : rings_;
  prices_.clear();
  if (known_.size() > kMostKnown) known_.clear();
  double sum = 0;
  for (const Collective& collective : c.collectives) {
    std::vector<DeviceIndex> where = {collective.copies, collective.stride, collective.root};
    for (const OpIndex member : collective.members)
      where.push_back(placement[static_cast<std::size_t>(member)]);
    Key key{collective.type, collective.bytes, std::move(where)};
    auto found = known_.find(key);
    if (found == known_.end()) {
      const std::vector<DeviceIndex> devices =
          DevicesOf(collective, problem_.graph(), problem_.cluster(), placement);
      const Picos time = prices.TimeOf({collective.type, collective.bytes, devices});
      STOWPLAN_CHECK(time >= 0);
      found = known_.emplace(std::move(key), time).first;
    }
    prices_.push_back(found->second);
    sum += static_cast<double>(found->second);
  }
  if (!(sum < static_cast<double>(kHorizon))) RefuseHorizon(problem_.graph(), problem_.cluster());
  return prices_;
}

std::string DescribeDeadlock(const Problem& problem, std::span<const Compiled::Id> heads,
                             std::span<const DeviceIndex> placement) {
  const Compiled& c = problem.compiled();
  const auto op = [&](OpIndex index) {
    return "'" + problem.graph().ops[static_cast<std::size_t>(index)].name + "'";
  };
  const auto device = [&](DeviceIndex d) {
    return "'" + problem.cluster().devices[static_cast<std::size_t>(d)].name + "'";
  };
  const auto head = [&](OpIndex member) {
    return heads[static_cast<std::size_t>(placement[static_cast<std::size_t>(member)])];
  };
  std::string waits = "graph '" + problem.graph().name + "' never ends";
  for (const Compiled::Id first : heads) {
    if (first == Compiled::kNone) continue;
    const std::vector<OpIndex>& members = c.collectives[static_cast<std::size_t>(first)].members;
    const auto here = std::ranges::find(members, first, head);
    for (const OpIndex there : members) {
      const Compiled::Id other = head(there);
      if (other == first) continue;
      waits += ": " + device(placement[static_cast<std::size_t>(*here)]) + " has come to collective " +
               op(*here) + ", " + device(placement[static_cast<std::size_t>(there)]) + " not to its " +
               op(there);
      if (other == Compiled::kNone) return waits + ", which waits for what comes after it";
      const std::vector<OpIndex>& others = c.collectives[static_cast<std::size_t>(other)].members;
      return waits + " but to " +
             op(*std::ranges::find_if(others,
                                      [&](OpIndex member) {
                                        return placement[static_cast<std::size_t>(member)] ==
                                               placement[static_cast<std::size_t>(there)];
                                      })) +
             "; all ranks must come to their collectives in the same order";
    }
  }
  return waits + ": its collectives wait for one another";
}

}  // namespace stowplan::sim
