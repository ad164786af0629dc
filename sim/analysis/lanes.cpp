#include "sim/analysis/lanes.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "sim/base/error.h"

namespace stowplan::sim {
namespace {

class LaneMaker {
 public:
  LaneMaker(const Problem& problem, const Placement& placement, const Outcome& outcome)
      : graph_(problem.graph()),
        cluster_(problem.cluster()),
        placement_(placement),
        outcome_(outcome),
        native_(cluster_.rules == Rules::kNative) {}

  std::vector<Lane> Make() {
    AddHosts();
    AddDevices();
    if (outcome_.links.empty()) {
      AddChannels();
    } else {
      AddLinks();
    }
    for (Lane& lane : lanes_) GiveTracks(lane);
    return std::move(lanes_);
  }

 private:
  // The time in which a host thread issues each op.
  void AddHosts() {
    const Dispatch& dispatch = cluster_.dispatch;
    if (!native_ || (!dispatch.automatic && dispatch.cost == 0)) return;
    const bool common = dispatch.per == Dispatch::Per::kProcess;
    const std::size_t first = lanes_.size();
    for (DeviceIndex d = 0; d < (common ? 1 : cluster_.size()); ++d)
      lanes_.push_back({.kind = Lane::Kind::kHost, .index = common ? -1 : d});
    for (std::size_t i = 0; i < outcome_.ops.size(); ++i) {
      const auto device = static_cast<std::size_t>(placement_.device[i]);
      const Picos cost = dispatch.automatic ? cluster_.devices[device].launch_cost : dispatch.cost;
      const Picos length = cost * graph_.ops[i].DispatchUnits();
      if (length == 0) continue;
      const Picos issued = outcome_.ops[i].issue;
      lanes_[first + (common ? 0 : device)].slices.push_back(
          {issued - length, issued, static_cast<std::int32_t>(i)});
    }
  }

  void AddDevices() {
    const std::size_t first = lanes_.size();
    for (DeviceIndex d = 0; d < cluster_.size(); ++d) lanes_.push_back({.index = d});
    for (std::size_t i = 0; i < outcome_.ops.size(); ++i) {
      lanes_[first + static_cast<std::size_t>(placement_.device[i])].slices.push_back(
          {outcome_.ops[i].start, outcome_.ops[i].end, static_cast<std::int32_t>(i)});
    }
  }

  bool HoldsLinks(const TransferTimes& transfer) const {
    return transfer.end > transfer.start && !(native_ && (transfer.tensor.output < 0 || transfer.bytes == 0));
  }

  template <typename Visit>
  void ForEachHolding(const Visit& visit) const {
    for (std::size_t i = 0; i < outcome_.transfers.size(); ++i) {
      const TransferTimes& transfer = outcome_.transfers[i];
      if (HoldsLinks(transfer))
        visit(transfer, LaneSlice{transfer.start, transfer.end, static_cast<std::int32_t>(i)});
    }
  }

  void AddLinks() {
    std::vector<std::size_t> first(cluster_.links.size());
    for (std::size_t l = 0; l < cluster_.links.size(); ++l) {
      first[l] = lanes_.size();
      Lane lane{.kind = Lane::Kind::kLink, .index = static_cast<std::int32_t>(l)};
      lanes_.push_back(lane);
      lane.backward = true;
      if (cluster_.links[l].duplex == Duplex::kFull) lanes_.push_back(lane);
    }
    ForEachHolding([&](const TransferTimes& transfer, LaneSlice slice) {
      for (const Cluster::Hop& hop : cluster_.route(transfer.from, transfer.to)) {
        const auto link = static_cast<std::size_t>(hop.link);
        const bool backward = !hop.forward && cluster_.links[link].duplex == Duplex::kFull;
        lanes_[first[link] + (backward ? 1 : 0)].slices.push_back(slice);
        slice.again = true;
      }
    });
  }

  void AddChannels() {
    std::map<std::pair<DeviceIndex, DeviceIndex>, Lane> channels;
    ForEachHolding([&](const TransferTimes& transfer, const LaneSlice& slice) {
      Lane& lane = channels[{transfer.from, transfer.to}];
      lane.kind = Lane::Kind::kChannel;
      lane.index = transfer.from;
      lane.to = transfer.to;
      lane.slices.push_back(slice);
    });
    for (auto& [ends, lane] : channels) lanes_.push_back(std::move(lane));
  }

  static void GiveTracks(Lane& lane) {
    std::sort(lane.slices.begin(), lane.slices.end(), [](const LaneSlice& a, const LaneSlice& b) {
      return std::tie(a.start, a.end, a.index) < std::tie(b.start, b.end, b.index);
    });
    std::vector<Picos> free_from;  // by track
    for (LaneSlice& slice : lane.slices) {
      const auto track =
          std::find_if(free_from.begin(), free_from.end(), [&](Picos end) { return end <= slice.start; });
      slice.track = static_cast<std::int32_t>(track - free_from.begin());
      if (track == free_from.end()) {
        free_from.push_back(slice.end);
      } else {
        *track = slice.end;
      }
    }
    lane.tracks = static_cast<std::int32_t>(free_from.size());
  }

  const OpGraph& graph_;
  const Cluster& cluster_;
  const Placement& placement_;
  const Outcome& outcome_;
  const bool native_;
  std::vector<Lane> lanes_;
};

}  // namespace

std::vector<Lane> MakeLanes(const Problem& problem, const Placement& placement, const Outcome& outcome) {
  STOWPLAN_CHECK_EQ(outcome.ops.size(), problem.graph().ops.size());
  return LaneMaker(problem, placement, outcome).Make();
}

}  // namespace stowplan::sim
