#include "sim/placeto_peaks.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "sim/placeto_rules.h"

namespace berth::sim {
namespace {

constexpr Bytes kNothing = std::numeric_limits<Bytes>::min() / 4;
constexpr Picos kAfterAll = std::numeric_limits<Picos>::max();
constexpr Picos kNotRead = std::numeric_limits<Picos>::min();

}  // namespace

PlacetoPeaks::PlacetoPeaks(PlacetoReplay& replay, const PlacetoWiring& wiring)
    : replay_(replay),
      bytes_(wiring.output_bytes),
      leaves_(std::bit_ceil(PlacetoReplay::Places(wiring, replay.devices()))),
      holds_(wiring.ops.size()),
      released_(leaves_),
      first_released_(leaves_),
      next_released_(wiring.ops.size()),
      live_(2 * leaves_),
      collected_in_(wiring.ops.size()),
      stretches_(replay.devices()),
      within_(leaves_) {
  fragile_.reserve(wiring.ops.size());
  collected_.reserve(wiring.ops.size());
  before_.reserve(2 * wiring.ops.size());
  behind_.reserve(2 * wiring.ops.size());
}

// ---- places and starts in the try ----

std::uint32_t PlacetoPeaks::PlaceOf(OpIndex op) const {
  if (const auto* const joined = replay_.joined(op)) return joined->place;
  const auto& base = replay_.base(op);
  if (base.joined < first_) return base.place;
  return static_cast<std::uint32_t>(base.place +
                                    stretches_[static_cast<std::size_t>(replay_.device(op))].offset);
}

Picos PlacetoPeaks::StartAt(std::size_t d, std::uint32_t place) const {
  if (place < replay_.tail(d)) return replay_.start_at(place);
  return replay_.base_start(static_cast<std::uint32_t>(place - stretches_[d].offset)) + shift_;
}

Picos PlacetoPeaks::UseBy(OpIndex op) const {
  if (const auto* const joined = replay_.joined(op)) return joined->use;
  const auto& base = replay_.base(op);
  if (base.joined < first_ || shift_ == 0) return base.use;
  return base.use - FloorMicro(base.start) + FloorMicro(base.start + shift_);
}

// The hold of an op in the try. It ends before the first op of the device that starts after its last use: if
// that use is on the same device it is usually the place behind it, else it is usually nearby.
PlacetoPeaks::Hold PlacetoPeaks::HoldOf(OpIndex op) const {
  const auto d = static_cast<std::size_t>(replay_.device(op));
  const std::uint32_t place = PlaceOf(op), tail = stretches_[d].tail;
  OpIndex last = op;
  Picos end = kNotRead;
  for (const auto& edge : replay_.Readers(op)) {
    const Picos use = UseBy(edge.op);
    last = use > end ? edge.op : last;
    end = std::max(end, use);
  }
  if (end == kNotRead) end = StartAt(d, place);
  std::uint32_t low = place;
  if (static_cast<std::size_t>(replay_.device(last)) == d) {
    const std::uint32_t use = PlaceOf(last);
    if (StartAt(d, use) <= end) low = use + 1;
  }
  if (low == tail || StartAt(d, low) > end) return {place, low};
  // The stride grows until it is beyond.
  std::uint32_t high = tail;
  for (std::uint32_t stride = 1; low + stride < high; stride *= 2) {
    if (StartAt(d, low + stride) > end) {
      high = low + stride;
    } else {
      low += stride;
    }
  }
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (StartAt(d, middle) <= end) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return {place, low};
}

// ---- the base ----

// The end of the last use is in (latest - 1 us, latest] whatever the shift. Is there a start?
void PlacetoPeaks::FindFragile(OpIndex op, Picos latest) {
  const auto d = static_cast<std::size_t>(replay_.device(op));
  std::uint32_t place = holds_[static_cast<std::size_t>(op)].to;
  const std::uint32_t first = replay_.first(d), tail = replay_.base_tail(d);
  const bool later = place < tail && replay_.base_start(place) <= latest;
  const bool earlier = place > first && replay_.base_start(place - 1) >= latest - kPicosPerMicro;
  if (later || earlier) fragile_.push_back({latest, op});
}

void PlacetoPeaks::StoreBase(std::vector<DeviceUse>& devices) {
  first_ = 0;
  shift_ = 0;
  fragile_.clear();
  std::fill(released_.begin(), released_.end(), 0);
  std::fill(first_released_.begin(), first_released_.end(), -1);
  for (std::size_t d = 0; d < replay_.devices(); ++d) {
    const std::uint32_t tail = replay_.base_tail(d);
    stretches_[d] = {tail, tail, tail, tail, 0, 0};
  }
  for (OpIndex op = 0; op < static_cast<OpIndex>(holds_.size()); ++op) {
    const auto i = static_cast<std::size_t>(op);
    holds_[i] = HoldOf(op);
    if (holds_[i].from < holds_[i].to) {
      released_[holds_[i].to] += bytes_[i];
      next_released_[i] = first_released_[holds_[i].to];
      first_released_[holds_[i].to] = op;
    }
    Picos latest = kNotRead;
    for (const auto& edge : replay_.Readers(op)) {
      const auto& reader = replay_.base(edge.op);
      latest = std::max(latest, reader.use + reader.start % kPicosPerMicro);
    }
    if (latest != kNotRead) FindFragile(op, latest);
  }
  std::sort(fragile_.begin(), fragile_.end());
  std::fill(live_.begin(), live_.end(), kNothing);
  for (std::size_t d = 0; d < replay_.devices(); ++d) {
    Bytes live = 0;
    for (std::uint32_t place = replay_.first(d); place < replay_.base_tail(d); ++place) {
      const auto op = static_cast<std::size_t>(replay_.base_op(place));
      live -= released_[place];
      if (holds_[op].from < holds_[op].to) live += bytes_[op];
      live_[leaves_ + place] = live;
    }
  }
  for (std::size_t i = leaves_ - 1; i > 0; --i) live_[i] = std::max(live_[2 * i], live_[2 * i + 1]);
  for (std::size_t d = 0; d < replay_.devices(); ++d) {
    devices[d].peak = std::max<Bytes>(0, Greatest(replay_.first(d), replay_.base_tail(d)));
  }
}

Bytes PlacetoPeaks::Greatest(std::uint32_t from, std::uint32_t to) const {
  Bytes greatest = kNothing;
  for (std::size_t low = leaves_ + from, high = leaves_ + to; low < high; low /= 2, high /= 2) {
    if (low % 2 == 1) greatest = std::max(greatest, live_[low++]);
    if (high % 2 == 1) greatest = std::max(greatest, live_[--high]);
  }
  return greatest;
}

// ---- a try ----

void PlacetoPeaks::SetStretches(const PlacetoReplay::Result& result) {
  for (Stretch& stretch : stretches_) stretch.offset = 0;
  for (const OpIndex op : replay_.moved()) {
    --stretches_[static_cast<std::size_t>(replay_.base_device(op))].offset;
    ++stretches_[static_cast<std::size_t>(replay_.device(op))].offset;
  }
  for (std::size_t d = 0; d < replay_.devices(); ++d) {
    Stretch& stretch = stretches_[d];
    stretch.back = replay_.head(d);
    stretch.begin = std::min(replay_.first_tail(d), stretch.back);
    stretch.base_back = static_cast<std::uint32_t>(stretch.back - stretch.offset);
    stretch.tail = static_cast<std::uint32_t>(replay_.base_tail(d) + stretch.offset);
    const std::uint32_t begin = stretch.begin;
    stretch.crossing = begin > replay_.first(d) ? live_[leaves_ + begin - 1] - released_[begin] : 0;
  }
  first_ = result.first;
  shift_ = result.rest == PlacetoReplay::Rest::kShifted ? result.shift : 0;
}

void PlacetoPeaks::Collect(OpIndex op) {
  const auto i = static_cast<std::size_t>(op);
  if (collected_in_[i] == run_) return;
  collected_in_[i] = run_;
  collected_.push_back(op);
}

void PlacetoPeaks::CollectWithProducers(OpIndex op) {
  Collect(op);
  for (const auto& edge : replay_.Producers(op)) Collect(edge.op);
}

// All ops whose holds can differ, in places, from those of the base, and maybe some more: what joined and ended
// in the stretch, and what it reads. Of what had joined before, only producers elsewhere: its start is the old
// one, so on its own device what it reads is released where it was.
void PlacetoPeaks::Collect(const PlacetoReplay::Result& result) {
  ++run_;
  collected_.clear();
  const Picos begin = first_ == 0 ? 0 : first_ > replay_.ends() ? kAfterAll : replay_.TimeOfEnd(first_);
  const bool shifted = result.rest == PlacetoReplay::Rest::kShifted;
  // What starts behind the stretch but within two microseconds may have uses that end in it.
  const Picos back = shifted ? std::max(replay_.TimeOfEnd(result.last), replay_.now() - shift_) : 0;
  const Picos clear = back + 2 * kPicosPerMicro;
  for (std::size_t d = 0; d < replay_.devices(); ++d) {
    const std::uint32_t head = replay_.head(d), first_tail = replay_.first_tail(d);
    for (std::uint32_t place = replay_.first_head(d); place < std::min(head, first_tail); ++place) {
      CollectEarlier(replay_.op_at(place), d);
    }
    for (std::uint32_t place = first_tail; place < head; ++place) CollectWithProducers(replay_.op_at(place));
    for (std::uint32_t place = head; place < replay_.tail(d); ++place) {
      if (replay_.start_at(place) > clear + shift_) break;
      CollectWithProducers(replay_.op_at(place));
    }
    auto place = static_cast<std::uint32_t>(replay_.tail(d) - stretches_[d].offset);
    for (; place < replay_.base_tail(d) && replay_.base_start(place) <= clear; ++place) {
      CollectWithProducers(replay_.base_op(place));
    }
    // What nobody reads is held as long as others start at the same time.
    for (place = replay_.first_head(d); place > replay_.first(d); --place) {
      if (replay_.base_start(place - 1) < begin) break;
      Collect(replay_.base_op(place - 1));
    }
    // Where nothing started in the base, a hold that ends there may end before or behind what starts now.
    const Stretch& stretch = stretches_[d];
    if (stretch.begin != stretch.base_back || stretch.begin == stretch.back) continue;
    for (OpIndex op = first_released_[stretch.begin]; op >= 0;) {
      Collect(op);
      op = next_released_[static_cast<std::size_t>(op)];
    }
  }
  if (shift_ % kPicosPerMicro == 0) return;
  const auto from =
      std::lower_bound(fragile_.begin(), fragile_.end(), std::pair(back - 2 * kPicosPerMicro, OpIndex{0}));
  for (auto fragile = from; fragile != fragile_.end(); ++fragile) Collect(fragile->second);
}

void PlacetoPeaks::CollectEarlier(OpIndex op, std::size_t d) {
  if (replay_.Readers(op).empty()) Collect(op);
  for (const auto& edge : replay_.Producers(op)) {
    if (static_cast<std::size_t>(replay_.device(edge.op)) != d) Collect(edge.op);
  }
}

// Adds the part of a hold in a range of places.
void PlacetoPeaks::Clip(Hold hold, Hold range, Bytes bytes, std::int64_t offset,
                        std::vector<Change>& changes) {
  const std::uint32_t from = std::max(hold.from, range.from), to = std::min(hold.to, range.to);
  if (from >= to) return;
  changes.push_back({static_cast<std::uint32_t>(from - offset), bytes});
  changes.push_back({static_cast<std::uint32_t>(to - offset), -bytes});
}

void PlacetoPeaks::Compare(OpIndex op) {
  const auto i = static_cast<std::size_t>(op);
  const Bytes bytes = bytes_[i];
  if (bytes == 0) return;
  const Hold old = holds_[i];
  const Hold now = HoldOf(op);
  const auto old_device = static_cast<std::size_t>(replay_.base_device(op));
  Stretch& from = stretches_[old_device];
  if (old.from < from.begin && old.to > from.begin) from.crossing -= bytes;
  const auto device = static_cast<std::size_t>(replay_.device(op));
  const Stretch& to = stretches_[device];
  const std::uint32_t first = std::max(now.from, to.begin), last = std::min(now.to, to.back);
  if (first < last) {
    within_[first] += bytes;
    within_[last] -= bytes;
  }
  const bool same_before = old_device == device &&
                           std::min(old.from, to.begin) == std::min(now.from, to.begin) &&
                           std::min(old.to, to.begin) == std::min(now.to, to.begin);
  if (!same_before) {
    Clip(old, {replay_.first(old_device), from.begin}, -bytes, 0, before_);
    Clip(now, {replay_.first(device), to.begin}, bytes, 0, before_);
  }
  const bool same_behind = old_device == device &&
                           std::max(old.from, to.base_back) + to.offset == std::max(now.from, to.back) &&
                           std::max(old.to, to.base_back) + to.offset == std::max(now.to, to.back);
  if (!same_behind) {
    Clip(old, {from.base_back, replay_.base_tail(old_device)}, -bytes, 0, behind_);
    Clip(now, {to.back, to.tail}, bytes, to.offset, behind_);
  }
}

// The greatest of live bytes and changes over a range of places of the base. `change` goes over the changes of
// all devices in the order of places.
Bytes PlacetoPeaks::PeakOf(Hold range, std::vector<Change>::const_iterator& change,
                           const std::vector<Change>& changes) const {
  Bytes peak = 0, more = 0;
  std::uint32_t from = range.from;
  for (; change != changes.end() && change->place <= range.to; ++change) {
    if (change->place > from) {
      peak = std::max(peak, Greatest(from, change->place) + more);
      from = change->place;
    }
    more += change->bytes;
  }
  if (from < range.to) peak = std::max(peak, Greatest(from, range.to) + more);
  return peak;
}

void PlacetoPeaks::Find(const PlacetoReplay::Result& result, std::vector<DeviceUse>& devices) {
  SetStretches(result);
  Collect(result);
  before_.clear();
  behind_.clear();
  for (const OpIndex op : collected_) Compare(op);
  const auto by_place = [](const Change& a, const Change& b) { return a.place < b.place; };
  std::sort(before_.begin(), before_.end(), by_place);
  std::sort(behind_.begin(), behind_.end(), by_place);
  auto before = before_.cbegin(), behind = behind_.cbegin();
  for (std::size_t d = 0; d < replay_.devices(); ++d) {
    const Stretch& stretch = stretches_[d];
    Bytes peak = PeakOf({replay_.first(d), stretch.begin}, before, before_);
    Bytes live = stretch.crossing;
    for (std::uint32_t place = stretch.begin; place < stretch.back; ++place) {
      live += std::exchange(within_[place], 0);
      peak = std::max(peak, live);
    }
    within_[stretch.back] = 0;
    peak = std::max(peak, PeakOf({stretch.base_back, replay_.base_tail(d)}, behind, behind_));
    devices[d].peak = peak;
  }
}

}  // namespace berth::sim
