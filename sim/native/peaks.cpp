#include "sim/native/peaks.h"

#include <algorithm>
#include <bit>

#include "sim/base/error.h"

namespace stowplan::sim {
namespace {

int BitWidth(UInt128 value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  return static_cast<int>(high > 0 ? 64 + std::bit_width(high)
                                   : std::bit_width(static_cast<std::uint64_t>(value)));
}

}  // namespace

std::size_t MostOwnBlocks(const Compiled& c) {
  const auto workspaces = std::count_if(c.rows.begin(), c.rows.end(),
                                        [](const Compiled::OpRow& row) { return row.workspace != 0; });
  return c.output_bytes.size() + static_cast<std::size_t>(workspaces);
}

std::size_t MostBlocks(const Compiled& c) {
  return MostOwnBlocks(c) + c.most_transfers - c.most_light + 1;
}

template <typename Moment>
Peaks<Moment>::Peaks(const Cluster& cluster, OpIndex ops, std::size_t blocks)
    : bits_(std::bit_width(static_cast<std::uint32_t>(ops / cluster.size()))),
      table_(cluster.devices.size() << bits_),
      peaks_(cluster.devices.size()) {
  for (const Device& device : cluster.devices) capacity_.push_back(device.capacity());
  changes_.resize(2 * blocks + 2);
}

template <typename Moment>
void Peaks<Moment>::Find(const ById<Bytes>& live, std::span<const Block> blocks, Moment last) {
  shift_ = std::max(0, BitWidth(last) - bits_);
  AddUp(blocks);
  FindWanted(live);
  GoThroughWanted(blocks);
}

template <typename Moment>
void Peaks<Moment>::AddUp(std::span<const Block> blocks) {
  table_.assign(table_.size(), {});
  for (const Block& block : blocks) {
    Bucket* const buckets = BucketsOf(block.device);
    buckets[block.allocated >> shift_].allocated += block.bytes;
    buckets[block.freed >> shift_].freed += block.bytes;
  }
}

// A bucket's peak is at most what is live before it and all that it allocates. What is live after it is at
// most the peak so far, and the first request that does not fit is not behind a bucket after which too much
// is live.
template <typename Moment>
void Peaks<Moment>::FindWanted(const ById<Bytes>& live_at_start) {
  for (DeviceIndex d = 0; d < static_cast<DeviceIndex>(peaks_.size()); ++d) {
    const std::span buckets(BucketsOf(d), std::size_t{1} << bits_);
    Bytes live = live_at_start[d], least = live;
    for (const Bucket& bucket : buckets) least = std::max(least, live += bucket.allocated - bucket.freed);
    peaks_[d] = least;
    live = live_at_start[d];
    bool may_be_first = true;
    for (Bucket& bucket : buckets) {
      const Bytes most = live + bucket.allocated;
      if (most > least || (may_be_first && most > capacity_[d])) bucket.before = live;
      live += bucket.allocated - bucket.freed;
      may_be_first = may_be_first && live <= capacity_[d];
    }
  }
}

// Nearly always all of them find room together.
template <typename Moment>
void Peaks<Moment>::GoThroughWanted(std::span<const Block> blocks) {
  refused_.reset();
  if (const auto changes = ChangesOf(kAllDevices, blocks)) return GoThrough(*changes, blocks);
  for (DeviceIndex d = 0; d < static_cast<DeviceIndex>(peaks_.size()); ++d) {
    const auto changes = ChangesOf(d, blocks);
    STOWPLAN_CHECK(changes.has_value());
    GoThrough(*changes, blocks);
  }
}

// Those in wanted buckets, in their order; nothing if there is no room for them.
template <typename Moment>
auto Peaks<Moment>::ChangesOf(DeviceIndex device, std::span<const Block> blocks)
    -> std::optional<std::span<const Change>> {
  Change* end = changes_.data();
  const Change* const full = end + changes_.size() - 1;
  for (const Block& block : blocks) {
    if (device != kAllDevices && block.device != device) continue;
    const Bucket* const buckets = BucketsOf(block.device);
    const auto place = static_cast<std::int32_t>(&block - blocks.data());
    if (buckets[block.allocated >> shift_].before != kUnwanted)
      *end++ = {block.allocated, block.device, place};
    if (buckets[block.freed >> shift_].before != kUnwanted) *end++ = {block.freed, block.device, ~place};
    if (end >= full) return std::nullopt;
  }
  const auto before = [&](const Change& a, const Change& b) { return IsBefore(a, b, blocks); };
  std::sort(changes_.data(), end, before);
  return std::span<const Change>(changes_.data(), end);
}

template <typename Moment>
void Peaks<Moment>::GoThrough(std::span<const Change> changes, std::span<const Block> blocks) {
  const Bucket* bucket = nullptr;
  Bytes live = 0;
  for (auto change = changes.begin(); change != changes.end();) {
    const auto first = change;
    const DeviceIndex device = first->device;
    const Bucket* const mine = BucketsOf(device) + (first->at >> shift_);
    if (mine != bucket) live = mine->before;
    bucket = mine;
    for (; change != changes.end() && !IsBefore(*first, *change, blocks); ++change)
      live += change->block < 0 ? -BlockOf(*change, blocks).bytes : BlockOf(*change, blocks).bytes;
    peaks_[device] = std::max(peaks_[device], live);
    if (first->block >= 0 && live > capacity_[device] &&
        (!refused_ || IsBefore(BlockOf(*first, blocks), *refused_->block)))
      refused_ = {&BlockOf(*first, blocks), live};
  }
}

// Of two requests on different devices.
template <typename Moment>
bool Peaks<Moment>::IsBefore(const Block& a, const Block& b) {
  const bool a_copy = a.owner < 0, b_copy = b.owner < 0;
  if (a.allocated != b.allocated) return a.allocated < b.allocated;
  if (a_copy != b_copy) return b_copy;
  return a_copy ? &a < &b : a.owner < b.owner;
}

template class Peaks<std::uint64_t>;
template class Peaks<UInt128>;

}  // namespace stowplan::sim
