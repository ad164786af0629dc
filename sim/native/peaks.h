// Peaks of live bytes, found after a run from when each storage was allocated and freed (docs/model.md
// section 5). Internal to sim/native/.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sim/compiled.h"
#include "sim/native/moment.h"

namespace berth::sim {

// A storage or a workspace, from its request to its free.
struct Block {
  Moment allocated = 0;
  Moment freed = 0;
  Bytes bytes = 0;  // rounded
  DeviceIndex device = 0;
  OpIndex owner = 0;  // the op whose start it is part of; ~op: a copy of its output
};

// Time is cut into buckets whose allocations and frees are added up. Only those in which a peak, or the first
// request that does not fit, can be are gone through in their order.
class Peaks {
 public:
  // No more than so many blocks.
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
  struct Bucket {
    Bytes allocated = 0, freed = 0;
    Bytes before = kUnwanted;  // live bytes, where the order of the bucket's changes is wanted
  };
  // Frees come first and have no order; then the device's op, then copies.
  struct Change {
    Moment at;
    DeviceIndex device;
    std::int32_t turn;  // 0: a free, 1: of an op, else of a copy
    const Block* block;
    bool Before(const Change& other) const {
      return device != other.device ? device < other.device
             : at != other.at       ? at < other.at
                                    : turn < other.turn;
    }
  };

  Bucket* BucketsOf(DeviceIndex device) {
    return table_.data() + (static_cast<std::size_t>(device) << bits_);
  }
  void AddUp(std::span<const Block> blocks);
  void FindWanted(const ById<Bytes>& live);
  void GoThroughWanted(std::span<const Block> blocks);
  static bool IsBefore(const Block& a, const Block& b);

  ById<Bytes> capacity_;
  int bits_;  // of the number of buckets of a device
  int shift_ = 0;
  std::vector<Bucket> table_;
  std::vector<Change> changes_;
  ById<Bytes> peaks_;
  std::optional<Refused> refused_;
};

}  // namespace berth::sim
