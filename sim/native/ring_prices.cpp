#include "sim/native/ring_prices.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/base/exact.h"
#include "sim/collectives.h"
#include "sim/horizon.h"

namespace stowplan::sim {
namespace {

// What links send in the time of their latency: from PCI Express 3 to NVSwitch.
constexpr double kLeastLatencyBytes = 0.2e6;
constexpr double kMostLatencyBytes = 3.4e6;
constexpr int kMostChainChunks = 512;

// A chain of k ranks passes b bytes in c chunks in about (k - 2 + c) L + M(b) (1 + (k - 2) / c): least at the root of
// (k - 2) M(b) / L. An AllReduce takes as long as k chunks, so up to k are cut where any link gains by it, and more where all
// do.
int ChainChunks(Bytes bytes, std::int64_t ranks) {
  const auto best = [&](double latency_bytes) {
    return static_cast<int>(
        std::clamp(std::sqrt(static_cast<double>(bytes) * static_cast<double>(ranks - 2) / latency_bytes),
                   1.0, static_cast<double>(kMostChainChunks)));
  };
  return std::max(static_cast<int>(std::min<std::int64_t>(ranks, best(kLeastLatencyBytes))),
                  best(kMostLatencyBytes));
}

Bytes ChainChunkOf(Bytes bytes, int chunk, int chunks) {
  const int halves = 2 * chunks - 1;
  const Bytes second = ChunkOf(bytes, 2 * std::int64_t{chunk}, halves);
  return chunk == 0 ? second : ChunkOf(bytes, 2 * std::int64_t{chunk} - 1, halves) + second;
}

// No time is longer than a run may be, and none is added up beyond that.
constexpr double kLongest = static_cast<double>(kHorizon) / 2;
Picos Sum(Picos a, Picos b) {
  return std::min(a + b, kHorizon);
}

// The sends of one collective over the links of a cluster. `ideal` shares nothing; elsewhere sends of one step that meet at a
// link direction take turns.
class Sends {
 public:
  Sends(const Cluster& cluster, const std::vector<std::pair<DeviceIndex, DeviceIndex>>& at_once)
      : cluster_(cluster), alone_(cluster.interconnect == "ideal"), users_(2 * cluster.links.size()) {
    for (const auto& [from, to] : at_once)
      for (const Cluster::Hop& hop : cluster.route(from, to)) ++users_[DirectionOf(hop)];
  }

  bool alone() const { return alone_; }
  Picos Latency(DeviceIndex from, DeviceIndex to) const {
    Picos latency = 0;
    for (const Cluster::Hop& hop : cluster_.route(from, to)) latency += LinkOf(hop).latency;
    return latency;
  }
  Picos Time(DeviceIndex from, DeviceIndex to, Bytes bytes) const {
    Picos longest = 0;
    for (const Cluster::Hop& hop : cluster_.route(from, to)) {
      const Picos turns = alone_ ? 1 : users_[DirectionOf(hop)], move = MoveTime(hop, bytes);
      longest = std::max(longest, move < kHorizon / turns ? turns * move : kHorizon);
    }
    return Sum(Latency(from, to), longest);
  }
  // All at once: those of a direction, one after the other. Bytes by the rank that gets them.
  Picos Exchange(const std::vector<DeviceIndex>& devices, const std::vector<Bytes>& bytes) const {
    std::vector<Picos> busy(users_.size(), 0);
    ForEachPair(devices, [&](std::size_t from, std::size_t to) {
      for (const Cluster::Hop& hop : cluster_.route(devices[from], devices[to])) {
        Picos& of = busy[DirectionOf(hop)];
        const Picos move = MoveTime(hop, bytes[to]);
        of = alone_ ? std::max(of, move) : Sum(of, move);
      }
    });
    Picos last = 0;
    ForEachPair(devices, [&](std::size_t from, std::size_t to) {
      Picos longest = 0;
      for (const Cluster::Hop& hop : cluster_.route(devices[from], devices[to]))
        longest = std::max(longest, alone_ ? MoveTime(hop, bytes[to]) : busy[DirectionOf(hop)]);
      last = std::max(last, Sum(Latency(devices[from], devices[to]), longest));
    });
    return last;
  }

 private:
  template <typename Visit>
  static void ForEachPair(const std::vector<DeviceIndex>& devices, const Visit& visit) {
    for (std::size_t from = 0; from < devices.size(); ++from)
      for (std::size_t to = 0; to < devices.size(); ++to)
        if (from != to) visit(from, to);
  }
  const Link& LinkOf(const Cluster::Hop& hop) const {
    return cluster_.links[static_cast<std::size_t>(hop.link)];
  }
  std::size_t DirectionOf(const Cluster::Hop& hop) const {
    return 2 * static_cast<std::size_t>(hop.link) +
           (hop.forward || LinkOf(hop).duplex == Duplex::kHalf ? 0 : 1);
  }
  // Beyond the latency; longer where the collective uses the other direction too.
  Picos MoveTime(const Cluster::Hop& hop, Bytes bytes) const {
    const Link& link = LinkOf(hop);
    const bool both = !alone_ && link.duplex == Duplex::kFull && users_[DirectionOf(hop) ^ 1] > 0;
    const std::int64_t rate = both ? link.both_ppm : kPpm;
    if (MoveTimeOf(link, bytes) * kPpm / static_cast<double>(rate) > kLongest) return kHorizon;
    const Picos move = LoneTime(link, bytes) - link.latency;
    return both ? MulDivNearest(move, kPpm, rate) : move;
  }

  const Cluster& cluster_;
  const bool alone_;
  std::vector<Picos> users_;  // by link direction: sends of a step
};

using Pairs = std::vector<std::pair<DeviceIndex, DeviceIndex>>;

// From each rank to the next one; `closed`: from the last to the first too.
Pairs Neighbours(const std::vector<DeviceIndex>& devices, bool closed) {
  Pairs pairs;
  for (std::size_t r = 0; r + (closed ? 0 : 1) < devices.size(); ++r)
    pairs.emplace_back(devices[r], devices[(r + 1) % devices.size()]);
  return pairs;
}

// Step by step, by rank: when it has the chunk that it passes on next. A link that is shared sends one at a time.
class Ring {
 public:
  Ring(const Cluster& cluster, const std::vector<DeviceIndex>& devices, Bytes bytes)
      : ranks_(std::ssize(devices)),
        bytes_(bytes),
        steps_(Neighbours(devices, true)),
        sends_(cluster, steps_),
        has_(devices.size(), 0),
        next_(devices.size(), 0) {
    for (const auto& [from, to] : steps_) {
      times_[0].push_back(sends_.Time(from, to, bytes / ranks_));
      times_[1].push_back(sends_.Time(from, to, bytes / ranks_ + 1));
    }
  }

  // One chunk less than there are ranks passes each of them. first: which rank 0 gets first, from the last one.
  void GoAround(std::int64_t first) {
    if (const std::optional<Picos> step = CommonTime()) {
      for (Picos& has : has_) has = Sum(has, *step < kHorizon / ranks_ ? *step * (ranks_ - 1) : kHorizon);
      return;
    }
    for (std::int64_t step = 0; step + 1 < ranks_; ++step) {
      for (std::int64_t rank = 0; rank < ranks_; ++rank) {
        const auto from = static_cast<std::size_t>((rank + ranks_ - 1) % ranks_);
        const std::int64_t chunk = (rank + first - step + 2 * ranks_) % ranks_;
        const bool larger = ChunkOf(bytes_, chunk, ranks_) > bytes_ / ranks_;
        // The link into a rank is free when the chunk before has come.
        const Picos free = sends_.alone() ? 0 : has_[static_cast<std::size_t>(rank)];
        next_[static_cast<std::size_t>(rank)] = Sum(std::max(has_[from], free), times_[larger ? 1 : 0][from]);
      }
      std::swap(has_, next_);
    }
  }
  Picos end() const { return *std::ranges::max_element(has_); }

 private:
  // Where a larger chunk takes as long from each rank, and all are through with what came before at the same time.
  std::optional<Picos> CommonTime() const {
    const std::vector<Picos>& times = times_[bytes_ % ranks_ > 0 ? 1 : 0];
    const bool alike = std::ranges::count(times, times.front()) == ranks_ &&
                       std::ranges::count(has_, has_.front()) == ranks_;
    return alike ? std::optional(times.front()) : std::nullopt;
  }

  const std::int64_t ranks_;
  const Bytes bytes_;
  const Pairs steps_;
  const Sends sends_;
  std::array<std::vector<Picos>, 2> times_;  // of a smaller and of a larger chunk, from each rank
  std::vector<Picos> has_, next_;            // by rank
};

// The first rank has two chunks on the way: it sends the next one when the second rank says that it has the one before the
// last. A link that is shared sends one at a time.
Picos ChainTime(const Cluster& cluster, const std::vector<DeviceIndex>& devices, Bytes bytes) {
  const Pairs steps = Neighbours(devices, false);
  const Sends sends(cluster, steps);
  const int chunks = ChainChunks(bytes, std::ssize(devices));
  const Picos answer = sends.Latency(devices[1], devices[0]);
  std::map<Bytes, std::vector<Picos>> times_of;                 // by size of a chunk, each step
  std::vector<Picos> arrived(devices.size(), 0);                // of the chunk before
  std::vector<Picos> second(static_cast<std::size_t>(chunks));  // by chunk: when the second rank has it
  for (int i = 0; i < chunks; ++i) {
    std::vector<Picos>& times = times_of[ChainChunkOf(bytes, i, chunks)];
    if (times.empty()) {
      for (const auto& [from, to] : steps)
        times.push_back(sends.Time(from, to, ChainChunkOf(bytes, i, chunks)));
    }
    Picos at = sends.alone() && i > 1 ? Sum(second[static_cast<std::size_t>(i) - 2], answer) : 0;
    for (std::size_t rank = 1; rank < devices.size(); ++rank) {
      at = Sum(sends.alone() ? at : std::max(at, arrived[rank]), times[rank - 1]);
      arrived[rank] = std::max(arrived[rank], at);
      if (rank == 1) second[static_cast<std::size_t>(i)] = at;
    }
  }
  return *std::ranges::max_element(arrived);
}

Picos ExchangeTime(const Cluster& cluster, const std::vector<DeviceIndex>& devices, Bytes bytes) {
  Pairs all;
  std::vector<Bytes> chunks;
  for (std::size_t r = 0; r < devices.size(); ++r) {
    chunks.push_back(ChunkOf(bytes, static_cast<std::int64_t>(r), std::ssize(devices)));
    for (std::size_t other = 0; other < devices.size(); ++other)
      if (other != r) all.emplace_back(devices[r], devices[other]);
  }
  return Sends(cluster, all).Exchange(devices, chunks);
}

}  // namespace

Picos RingPrices::TimeOf(const CollectiveShape& collective) const {
  std::vector<DeviceIndex> devices(collective.devices.begin(), collective.devices.end());
  const bool one_device =
      std::ranges::all_of(devices, [&](DeviceIndex device) { return device == devices.front(); });
  if (one_device) return 0;
  const auto ring_time = [&](bool reduces, bool gathers) {
    Ring ring(cluster_, devices, collective.bytes);
    if (reduces) ring.GoAround(-2);
    if (gathers) ring.GoAround(-1);
    return ring.end();
  };
  switch (collective.type) {
    case CollectiveType::kAllReduce:
      return ring_time(true, true);
    case CollectiveType::kReduceScatter:
      return ring_time(true, false);
    case CollectiveType::kAllGather:
      return ring_time(false, true);
    case CollectiveType::kAllToAll:
      return ExchangeTime(cluster_, devices, collective.bytes);
    case CollectiveType::kReduce:  // ends at the root
      std::rotate(devices.begin(), devices.begin() + 1, devices.end());
      return ChainTime(cluster_, devices, collective.bytes);
    case CollectiveType::kBroadcast:
      return ChainTime(cluster_, devices, collective.bytes);
  }
  return 0;
}

}  // namespace stowplan::sim
