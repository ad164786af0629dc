// Peak memory of a trial under the rules `published`, from that of its base. Internal to sim/.
//
// An op holds its outputs from its own place in its device's order to the first op there that starts after
// the last use; peaks are reached when ops start. In places most of a device's holds are as in the base, also
// where everything is later by a constant: only those of ops and producers of ops that were processed anew are
// found again. Outside the segments of the trial the old live bytes hold, more or less by what changed: a
// maximum over a range of places from each change to the next.
//
// Uses end at whole microseconds, so a shift by another time can move an end to the other side of a start.
// Where that can happen at all is noted for the base, and by which shifts it does not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/published_replay.h"
#include "sim/published_rules.h"

namespace berth::sim {

class PublishedPeaks {
 public:
  PublishedPeaks(PublishedReplay& replay, const PublishedWiring& wiring);

  // After RunBase(); peak by device.
  void StoreBase(std::vector<DeviceUse>& devices);
  // After RunTrial() and before Revert(), if it was not stopped.
  void Find(std::vector<DeviceUse>& devices);

 private:
  // Places [from, to) of a device.
  struct Hold {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
  };
  struct Change {
    std::size_t range;  // of places kept
    std::uint32_t place;
    Bytes bytes;
  };
  // Places of a device between two segments, those of the base [from, to): `offset` further on.
  struct Kept {
    std::uint32_t from;
    std::uint32_t to;
    std::int64_t offset;
  };
  // Places [begin, end) of a device that nothing joined in a segment.
  struct Rest {
    std::uint32_t begin;
    std::uint32_t end;
    std::int64_t offset;
    Picos shift;
  };
  // Places [begin, back) of a device that are made anew in a segment, in place of [base_begin, base_back): from
  // the first that differs to the last.
  struct Anew {
    std::uint32_t begin;
    std::uint32_t back;
    std::uint32_t base_begin;
    std::uint32_t base_back;
    Bytes crossing;  // live all through
  };
  // The last use of what an op holds ends in (latest - 1 us, latest] whatever the shift: at latest less the
  // microsecond's part of (phase + shift). It is the hold's old end if that part is in [least, most].
  struct Fragile {
    Picos latest;
    OpIndex op;
    Picos phase, least, most;
    bool operator<(const Fragile& other) const { return latest < other.latest; }
  };

  void FindFragile(OpIndex op, Picos latest);
  bool IsSteady(OpIndex op) const;
  void SetRanges();
  void CollectAround(std::size_t segment);
  void CollectFragile(std::size_t segment);
  Picos TimeBack(std::size_t segment) const;
  void CollectWithProducers(OpIndex op);
  void CollectUnsteady(OpIndex op);
  void CollectEarlier(OpIndex op, std::size_t d);
  void Collect(OpIndex op);
  void Compare(OpIndex op);
  Hold Clip(Hold hold, std::size_t range, std::size_t d, bool base) const;
  void AddChange(std::size_t range, Hold hold, Bytes bytes);
  Bytes PeakOf(std::size_t range, std::size_t d, std::vector<Change>::const_iterator& change) const;
  Bytes PeakAnew(std::size_t segment, std::size_t d);

  Kept& kept(std::size_t range, std::size_t d) { return kept_[range * replay_.devices() + d]; }
  const Kept& kept(std::size_t range, std::size_t d) const { return kept_[range * replay_.devices() + d]; }
  Anew& anew(std::size_t segment, std::size_t d) { return anew_[segment * replay_.devices() + d]; }
  const Anew& anew(std::size_t segment, std::size_t d) const {
    return anew_[segment * replay_.devices() + d];
  }
  // The range of places, or the shift, of what joined at this end: how many segments begin up to there.
  std::size_t RangeOf(std::uint32_t joined) const {
    std::size_t range = 0;
    while (range < segments_.size() && std::max(segments_[range].first, 1u) <= joined) ++range;
    return range;
  }
  Picos ShiftOf(std::size_t range) const { return range == 0 ? 0 : segments_[range - 1].shift; }

  std::uint32_t PlaceOf(OpIndex op) const {
    const auto& standing = replay_.standing(op);
    const auto d = static_cast<std::size_t>(replay_.device(op));
    return static_cast<std::uint32_t>(standing.place + kept(RangeOf(standing.joined), d).offset);
  }
  Picos StartAt(std::size_t d, std::uint32_t place) const {
    const Rest& rest = rest_[d];
    if (place < rest.begin) return replay_.start_at(place);
    return replay_.base_start(static_cast<std::uint32_t>(place - rest.offset)) + rest.shift;
  }
  Picos UseBy(OpIndex op) const {
    const auto& standing = replay_.standing(op);
    const Picos shift = ShiftOf(RangeOf(standing.joined));
    if (shift == 0) return standing.use;
    const Picos start = replay_.base(op).start;
    return standing.use - FloorMicro(start) + FloorMicro(start + shift);
  }
  Hold HoldOf(OpIndex op) const;
  std::uint32_t FirstAfter(std::size_t d, Picos time, std::uint32_t from, std::uint32_t guess) const;
  Bytes Greatest(std::uint32_t from, std::uint32_t to) const;

  PublishedReplay& replay_;
  const std::vector<Bytes>& bytes_;  // [op]
  const std::size_t leaves_;

  // The base.
  std::vector<Hold> holds_;              // [op]
  std::vector<std::uint8_t> steady_;     // [op]
  std::vector<Bytes> released_;          // [place]: by those that hold up to there;
  std::vector<OpIndex> first_released_;  // the first of them, -1 = none; the others by
  std::vector<OpIndex> next_released_;   // [op]
  std::vector<Bytes> live_;              // a tree of maxima; the leaves, in its second half, by place
  std::vector<Fragile> fragile_;         // sorted

  // A trial.
  std::uint64_t run_ = 0;
  std::vector<std::uint64_t> collected_in_;  // [op]
  std::vector<OpIndex> collected_;
  std::span<const PublishedReplay::Segment> segments_;
  std::vector<Rest> rest_;       // [device]
  std::vector<Kept> kept_;       // [range][device]; one more than segments
  std::vector<Anew> anew_;       // [segment][device]
  std::vector<Bytes> within_;    // [place made anew]: what is held from there on, more or less
  std::vector<Change> changes_;  // of places kept, as in the base
};

}  // namespace berth::sim
