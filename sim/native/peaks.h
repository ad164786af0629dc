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

// A storage or a workspace.
template <typename Moment>
struct Block {
  bool is_copy() const { return owner < 0; }
  OpIndex op() const { return is_copy() ? ~owner : owner; }

  Moment allocated = 0;
  Bytes bytes = 0;  // rounded
  DeviceIndex device = 0;
  OpIndex owner = 0;  // the op whose start it is part of; ~op: a copy of its output
};

// No run has more blocks, one that is nothing included, and no device has more that its ops ask for. (Copies on a device are
// of outputs on others.)
std::size_t MostBlocks(const Compiled& compiled);
std::size_t MostOwnBlocks(const Compiled& compiled);

// The time of each device is cut into buckets whose allocations and frees are added up. Only those in which a peak, or the
// first request that does not fit, can be are gone through in their order.
template <typename Moment>
class Peaks {
 public:
  using Block = sim::Block<Moment>;
  // No more than so many blocks on one device.
  Peaks(const Cluster& cluster, OpIndex ops, std::size_t blocks);

  // By device: what is live at the start, how many ops it has. The blocks' copies stand in the order of queueing. By block:
  // when it is freed. Nothing happens after `last`.
  void Find(const ById<Bytes>& live, const ById<OpIndex>& ops, std::span<const Block> blocks,
            std::span<const Moment> freed, Moment last);

  Bytes peak(DeviceIndex device) const { return peaks_[device]; }
  struct Refused {
    const Block* block;
    Bytes live;  // with all that its op asks for
  };
  const std::optional<Refused>& refused() const { return refused_; }  // the first of all devices

 private:
  struct Bucket {
    Bytes allocated = 0, freed = 0;
    // Live bytes, where the order of the bucket's changes is wanted. Else below 0: ~ of how many there are.
    Bytes before = ~Bytes{0};
    bool wanted() const { return before >= 0; }
    void Count() { --before; }
    std::int32_t count() const { return static_cast<std::int32_t>(~before); }
  };
  struct Change {
    Moment at;
    std::int32_t block;  // its place; ~place: a free
  };
  struct Row {                            // of a device
    Moment first = 0, last = 0;           // nothing happens outside
    std::int32_t begin = 0, buckets = 0;  // in the table; how many
    int shift = 0;
    std::int32_t changes = 0,
                 changes_end = 0;  // wanted ones; while they are gathered, where the next one comes
    Moment wanted_first = 0, wanted_length = 0;  // where they are; behind it by how much at most

    std::size_t BucketOf(Moment at) const {
      return static_cast<std::size_t>(begin) + static_cast<std::size_t>((at - first) >> shift);
    }
  };
  DeviceIndex devices() const { return static_cast<DeviceIndex>(rows_.size()); }
  void SetRows(const ById<OpIndex>& ops, Moment last);
  void AddUp();
  void FindWanted(const ById<Bytes>& live);
  void Gather(DeviceIndex first, DeviceIndex end);
  void GoThroughWanted();
  void GoThrough(DeviceIndex device);
  const Block& BlockOf(const Change& change) const {
    return blocks_[static_cast<std::size_t>(change.block < 0 ? ~change.block : change.block)];
  }
  // Frees, then the device's ops, then copies. What has one turn is one request.
  std::int64_t TurnOf(const Change& change) const {
    if (change.block < 0) return -1;
    const OpIndex owner = BlockOf(change).owner;
    return owner >= 0 ? owner : (std::int64_t{1} << 32) + change.block;
  }
  bool IsBefore(const Change& a, const Change& b) const {  // of one device
    return a.at != b.at ? a.at < b.at : TurnOf(a) < TurnOf(b);
  }
  static bool IsBefore(const Block& a, const Block& b);

  std::span<const Block> blocks_;  // of the run, as what follows
  std::span<const Moment> freed_;
  ById<Bytes> capacity_;
  ById<Row> rows_;
  std::vector<Bucket> table_;    // of the devices in turn
  std::vector<Change> changes_;  // room for those of one device
  ById<Bytes> peaks_;
  std::optional<Refused> refused_;
};

}  // namespace stowplan::sim
