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
      kept_((PlacetoReplay::kMostStretches + 1) * replay.devices()),
      anew_(PlacetoReplay::kMostStretches * replay.devices()),
      within_(leaves_) {
  fragile_.reserve(wiring.ops.size());
  collected_.reserve(wiring.ops.size());
  changes_.reserve(4 * (wiring.ops.size() + PlacetoReplay::kSlack));
}

// ---- places and starts in the try ----

std::uint32_t PlacetoPeaks::PlaceOf(OpIndex op) const {
  if (const auto* const joined = replay_.joined(op)) return joined->place;
  const auto& base = replay_.base(op);
  const auto d = static_cast<std::size_t>(replay_.device(op));
  return static_cast<std::uint32_t>(base.place + kept(RangeOf(base.joined), d).offset);
}

Picos PlacetoPeaks::StartAt(std::size_t d, std::uint32_t place) const {
  if (place < replay_.tail(d)) return replay_.start_at(place);
  const Kept& last = kept(stretches_.size(), d);
  return replay_.base_start(static_cast<std::uint32_t>(place - last.offset)) + ShiftOf(stretches_.size());
}

Picos PlacetoPeaks::UseBy(OpIndex op) const {
  if (const auto* const joined = replay_.joined(op)) return joined->use;
  const auto& base = replay_.base(op);
  const Picos shift = ShiftOf(RangeOf(base.joined));
  return shift == 0 ? base.use : base.use - FloorMicro(base.start) + FloorMicro(base.start + shift);
}

// The hold of an op in the try. It ends before the first op of the device that starts after its last use: if
// that use is on the same device it is usually the place behind it, else it is usually nearby.
PlacetoPeaks::Hold PlacetoPeaks::HoldOf(OpIndex op) const {
  const auto d = static_cast<std::size_t>(replay_.device(op));
  const Kept& rest = kept(stretches_.size(), d);
  const std::uint32_t place = PlaceOf(op), tail = static_cast<std::uint32_t>(rest.to + rest.offset);
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

// Is there a start on the device in (latest - 1 us, latest]? `latest`: of all readers.
void PlacetoPeaks::FindFragile(OpIndex op, Picos latest) {
  const auto d = static_cast<std::size_t>(replay_.device(op));
  const std::uint32_t place = holds_[static_cast<std::size_t>(op)].to;
  const std::uint32_t first = replay_.first(d), tail = replay_.base_tail(d);
  const bool later = place < tail && replay_.base_start(place) <= latest;
  const bool earlier = place > first && replay_.base_start(place - 1) >= latest - kPicosPerMicro;
  if (!later && !earlier) return;
  Fragile fragile{latest, op, 0, 0, -1};
  int latest_readers = 0;
  for (const auto& edge : replay_.Readers(op)) {
    const auto& reader = replay_.base(edge.op);
    const Picos phase = reader.start % kPicosPerMicro;
    if (reader.use + phase <= latest - kPicosPerMicro) continue;
    ++latest_readers;
    fragile.phase = phase;
  }
  // Of several readers one or another may be the last.
  if (latest_readers == 1) {
    fragile.least = later ? latest - replay_.base_start(place) + 1 : 0;
    fragile.most = earlier ? latest - replay_.base_start(place - 1) : kPicosPerMicro;
  }
  fragile_.push_back(fragile);
}

void PlacetoPeaks::StoreBase(std::vector<DeviceUse>& devices) {
  stretches_ = {};
  fragile_.clear();
  std::fill(released_.begin(), released_.end(), 0);
  std::fill(first_released_.begin(), first_released_.end(), -1);
  for (std::size_t d = 0; d < replay_.devices(); ++d) {
    kept(0, d) = {replay_.first(d), replay_.base_tail(d), 0};
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

void PlacetoPeaks::SetRanges() {
  stretches_ = replay_.stretches();
  for (std::size_t d = 0; d < replay_.devices(); ++d) {
    Kept before{replay_.first(d), 0, 0};
    for (std::size_t i = 0; i < stretches_.size(); ++i) {
      const auto& waiting = replay_.waiting(i, d);
      Anew& made = anew(i, d);
      made.back = waiting.last_head;
      made.begin = std::min(waiting.tail, made.back);
      made.base_begin = static_cast<std::uint32_t>(made.begin - before.offset);
      made.base_back = replay_.BaseHead(d, stretches_[i].last);
      const bool any = made.base_begin > replay_.first(d);
      made.crossing = any ? live_[leaves_ + made.base_begin - 1] - released_[made.base_begin] : 0;
      before.to = made.base_begin;
      kept(i, d) = before;
      before = {made.base_back, 0, std::int64_t{made.back} - made.base_back};
    }
    before.to = replay_.base_tail(d);
    kept(stretches_.size(), d) = before;
  }
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

// When the try was back behind a stretch, by the base's clock; before everything if it never was.
Picos PlacetoPeaks::TimeBack(std::size_t stretch) const {
  const auto& [first, last, shift, now] = stretches_[stretch];
  return last < replay_.ends() ? std::max(replay_.TimeOfEnd(last), now - shift) : 0;
}

// All ops whose holds can differ, in places, from those of the base, and maybe some more: what joined and ended
// in the stretch, and what it reads. Of what had joined before, only producers elsewhere: its start is where it
// was, so on its own device what it reads is released where it was.
void PlacetoPeaks::CollectAround(std::size_t stretch) {
  const auto& [first, last, shift, now] = stretches_[stretch];
  const Picos begin = first == 0 ? 0 : first > replay_.ends() ? kAfterAll : replay_.TimeOfEnd(first);
  // What starts behind the stretch but within two microseconds may have uses that end in it.
  const Picos clear = TimeBack(stretch) + 2 * kPicosPerMicro;
  for (std::size_t d = 0; d < replay_.devices(); ++d) {
    const auto [head, tail, last_head, last_tail] = replay_.waiting(stretch, d);
    for (std::uint32_t place = head; place < std::min(last_head, tail); ++place) {
      CollectEarlier(replay_.op_at(place), d);
    }
    for (std::uint32_t place = tail; place < last_head; ++place) CollectWithProducers(replay_.op_at(place));
    for (std::uint32_t place = last_head; place < last_tail; ++place) {
      if (replay_.start_at(place) > clear + shift) break;
      CollectWithProducers(replay_.op_at(place));
    }
    auto place = static_cast<std::uint32_t>(last_tail - kept(stretch + 1, d).offset);
    for (; place < replay_.base_tail(d) && replay_.base_start(place) <= clear; ++place) {
      CollectWithProducers(replay_.base_op(place));
    }
    // What nobody reads is held as long as others start at the same time.
    const Kept& before = kept(stretch, d);
    for (place = static_cast<std::uint32_t>(head - before.offset); place > before.from; --place) {
      if (replay_.base_start(place - 1) < begin) break;
      Collect(replay_.base_op(place - 1));
    }
    // Where nothing started in the base, a hold that ends there may end before or behind what starts now.
    const Anew& made = anew(stretch, d);
    if (made.base_begin != made.base_back || made.begin == made.back) continue;
    for (OpIndex op = first_released_[made.base_begin]; op >= 0;) {
      Collect(op);
      op = next_released_[static_cast<std::size_t>(op)];
    }
  }
}

// What lies behind a stretch, and what began there and ends in the next one.
void PlacetoPeaks::CollectFragile(std::size_t stretch) {
  const Picos shift = stretches_[stretch].shift;
  if (shift % kPicosPerMicro == 0) return;
  auto fragile = std::lower_bound(fragile_.begin(), fragile_.end(),
                                  Fragile{TimeBack(stretch) - 2 * kPicosPerMicro, 0, 0, 0, 0});
  const Picos part = shift % kPicosPerMicro + (shift < 0 ? kPicosPerMicro : 0);
  const bool is_last = stretch + 1 == stretches_.size() || stretches_[stretch + 1].last == replay_.ends();
  const Picos to = is_last ? kAfterAll : TimeBack(stretch + 1) + 2 * kPicosPerMicro;
  for (; fragile != fragile_.end() && fragile->latest <= to; ++fragile) {
    const Picos less = (fragile->phase + part) % kPicosPerMicro;
    if (less < fragile->least || less > fragile->most) Collect(fragile->op);
  }
}

void PlacetoPeaks::CollectEarlier(OpIndex op, std::size_t d) {
  if (replay_.Readers(op).empty()) Collect(op);
  for (const auto& edge : replay_.Producers(op)) {
    if (static_cast<std::size_t>(replay_.device(edge.op)) != d) Collect(edge.op);
  }
}

// The part of a hold in places kept, as in the base; `base`: it is a hold of the base.
PlacetoPeaks::Hold PlacetoPeaks::Clip(Hold hold, std::size_t range, std::size_t d, bool base) const {
  const auto& [from, to, further] = kept(range, d);
  const std::int64_t offset = base ? 0 : further;
  const auto first = std::max<std::int64_t>(hold.from - offset, from);
  const auto last = std::min<std::int64_t>(hold.to - offset, to);
  if (first >= last) return {};
  return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last)};
}

void PlacetoPeaks::AddChange(std::size_t range, Hold hold, Bytes bytes) {
  if (hold.from == hold.to) return;
  changes_.push_back({range, hold.from, bytes});
  changes_.push_back({range, hold.to, -bytes});
}

void PlacetoPeaks::Compare(OpIndex op) {
  const auto i = static_cast<std::size_t>(op);
  const Bytes bytes = bytes_[i];
  if (bytes == 0) return;
  const Hold old = holds_[i], now = HoldOf(op);
  const auto old_device = static_cast<std::size_t>(replay_.base_device(op));
  const auto device = static_cast<std::size_t>(replay_.device(op));
  for (std::size_t k = 0; k < stretches_.size(); ++k) {
    Anew& was = anew(k, old_device);
    if (old.from < was.base_begin && old.to > was.base_begin) was.crossing -= bytes;
    const Anew& is = anew(k, device);
    const std::uint32_t first = std::max(now.from, is.begin), last = std::min(now.to, is.back);
    if (first >= last) continue;
    within_[first] += bytes;
    if (last < is.back) within_[last] -= bytes;
  }
  for (std::size_t k = 0; k <= stretches_.size(); ++k) {
    const Hold was = Clip(old, k, old_device, true), is = Clip(now, k, device, false);
    if (old_device == device && was.from == is.from && was.to == is.to) continue;
    AddChange(k, was, -bytes);
    AddChange(k, is, bytes);
  }
}

// The greatest of live bytes and changes over places kept. `change` goes over the changes of all devices.
Bytes PlacetoPeaks::PeakOf(std::size_t range, std::size_t d,
                           std::vector<Change>::const_iterator& change) const {
  const Kept& places = kept(range, d);
  Bytes peak = 0, more = 0;
  std::uint32_t from = places.from;
  for (; change != changes_.end() && change->range == range && change->place <= places.to; ++change) {
    if (change->place > from) {
      peak = std::max(peak, Greatest(from, change->place) + more);
      from = change->place;
    }
    more += change->bytes;
  }
  return from < places.to ? std::max(peak, Greatest(from, places.to) + more) : peak;
}

Bytes PlacetoPeaks::PeakAnew(std::size_t stretch, std::size_t d) {
  const Anew& made = anew(stretch, d);
  Bytes live = made.crossing, peak = 0;
  for (std::uint32_t place = made.begin; place < made.back; ++place) {
    live += std::exchange(within_[place], 0);
    peak = std::max(peak, live);
  }
  return peak;
}

void PlacetoPeaks::Find(std::vector<DeviceUse>& devices) {
  SetRanges();
  ++run_;
  collected_.clear();
  for (std::size_t k = 0; k < stretches_.size(); ++k) {
    CollectAround(k);
    CollectFragile(k);
  }
  changes_.clear();
  for (const OpIndex op : collected_) Compare(op);
  std::sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) {
    return a.range != b.range ? a.range < b.range : a.place < b.place;
  });
  auto change = changes_.cbegin();
  for (DeviceUse& device : devices) device.peak = 0;
  for (std::size_t k = 0; k <= stretches_.size(); ++k) {
    for (std::size_t d = 0; d < replay_.devices(); ++d) {
      devices[d].peak = std::max(devices[d].peak, PeakOf(k, d, change));
      if (k < stretches_.size()) devices[d].peak = std::max(devices[d].peak, PeakAnew(k, d));
    }
  }
}

}  // namespace berth::sim
