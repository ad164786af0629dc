// Peaks of live bytes, found after a run from when each storage was allocated and freed (docs/model.md
// section 5). Internal to sim/native/.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sim/compiled.h"

namespace stowplan::sim {

using BlockId = std::int32_t;  // from 1 on, in the order of allocation
inline constexpr BlockId kNoBlock = 0;

// A storage or a workspace, from its request to its free.
template <typename Moment>
struct Block {
  bool is_copy() const { return owner < 0; }
  OpIndex op() const { return is_copy() ? ~owner : owner; }

  Moment allocated = 0;
  Moment freed = 0;
  Bytes bytes = 0;  // rounded
  DeviceIndex device = 0;
  OpIndex owner = 0;  // the op whose start it is part of; ~op: a copy of its output
};

// No run has more blocks, one that is nothing included, and no device has more that its ops ask for. (Copies on a device are
// of outputs on others.)
std::size_t MostBlocks(const Compiled& compiled);
std::size_t MostOwnBlocks(const Compiled& compiled);

// Time is cut into buckets whose allocations and frees are added up. Only those in which a peak, or the first
// request that does not fit, can be are gone through in their order.
template <typename Moment>
class Peaks {
 public:
  using Block = sim::Block<Moment>;
  // No more than so many blocks on one device.
  Peaks(const Cluster& cluster, OpIndex ops, std::size_t blocks);

  // live: by device, at the start. The blocks' copies stand in the order of queueing; nothing happens after
  // `last`.
  void Find(const ById<Bytes>& live, std::span<const Block> blocks, Moment last);

  Bytes peak(DeviceIndex device) const { return peaks_[device]; }
  struct Refused {
    const Block* block;
    Bytes live;  // with all that its op asks for
  };
  const std::optional<Refused>& refused() const { return refused_; }  // the first of all devices

 private:
  static constexpr Bytes kUnwanted = -1;
  static constexpr DeviceIndex kAllDevices = -1;
  struct Bucket {
    Bytes allocated = 0, freed = 0;
    Bytes before = kUnwanted;  // live bytes, where the order of the bucket's changes is wanted
  };
  struct Change {
    Moment at;
    DeviceIndex device;
    std::int32_t block;  // its place; ~place: a free
  };

  Bucket* BucketsOf(DeviceIndex device) {
    return table_.data() + (static_cast<std::size_t>(device) << bits_);
  }
  void AddUp(std::span<const Block> blocks);
  void FindWanted(const ById<Bytes>& live);
  void GoThroughWanted(std::span<const Block> blocks);
  std::optional<std::span<const Change>> ChangesOf(DeviceIndex device, std::span<const Block> blocks);
  void GoThrough(std::span<const Change> changes, std::span<const Block> blocks);
  static const Block& BlockOf(const Change& change, std::span<const Block> blocks) {
    return blocks[static_cast<std::size_t>(change.block < 0 ? ~change.block : change.block)];
  }
  // Frees, then the device's ops, then copies. What has one turn is one request.
  static std::int64_t Turn(const Change& change, std::span<const Block> blocks) {
    if (change.block < 0) return -1;
    const OpIndex owner = BlockOf(change, blocks).owner;
    return owner >= 0 ? owner : (std::int64_t{1} << 32) + change.block;
  }
  static bool IsBefore(const Change& a, const Change& b, std::span<const Block> blocks) {
    return a.device != b.device ? a.device < b.device
           : a.at != b.at       ? a.at < b.at
                                : Turn(a, blocks) < Turn(b, blocks);
  }
  static bool IsBefore(const Block& a, const Block& b);

  ById<Bytes> capacity_;
  int bits_;  // of the number of buckets of a device
  int shift_ = 0;
  std::vector<Bucket> table_;
  std::vector<Change> changes_;  // room for those of one device
  ById<Bytes> peaks_;
  std::optional<Refused> refused_;
};

}  // namespace stowplan::sim
