#include "sim/published_peaks.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace berth::sim {
namespace {

constexpr Bytes kNothing = std::numeric_limits<Bytes>::min() / 4;
constexpr Picos kNotRead = std::numeric_limits<Picos>::min();

}  // namespace

PublishedPeaks::PublishedPeaks(PublishedReplay& replay, const PublishedWiring& wiring)
    : replay_(replay),
      bytes_(wiring.output_bytes),
      leaves_(std::bit_ceil(PublishedReplay::Places(wiring, replay.devices()))),
      holds_(wiring.ops.size()),
      steady_(wiring.ops.size()),
      released_(leaves_),
      first_released_(leaves_),
      next_released_(wiring.ops.size()),
      live_(2 * leaves_),
      collected_in_(wiring.ops.size()),
      rest_(replay.devices()),
      kept_((PublishedReplay::kMostSegments + 1) * replay.devices()),
      anew_(PublishedReplay::kMostSegments * replay.devices()),
      within_(leaves_) {
  fragile_.reserve(wiring.ops.size());
  collected_.reserve(wiring.ops.size());
  changes_.reserve(4 * (wiring.ops.size() + PublishedReplay::kSlack));
}

// ---- places and starts in the trial ----

// The hold of an op in the trial. It ends before the first op of the device that starts after its last use: if
// that use is on the same device it is usually the place behind it, else it is usually as far as in the base.
PublishedPeaks::Hold PublishedPeaks::HoldOf(OpIndex op) const {
  const auto d = static_cast<std::size_t>(replay_.device(op));
  const std::uint32_t place = PlaceOf(op);
  OpIndex last = op;
  Picos end = kNotRead;
  for (const auto& edge : replay_.Readers(op)) {
    const Picos use = UseBy(edge.op);
    last = use > end ? edge.op : last;
    end = std::max(end, use);
  }
  if (end == kNotRead) end = StartAt(d, place);
  const Hold old = holds_[static_cast<std::size_t>(op)];
  const bool here = static_cast<std::size_t>(replay_.device(last)) == d;
  return {place, FirstAfter(d, end, place, here ? PlaceOf(last) + 1 : place + (old.to - old.from))};
}

// The first place from `from` on whose op starts after a time, sought from `guess` on with growing strides.
std::uint32_t PublishedPeaks::FirstAfter(std::size_t d, Picos time, std::uint32_t from,
                                         std::uint32_t guess) const {
  std::uint32_t low = from, high = rest_[d].end;
  guess = std::clamp(guess, low, high);
  if (guess < high && StartAt(d, guess) > time) {
    high = guess;
    for (std::uint32_t stride = 1; low + stride < high; stride *= 2) {
      if (StartAt(d, high - stride) <= time) {
        low = high - stride + 1;
        break;
      }
      high -= stride;
    }
  } else {
    low = guess == high ? low : guess + 1;
    for (std::uint32_t stride = 1; low + stride < high; stride *= 2) {
      if (StartAt(d, low + stride) > time) {
        high = low + stride;
        break;
      }
      low += stride;
    }
  }
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (StartAt(d, middle) <= time) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// ---- the base ----

// Is there a start on the device in (latest - 1 us, latest]? `latest`: of all readers.
void PublishedPeaks::FindFragile(OpIndex op, Picos latest) {
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

// Does the hold end behind the same op in any run in which the device's ops have the same order? It does if that
// op is the last reader here and nobody reads elsewhere: the use ends in (start, end) if the op takes long enough.
bool PublishedPeaks::IsSteady(OpIndex op) const {
  OpIndex last = op;
  for (const auto& edge : replay_.Readers(op)) {
    if (replay_.device(edge.op) != replay_.device(op)) return false;
    if (last == op || replay_.base(edge.op).place > replay_.base(last).place) last = edge.op;
  }
  return replay_.Cost(last) >= (last == op ? 1 : 2 * kPicosPerMicro);
}

void PublishedPeaks::StoreBase(std::vector<DeviceUse>& devices) {
  segments_ = {};
  fragile_.clear();
  std::fill(released_.begin(), released_.end(), 0);
  std::fill(first_released_.begin(), first_released_.end(), -1);
  for (std::size_t d = 0; d < replay_.devices(); ++d) {
    kept(0, d) = {replay_.first(d), replay_.base_tail(d), 0};
    rest_[d] = {replay_.base_tail(d), replay_.base_tail(d), 0, 0};
  }
  for (OpIndex op = 0; op < static_cast<OpIndex>(holds_.size()); ++op) {
    const auto i = static_cast<std::size_t>(op);
    holds_[i] = HoldOf(op);
    steady_[i] = IsSteady(op);
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

Bytes PublishedPeaks::Greatest(std::uint32_t from, std::uint32_t to) const {
  Bytes greatest = kNothing;
  for (std::size_t low = leaves_ + from, high = leaves_ + to; low < high; low /= 2, high /= 2) {
    if (low % 2 == 1) greatest = std::max(greatest, live_[low++]);
    if (high % 2 == 1) greatest = std::max(greatest, live_[--high]);
  }
  return greatest;
}

}  // namespace berth::sim
