// The collectives of a run and the queues in which their members wait for those of other devices (docs/model.md section 11).
// Internal to sim/native/.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "sim/compiled.h"
#include "sim/native/moment.h"
#include "sim/native/ring_prices.h"
#include "sim/simulator.h"

namespace stowplan::sim {

// How long the collectives take, as a simulator finds it for one placement after the other. One thread.
class PricedCollectives {
 public:
  explicit PricedCollectives(const Problem& problem) : problem_(problem), rings_(problem.cluster()) {}

  // By collective. Throws InputError where a rank has no device, and where all together could take longer than a run may.
  const std::vector<Picos>& Under(std::span<const DeviceIndex> placement);

 private:
  // Type, bytes, and what says the devices.
  using Key = std::tuple<CollectiveType, Bytes, std::vector<DeviceIndex>>;

  const Problem& problem_;
  RingPrices rings_;
  std::vector<Picos> prices_;
  std::map<Key, Picos> known_;
};

// Why the collectives of `heads` (by device; Compiled::kNone = nothing waits there) wait for ever: one sentence.
std::string DescribeDeadlock(const Problem& problem, std::span<const Compiled::Id> heads,
                             std::span<const DeviceIndex> placement);

template <typename Moment>
class Communicators {
 public:
  using Id = Compiled::Id;
  static constexpr Moment kNone = Moments<Moment>::kNone;

  explicit Communicators(const Problem& problem)
      : problem_(problem), c_(problem.compiled()), priced_(problem), queues_(c_.cluster->devices.size()) {
    if (empty()) return;
    std::size_t members = 0;
    for (const Collective& collective : c_.collectives) members += collective.members.size();
    members_.reserve(members);
    parts_.reserve(members);
    line_.resize(members);
    part_of_.resize(static_cast<std::size_t>(c_.ops));
    first_part_.resize(c_.collectives.size() + 1);
    missing_.resize(c_.collectives.size());
  }

  bool empty() const { return c_.collectives.empty(); }
  bool IsMember(OpIndex op) const { return !empty() && c_.collective_of[op] != Compiled::kNone; }

  void Reset(std::span<const DeviceIndex> placement) {
    if (empty()) return;
    prices_ = priced_.Under(placement);
    members_.clear();
    parts_.clear();
    for (Queue& queue : queues_) queue = {};
    for (Id i = 0; i < static_cast<Id>(c_.collectives.size()); ++i) AddParts(i, placement);
    first_part_.back() = static_cast<Id>(parts_.size());
    std::int32_t begin = 0;
    for (Queue& queue : queues_) {
      const std::int32_t parts = queue.last;
      queue.first = queue.last = begin;
      begin += parts;
    }
  }
  Picos longest() const { return prices_.empty() ? 0 : *std::ranges::max_element(prices_); }
  Picos PriceOf(Id collective) const { return prices_[static_cast<std::size_t>(collective)]; }

  // A member has been issued, or will be. The first one of its collective on a device takes the place of all.
  void Add(OpIndex op) {
    Part& part = parts_[part_of_[op]];
    if (part.unissued-- < part.last - part.first) return;
    Queue& queue = queues_[part.device];
    line_[queue.last++] = part_of_[op];
  }
  // Looks at the head of a device. Returns the collective that all its devices are ready for with this one; else
  // Compiled::kNone. since(op): from when on a member could start; kNone = that is not known.
  template <typename Since>
  Id Look(DeviceIndex device, Moment now, const Since& since) {
    Queue& queue = queues_[device];
    queue.wake = kNone;
    if (queue.ready || queue.first == queue.last) return Compiled::kNone;
    const Part& part = parts_[line_[queue.first]];
    if (part.unissued > 0) return Compiled::kNone;
    Moment from = 0;
    for (std::int32_t m = part.first; m < part.last; ++m) from = std::max(from, since(members_[m]));
    if (from > now) {
      queue.wake = from;
      return Compiled::kNone;
    }
    queue.ready = true;
    return --missing_[part.collective] == 0 ? part.collective : Compiled::kNone;
  }
  // The collective starts. visit(device, its members there).
  template <typename Visit>
  void Start(Id collective, Moment end, const Visit& visit) {
    for (Id p = first_part_[collective]; p < first_part_[collective + 1]; ++p) {
      queues_[parts_[p].device].end = end;
      visit(parts_[p].device, MembersOf(parts_[p]));
    }
  }
  Moment EndOf(DeviceIndex device) const { return queues_[device].end; }  // kNone: none runs
  // What runs on the device ends. Its members there.
  std::span<const OpIndex> Pop(DeviceIndex device) {
    Queue& queue = queues_[device];
    queue.ready = false;
    queue.end = kNone;
    return MembersOf(parts_[line_[queue.first++]]);
  }
  // When something is to be done for the device.
  Moment Next(DeviceIndex device) const { return std::min(queues_[device].end, queues_[device].wake); }

  std::string DescribeDeadlock(std::span<const DeviceIndex> placement) const {
    std::vector<Id> heads;
    for (const Queue& queue : queues_)
      heads.push_back(queue.first < queue.last ? parts_[line_[queue.first]].collective : Compiled::kNone);
    return sim::DescribeDeadlock(problem_, heads, placement);
  }

 private:
  struct Part {  // of a collective: its members on one device
    Id collective = 0;
    DeviceIndex device = 0;
    std::int32_t first = 0, last = 0;  // in members_
    std::int32_t unissued = 0;
  };
  struct Queue {                       // of a device
    std::int32_t first = 0, last = 0;  // in line_
    bool ready = false;                // the head: its members here are
    Moment end = kNone;                // of the head, which runs
    Moment wake = kNone;               // when the head may become ready
  };

  std::span<const OpIndex> MembersOf(const Part& part) const {
    return std::span(members_).subspan(static_cast<std::size_t>(part.first),
                                       static_cast<std::size_t>(part.last - part.first));
  }
  void AddParts(Id index, std::span<const DeviceIndex> placement) {
    const auto device_of = [&](OpIndex op) { return placement[static_cast<std::size_t>(op)]; };
    const std::vector<OpIndex>& members = c_.collectives[static_cast<std::size_t>(index)].members;
    const auto begin = static_cast<std::ptrdiff_t>(members_.size());
    members_.insert(members_.end(), members.begin(), members.end());
    std::stable_sort(members_.begin() + begin, members_.end(),
                     [&](OpIndex a, OpIndex b) { return device_of(a) < device_of(b); });
    first_part_[index] = static_cast<Id>(parts_.size());
    for (auto m = static_cast<std::int32_t>(begin); m < static_cast<std::int32_t>(members_.size()); ++m) {
      const DeviceIndex device = device_of(members_[m]);
      if (m == begin || device != parts_.back().device) {
        parts_.push_back({index, device, m, m, 0});
        ++queues_[device].last;
      }
      ++parts_.back().last;
      ++parts_.back().unissued;
      part_of_[members_[m]] = static_cast<Id>(parts_.size()) - 1;
    }
    missing_[index] = static_cast<std::int32_t>(parts_.size()) - first_part_[index];
  }

  const Problem& problem_;
  const Compiled& c_;
  PricedCollectives priced_;
  std::vector<Picos> prices_;
  ById<OpIndex> members_;       // by collective, by device
  ById<Part> parts_;            // by collective
  ById<Id> first_part_;         // by collective, and the end
  ById<std::int32_t> missing_;  // by collective: devices that are not ready
  ById<Id> part_of_;            // by op
  ById<Queue> queues_;          // by device
  ById<Id> line_;               // parts in the order of the queues, by device
};

}  // namespace stowplan::sim
