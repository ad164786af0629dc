#include "sim/native/peaks.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace berth::sim {

Peaks::Peaks(const Cluster& cluster, OpIndex ops, std::size_t blocks)
    : bits_(std::bit_width(static_cast<std::uint32_t>(ops / cluster.size()))),
      table_(cluster.devices.size() << bits_),
      peaks_(cluster.devices.size()) {
  for (const Device& device : cluster.devices) capacity_.push_back(device.capacity());
  changes_.reserve(2 * blocks);
}

void Peaks::Find(const ById<Bytes>& live, std::span<const Block> blocks, Moment last) {
  shift_ = std::max(0, static_cast<int>(std::bit_width(last)) - bits_);
  AddUp(blocks);
  FindWanted(live);
  GoThroughWanted(blocks);
}

void Peaks::AddUp(std::span<const Block> blocks) {
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
void Peaks::FindWanted(const ById<Bytes>& live_at_start) {
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

void Peaks::GoThroughWanted(std::span<const Block> blocks) {
  changes_.clear();
  for (const Block& block : blocks) {
    const Bucket* const buckets = BucketsOf(block.device);
    const auto copy = static_cast<std::int32_t>(&block - blocks.data()) + 2;
    if (buckets[block.allocated >> shift_].before != kUnwanted)
      changes_.push_back({block.allocated, block.device, block.owner < 0 ? copy : 1, &block});
    if (buckets[block.freed >> shift_].before != kUnwanted)
      changes_.push_back({block.freed, block.device, 0, &block});
  }
  std::sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) { return a.Before(b); });

  refused_.reset();
  const Bucket* bucket = nullptr;
  Bytes live = 0;
  for (auto change = changes_.begin(); change != changes_.end();) {
    const Bucket* const mine = BucketsOf(change->device) + (change->at >> shift_);
    if (mine != bucket) live = mine->before;
    bucket = mine;
    const auto first = change;
    for (; change != changes_.end() && !first->Before(*change); ++change)
      live += change->turn == 0 ? -change->block->bytes : change->block->bytes;
    const DeviceIndex device = first->device;
    peaks_[device] = std::max(peaks_[device], live);
    if (first->turn != 0 && live > capacity_[device] &&
        (!refused_ || IsBefore(*first->block, *refused_->block)))
      refused_ = {first->block, live};
  }
}

// Of two requests on different devices.
bool Peaks::IsBefore(const Block& a, const Block& b) {
  const bool a_copy = a.owner < 0, b_copy = b.owner < 0;
  if (a.allocated != b.allocated) return a.allocated < b.allocated;
  if (a_copy != b_copy) return b_copy;
  return a_copy ? &a < &b : a.owner < b.owner;
}

}  // namespace berth::sim
