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
    : rows_(cluster.devices.size()),
      table_(2 * static_cast<std::size_t>(ops) + cluster.devices.size()),
      changes_(2 * blocks),
      peaks_(cluster.devices.size()) {
  for (const Device& device : cluster.devices) capacity_.push_back(device.capacity());
}

template <typename Moment>
void Peaks<Moment>::Find(const ById<Bytes>& live, const ById<OpIndex>& ops, std::span<const Block> blocks,
                         std::span<const Moment> freed, Moment last) {
  blocks_ = blocks;
  freed_ = freed;
  SetRows(ops, last);
  AddUp();
  FindWanted(live);
  GoThroughWanted();
}

// A device's buckets are as many as its ops, half or twice of them. Few devices are thought to be busy all the time; of many each has a
// time of its own, or all its ops would be in one bucket.
template <typename Moment>
void Peaks<Moment>::SetRows(const ById<OpIndex>& ops, Moment last) {
  constexpr DeviceIndex kFew = 16;
  const bool few = devices() <= kFew;
  for (Row& row : rows_) {
    row.first = few ? 0 : last;
    row.last = few ? last : 0;
  }
  for (std::size_t i = 0; i < blocks_.size() && !few; ++i) {
    Row& row = rows_[blocks_[i].device];
    row.first = std::min(row.first, blocks_[i].allocated);
    row.last = std::max(row.last, freed_[i]);
  }
  std::int32_t begin = 0;
  for (DeviceIndex d = 0; d < devices(); ++d) {
    Row& row = rows_[d];
    const int bits = std::bit_width(static_cast<std::uint32_t>(few ? ops[d] / 2 : ops[d]));
    row.shift = row.last > row.first ? std::max(0, BitWidth(row.last - row.first) - bits) : 0;
    row.begin = begin;
    row.buckets = std::int32_t{1} << bits;
    begin += row.buckets;
  }
  std::fill_n(table_.begin(), begin, Bucket{});
}

template <typename Moment>
void Peaks<Moment>::AddUp() {
  const std::span<const Block> blocks = blocks_;
  const std::span<const Moment> freed = freed_;
  const Row* const rows = rows_.data();
  Bucket* const table = table_.data();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Row& row = rows[blocks[i].device];
    Bucket& first = table[row.BucketOf(blocks[i].allocated)];
    first.allocated += blocks[i].bytes;
    first.Count();
    Bucket& last = table[row.BucketOf(freed[i])];
    last.freed += blocks[i].bytes;
    last.Count();
  }
}

// A bucket's peak is at most what is live before it and all that it allocates. What is live after it is at
// most the peak so far, and the first request that does not fit is not behind a bucket after which too much
// is live.
template <typename Moment>
void Peaks<Moment>::FindWanted(const ById<Bytes>& live_at_start) {
  for (DeviceIndex d = 0; d < devices(); ++d) {
    Row& row = rows_[d];
    const std::span buckets(table_.data() + row.begin, static_cast<std::size_t>(row.buckets));
    const Bucket* first_wanted = nullptr;
    const Bucket* last_wanted = nullptr;
    row.changes = 0;
    Bytes live = live_at_start[d], least = live;
    for (const Bucket& bucket : buckets) least = std::max(least, live += bucket.allocated - bucket.freed);
    peaks_[d] = least;
    live = live_at_start[d];
    bool may_be_first = true;
    for (Bucket& bucket : buckets) {
      const Bytes most = live + bucket.allocated;
      if (most > least || (may_be_first && most > capacity_[d])) {
        row.changes += bucket.count();
        bucket.before = live;
        if (first_wanted == nullptr) first_wanted = &bucket;
        last_wanted = &bucket;
      }
      live += bucket.allocated - bucket.freed;
      may_be_first = may_be_first && live <= capacity_[d];
    }
    if (row.changes == 0) continue;
    row.wanted_first = row.first + (static_cast<Moment>(first_wanted - buckets.data()) << row.shift);
    row.wanted_length = (static_cast<Moment>(last_wanted - first_wanted + 1) << row.shift) - 1;
  }
}

// Wanted changes of the devices in [first, end), for which there is room.
template <typename Moment>
void Peaks<Moment>::Gather(DeviceIndex first, DeviceIndex end) {
  std::int32_t begin = 0;
  for (DeviceIndex d = first; d < end; ++d) {
    rows_[d].changes_end = begin;
    begin += rows_[d].changes;
  }
  STOWPLAN_CHECK(static_cast<std::size_t>(begin) <= changes_.size());
  const std::span<const Block> blocks = blocks_;
  const std::span<const Moment> freed = freed_;
  Row* const rows = rows_.data();
  const auto add = [&](DeviceIndex device, Moment at, std::int32_t block) {
    Row& row = rows[device];
    if (at - row.wanted_first > row.wanted_length || device < first || device >= end) return;
    if (row.changes > 0 && table_[row.BucketOf(at)].wanted())
      changes_[static_cast<std::size_t>(row.changes_end++)] = {at, block};
  };
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    add(blocks[i].device, blocks[i].allocated, static_cast<std::int32_t>(i));
    add(blocks[i].device, freed[i], ~static_cast<std::int32_t>(i));
  }
}

// Nearly always all of them find room together. Else those of as many devices as do.
template <typename Moment>
void Peaks<Moment>::GoThroughWanted() {
  refused_.reset();
  for (DeviceIndex first = 0, end = 0; first < devices(); first = end) {
    std::size_t sum = 0;
    do {
      sum += static_cast<std::size_t>(rows_[end++].changes);
    } while (end < devices() && sum + static_cast<std::size_t>(rows_[end].changes) <= changes_.size());
    Gather(first, end);
    for (DeviceIndex d = first; d < end; ++d) GoThrough(d);
  }
}

template <typename Moment>
void Peaks<Moment>::GoThrough(DeviceIndex device) {
  const Row& row = rows_[device];
  const std::span changes(changes_.data() + row.changes_end - row.changes,
                          static_cast<std::size_t>(row.changes));
  std::sort(changes.begin(), changes.end(),
            [this](const Change& a, const Change& b) { return IsBefore(a, b); });
  const Bucket* bucket = nullptr;
  Bytes live = 0;
  for (auto change = changes.begin(); change != changes.end();) {
    const auto first = change;
    const Bucket* const mine = &table_[row.BucketOf(first->at)];
    if (mine != bucket) live = mine->before;
    bucket = mine;
    for (; change != changes.end() && !IsBefore(*first, *change); ++change)
      live += change->block < 0 ? -BlockOf(*change).bytes : BlockOf(*change).bytes;
    peaks_[device] = std::max(peaks_[device], live);
    if (first->block >= 0 && live > capacity_[device] &&
        (!refused_ || IsBefore(BlockOf(*first), *refused_->block)))
      refused_ = {&BlockOf(*first), live};
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
