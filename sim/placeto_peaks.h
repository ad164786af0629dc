// Peak memory of a try in the preset `placeto`, from that of its base. Internal to sim/.
//
// An op holds its outputs from its own place in its device's order to the first op there that starts after
// the last use; peaks are reached when ops start. In places most of a device's holds are as in the base, also
// where everything is later by a constant: only those of ops and producers of ops that were processed anew are
// found again. Behind and before the stretch of the try the old live bytes hold, more or less by what changed:
// a maximum over a range of places for each stretch between two changes.
//
// Uses end at whole microseconds, so a shift by another time can move an end to the other side of a start.
// Where that can happen at all is noted for the base, and looked at again in each try.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/placeto_replay.h"

namespace berth::sim {

class PlacetoPeaks {
 public:
  PlacetoPeaks(PlacetoReplay& replay, const PlacetoWiring& wiring);

  // After RunBase(); peak by device.
  void StoreBase(std::vector<DeviceUse>& devices);
  // After Try() and before Revert(), if it was not stopped.
  void Find(const PlacetoReplay::Result& result, std::vector<DeviceUse>& devices);

 private:
  // Places [from, to) of a device.
  struct Hold {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
  };
  struct Change {
    std::uint32_t place;
    Bytes bytes;
  };
  // Places of a device in a try: as in the base before `begin`, anew up to `back`, then as in the base again,
  // `offset` places further.
  struct Stretch {
    std::uint32_t begin;
    std::uint32_t back;
    std::uint32_t base_back;
    std::uint32_t tail;  // the end of its places
    std::int64_t offset;
    Bytes crossing;  // live all through the stretch
  };

  void FindFragile(OpIndex op, Picos latest);
  void SetStretches(const PlacetoReplay::Result& result);
  void Collect(const PlacetoReplay::Result& result);
  void CollectWithProducers(OpIndex op);
  void CollectEarlier(OpIndex op, std::size_t d);
  void Collect(OpIndex op);
  void Compare(OpIndex op);
  static void Clip(Hold hold, Hold range, Bytes bytes, std::int64_t offset, std::vector<Change>& changes);
  Bytes Peak(std::size_t d);
  Bytes PeakOf(Hold range, std::vector<Change>::const_iterator& change,
               const std::vector<Change>& changes) const;

  std::uint32_t PlaceOf(OpIndex op) const;
  Picos StartAt(std::size_t d, std::uint32_t place) const;
  Picos UseBy(OpIndex op) const;
  Hold HoldOf(OpIndex op) const;
  Bytes Greatest(std::uint32_t from, std::uint32_t to) const;

  PlacetoReplay& replay_;
  const std::vector<Bytes>& bytes_;  // [op]
  const std::size_t leaves_;

  // The base.
  std::vector<Hold> holds_;              // [op]
  std::vector<Bytes> released_;          // [place]: by those that hold up to there;
  std::vector<OpIndex> first_released_;  // the first of them, -1 = none; the others by
  std::vector<OpIndex> next_released_;   // [op]
  std::vector<Bytes> live_;              // a tree of maxima; the leaves, in its second half, by place
  std::vector<std::pair<Picos, OpIndex>> fragile_;  // by the latest that its last use can be

  // A try.
  std::uint64_t run_ = 0;
  std::vector<std::uint64_t> collected_in_;  // [op]
  std::vector<OpIndex> collected_;
  std::vector<Stretch> stretches_;  // [device]
  std::uint32_t first_ = 0;         // PlacetoReplay::Result
  Picos shift_ = 0;
  std::vector<Bytes> within_;            // [place] of the stretch: what is held from there on, more or less
  std::vector<Change> before_, behind_;  // what changed, by place in the base
};

}  // namespace berth::sim
