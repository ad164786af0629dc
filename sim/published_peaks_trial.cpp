// The part of PublishedPeaks that concerns trials: what they change of the base's holds.
#include <algorithm>
#include <limits>
#include <utility>

#include "sim/published_peaks.h"

namespace berth::sim {
namespace {

constexpr Picos kAfterAll = std::numeric_limits<Picos>::max();

}  // namespace

void PublishedPeaks::SetRanges() {
  segments_ = replay_.segments();
  for (std::size_t d = 0; d < replay_.devices(); ++d) {
    Kept before{replay_.first(d), 0, 0};
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      const auto& waiting = replay_.waiting(i, d);
      Anew& made = anew(i, d);
      made.back = waiting.last_head;
      made.begin = std::min(waiting.tail, made.back);
      made.base_begin = static_cast<std::uint32_t>(made.begin - before.offset);
      made.base_back = replay_.BaseHead(d, segments_[i].last);
      const auto differ = [&] { return made.begin < made.back && made.base_begin < made.base_back; };
      for (; differ() && replay_.op_at(made.begin) == replay_.base_op(made.base_begin); ++made.begin)
        ++made.base_begin;
      for (; differ() && replay_.op_at(made.back - 1) == replay_.base_op(made.base_back - 1); --made.back)
        --made.base_back;
      const bool any = made.base_begin > replay_.first(d);
      made.crossing = any ? live_[leaves_ + made.base_begin - 1] - released_[made.base_begin] : 0;
      before.to = made.base_begin;
      kept(i, d) = before;
      before = {made.base_back, 0, std::int64_t{made.back} - made.base_back};
    }
    before.to = replay_.base_tail(d);
    kept(segments_.size(), d) = before;
    rest_[d] = {replay_.tail(d), static_cast<std::uint32_t>(before.to + before.offset), before.offset,
                ShiftOf(segments_.size())};
  }
}

inline void PublishedPeaks::Collect(OpIndex op) {
  const auto i = static_cast<std::size_t>(op);
  if (collected_in_[i] == run_) return;
  collected_in_[i] = run_;
  collected_.push_back(op);
}

void PublishedPeaks::CollectWithProducers(OpIndex op) {
  Collect(op);
  for (const auto& edge : replay_.Producers(op)) Collect(edge.op);
}

void PublishedPeaks::CollectUnsteady(OpIndex op) {
  if (!steady_[static_cast<std::size_t>(op)]) Collect(op);
  for (const auto& edge : replay_.Producers(op))
    if (!steady_[static_cast<std::size_t>(edge.op)]) Collect(edge.op);
}

// When the trial was back behind a segment, by the base's clock; before everything if it never was.
Picos PublishedPeaks::TimeBack(std::size_t segment) const {
  const auto& [first, last, shift, now] = segments_[segment];
  return last < replay_.ends() ? std::max(replay_.TimeOfEnd(last), now - shift) : 0;
}

// All ops whose holds can differ, in places, from those of the base, and maybe some more: what joined and ended
// in the segment, and what it reads, unless they are steady where the order is the old one. Of what had joined before, only producers elsewhere: its start is where it
// was, so on its own device what it reads is released where it was.
void PublishedPeaks::CollectAround(std::size_t segment) {
  const auto& [first, last, shift, now] = segments_[segment];
  const Picos begin = first == 0 ? 0 : first > replay_.ends() ? kAfterAll : replay_.TimeOfEnd(first);
  // What starts behind the segment but within two microseconds may have uses that end in it.
  const Picos clear = TimeBack(segment) + 2 * kPicosPerMicro;
  for (std::size_t d = 0; d < replay_.devices(); ++d) {
    const auto [head, tail, last_head, last_tail] = replay_.waiting(segment, d);
    for (std::uint32_t place = head; place < std::min(last_head, tail); ++place) {
      CollectEarlier(replay_.op_at(place), d);
    }
    const Anew& made = anew(segment, d);
    for (std::uint32_t place = tail; place < last_head; ++place) {
      if (place < made.begin || place >= made.back) {
        CollectUnsteady(replay_.op_at(place));
      } else {
        CollectWithProducers(replay_.op_at(place));
      }
    }
    for (std::uint32_t place = last_head; place < last_tail; ++place) {
      if (replay_.start_at(place) > clear + shift) break;
      CollectWithProducers(replay_.op_at(place));
    }
    auto place = static_cast<std::uint32_t>(last_tail - kept(segment + 1, d).offset);
    for (; place < replay_.base_tail(d) && replay_.base_start(place) <= clear; ++place) {
      CollectWithProducers(replay_.base_op(place));
    }
    // What nobody reads is held as long as others start at the same time.
    const Kept& before = kept(segment, d);
    for (place = static_cast<std::uint32_t>(head - before.offset); place > before.from; --place) {
      if (replay_.base_start(place - 1) < begin) break;
      Collect(replay_.base_op(place - 1));
    }
    // Where nothing started in the base, a hold that ends there may end before or behind what starts now.
    if (made.base_begin != made.base_back || made.begin == made.back) continue;
    for (OpIndex op = first_released_[made.base_begin]; op >= 0;) {
      Collect(op);
      op = next_released_[static_cast<std::size_t>(op)];
    }
  }
}

// What lies behind a segment, and what began there and ends in the next one.
void PublishedPeaks::CollectFragile(std::size_t segment) {
  const Picos shift = segments_[segment].shift;
  if (shift % kPicosPerMicro == 0) return;
  auto fragile = std::lower_bound(fragile_.begin(), fragile_.end(),
                                  Fragile{TimeBack(segment) - 2 * kPicosPerMicro, 0, 0, 0, 0});
  const Picos part = shift % kPicosPerMicro + (shift < 0 ? kPicosPerMicro : 0);
  const bool is_last = segment + 1 == segments_.size() || segments_[segment + 1].last == replay_.ends();
  const Picos to = is_last ? kAfterAll : TimeBack(segment + 1) + 2 * kPicosPerMicro;
  for (; fragile != fragile_.end() && fragile->latest <= to; ++fragile) {
    const Picos less = (fragile->phase + part) % kPicosPerMicro;
    if (less < fragile->least || less > fragile->most) Collect(fragile->op);
  }
}

void PublishedPeaks::CollectEarlier(OpIndex op, std::size_t d) {
  if (replay_.Readers(op).empty()) Collect(op);
  for (const auto& edge : replay_.Producers(op)) {
    if (static_cast<std::size_t>(replay_.device(edge.op)) != d) Collect(edge.op);
  }
}

// The part of a hold in places kept, as in the base; `base`: it is a hold of the base.
inline PublishedPeaks::Hold PublishedPeaks::Clip(Hold hold, std::size_t range, std::size_t d,
                                                 bool base) const {
  const auto& [from, to, further] = kept(range, d);
  const std::int64_t offset = base ? 0 : further;
  const auto first = std::max<std::int64_t>(hold.from - offset, from);
  const auto last = std::min<std::int64_t>(hold.to - offset, to);
  if (first >= last) return {};
  return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last)};
}

void PublishedPeaks::AddChange(std::size_t range, Hold hold, Bytes bytes) {
  if (hold.from == hold.to) return;
  changes_.push_back({range, hold.from, bytes});
  changes_.push_back({range, hold.to, -bytes});
}

void PublishedPeaks::Compare(OpIndex op) {
  const auto i = static_cast<std::size_t>(op);
  const Bytes bytes = bytes_[i];
  if (bytes == 0) return;
  const Hold old = holds_[i], now = HoldOf(op);
  const auto old_device = static_cast<std::size_t>(replay_.base_device(op));
  const auto device = static_cast<std::size_t>(replay_.device(op));
  for (std::size_t k = 0; k < segments_.size(); ++k) {
    Anew& was = anew(k, old_device);
    if (old.from < was.base_begin && old.to > was.base_begin) was.crossing -= bytes;
    const Anew& is = anew(k, device);
    const std::uint32_t first = std::max(now.from, is.begin), last = std::min(now.to, is.back);
    if (first >= last) continue;
    within_[first] += bytes;
    if (last < is.back) within_[last] -= bytes;
  }
  for (std::size_t k = 0; k <= segments_.size(); ++k) {
    const Hold was = Clip(old, k, old_device, true), is = Clip(now, k, device, false);
    if (old_device == device && was.from == is.from && was.to == is.to) continue;
    AddChange(k, was, -bytes);
    AddChange(k, is, bytes);
  }
}

// The greatest of live bytes and changes over places kept. `change` goes over the changes of all devices.
Bytes PublishedPeaks::PeakOf(std::size_t range, std::size_t d,
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

Bytes PublishedPeaks::PeakAnew(std::size_t segment, std::size_t d) {
  const Anew& made = anew(segment, d);
  Bytes live = made.crossing, peak = 0;
  for (std::uint32_t place = made.begin; place < made.back; ++place) {
    live += std::exchange(within_[place], 0);
    peak = std::max(peak, live);
  }
  return peak;
}

void PublishedPeaks::Find(std::vector<DeviceUse>& devices) {
  SetRanges();
  ++run_;
  collected_.clear();
  for (std::size_t k = 0; k < segments_.size(); ++k) {
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
  for (std::size_t k = 0; k <= segments_.size(); ++k) {
    for (std::size_t d = 0; d < replay_.devices(); ++d) {
      devices[d].peak = std::max(devices[d].peak, PeakOf(k, d, change));
      if (k < segments_.size()) devices[d].peak = std::max(devices[d].peak, PeakAnew(k, d));
    }
  }
}

}  // namespace berth::sim
