// The steps of NativeIncremental that find out what can be skipped, and skip it. Part of incremental.h.
#pragma once

#include "sim/native/incremental.h"

namespace berth::sim {

// ---- Where a trial is like the base ---------------------------------------------------------------------------

template <typename Links>
template <typename AnyCounts, typename Visit>
void NativeIncremental<Links>::ForEachCount(AnyCounts& counts, const Visit& visit) const {
  std::size_t i = 0;
  for (const OpIndex op : moved_.receivers()) {
    visit(counts.ops[op].missing, i++);
    visit(counts.ops[op].device, i++);
    if (!counts.unfinished.empty()) visit(counts.unfinished[op], i++);
  }
  for (const OpIndex op : moved_.senders()) {
    for (Id o = c_.rows[op].output; o < c_.rows[op + 1].output; ++o) visit(counts.holders[o], i++);
    for (Id slot = c_.rows[op].edge; slot < c_.rows[op + 1].edge; ++slot)
      visit(counts.holders[engine_.plan_.CopyOf(slot)], i++);
  }
}

template <typename Links>
bool NativeIncremental<Links>::Stands(Segment at) {
  const Snapshot<Links>& base = At(at);
  same_.Begin(s_.queued, queued_, moved_.mapped());
  if (!TakenAlike(at) || !base.Equals(s_, MoreTaken(at), same_) || !CountsAgree(base)) return false;
  // All others must be equal: with theirs in the place of the ones that need not.
  counts_.clear();
  ForEachCount(s_.counts, [&](std::int32_t count, std::size_t) { counts_.push_back(count); });
  const std::size_t number = counts_.size();
  ForEachCount(base.counts, [&](std::int32_t count, std::size_t) { counts_.push_back(count); });
  ForEachCount(s_.counts, [&](std::int32_t& count, std::size_t i) { count = counts_[number + i]; });
  const bool equal = s_.counts == base.counts;
  ForEachCount(s_.counts, [&](std::int32_t& count, std::size_t i) { count = counts_[i]; });
  return equal;
}

// Ops for which nothing is missing, or unfinished, are so in both.
template <typename Links>
bool NativeIncremental<Links>::CountsAgree(const Snapshot<Links>& base) const {
  const auto agree = [](std::int32_t a, std::int32_t b) { return (a == 0) == (b == 0); };
  return std::all_of(moved_.receivers().begin(), moved_.receivers().end(), [&](OpIndex op) {
    return agree(s_.counts.ops[op].missing, base.counts.ops[op].missing) &&
           (s_.counts.unfinished.empty() || agree(s_.counts.unfinished[op], base.counts.unfinished[op]));
  });
}

// The last snapshot that a trial which stands at `from` can go to at once.
template <typename Links>
SegmentLog::Segment NativeIncremental<Links>::FarthestFrom(Segment from, const Counts& mine) const {
  Segment to = end_;
  for (const Segment touched : touched_)
    if (touched >= from) to = std::min(to, touched);
  if (engine_.options_.cutoff) {
    const Picos shift = s_.now - At(from).now;
    while (to > from && At(to).now + shift > *engine_.options_.cutoff) --to;
  }
  if (!MaySkip(from, to, mine)) {
    Segment may = from;
    while (to - may > 1) {
      const Segment middle = may + (to - may) / 2;
      (MaySkip(from, middle, mine) ? may : to) = middle;
    }
    to = may;
  }
  return BeforeOutOfMemory(from, to);
}

// Whether the counts that concern the moved ops go down alike between two snapshots. Those of moved ops stay as
// they are. Others may differ if they reach zero in both runs or in neither.
template <typename Links>
bool NativeIncremental<Links>::MaySkip(Segment from, Segment to, const Counts& mine) const {
  const Counts& before = At(from).counts;
  const Counts& after = At(to).counts;
  const auto alike = [](bool moved, std::int32_t b, std::int32_t a, std::int32_t m) {
    return a == b || (!moved && (m == b || (a > 0 && m + a - b > 0)));
  };
  for (const OpIndex op : moved_.receivers()) {
    const bool moved = moved_.IsMoved(op);
    if (!alike(moved, before.ops[op].missing, after.ops[op].missing, mine.ops[op].missing)) return false;
    if (!mine.unfinished.empty() &&
        !alike(moved, before.unfinished[op], after.unfinished[op], mine.unfinished[op]))
      return false;
  }
  for (const OpIndex op : moved_.senders()) {
    for (Id o = c_.rows[op].output; o < c_.rows[op + 1].output; ++o)
      if (!alike(moved_.IsMoved(op), before.holders[o], after.holders[o], mine.holders[o])) return false;
  }
  for (const Id slot : moved_.old_slots()) {
    const Id now = moved_.mapped()[slot];
    const StorageId old = engine_.plan_.CopyOf(slot);
    const std::int32_t holders =
        now == Compiled::kNone ? before.holders[old] : mine.holders[engine_.plan_.CopyOf(now)];
    if (!alike(now == Compiled::kNone, before.holders[old], after.holders[old], holders)) return false;
  }
  return true;
}

// No segment in which a request may be refused is skipped, unless one that was refused is known to come first.
template <typename Links>
SegmentLog::Segment NativeIncremental<Links>::BeforeOutOfMemory(Segment from, Segment to) const {
  const ById<MemoryTracker::Use>&now = s_.memory.use(), &before = At(from).memory;
  Picos earliest = s_.now;  // that a request to come can be of
  for (const MemoryTracker::Use& use : now) earliest = std::min(earliest, use.announced.time);
  if (s_.memory.oom() && s_.memory.oom()->time < earliest) return to;
  for (Segment i = from; i < to; ++i) {
    for (DeviceIndex d = 0; d < c_.devices; ++d) {
      const Bytes more = now[d].live - before[d].live;
      if (At(i + 1).memory[d].peak + more > s_.memory.capacity(d)) return i;
    }
  }
  return to;
}

template <typename Links>
void NativeIncremental<Links>::Skip(Segment from, Segment to, const Counts& mine) {
  const Snapshot<Links>& target = At(to);
  const Picos shift = s_.now - At(from).now;
  for (DeviceIndex d = 0; d < c_.devices; ++d) {
    Bytes peak = At(from).memory[d].live;
    for (Segment i = from; i < to; ++i) peak = std::max(peak, At(i + 1).memory[d].peak);
    s_.memory.Advance(d, At(from).memory[d], target.memory[d], peak, shift);
  }
  SkipCounts(from, to, mine);
  target.Load(s_, At(from), shift, MoreTaken(to));
  s_.queued.assign(queued_.begin(), queued_.begin() + static_cast<std::ptrdiff_t>(target.queued));
  for (const Id slot : moved_.old_slots()) {
    const Id now = moved_.mapped()[slot];
    if (now != Compiled::kNone && number_[slot] < static_cast<TransferIndex>(target.queued))
      s_.queued[number_[slot]] = now;
  }
}

// Each count goes down as it did in the base; at the end all that matters have come to nothing.
template <typename Links>
void NativeIncremental<Links>::SkipCounts(Segment from, Segment to, const Counts& mine) {
  if (to == end_) return;
  const Counts &before = At(from).counts, &after = At(to).counts;
  counts_.clear();
  ForEachCount(mine, [&](std::int32_t count, std::size_t) { counts_.push_back(count); });
  s_.counts = after;
  ForEachCount(s_.counts, [&](std::int32_t& count, std::size_t i) { count = counts_[i]; });
  for (const OpIndex op : moved_.receivers()) {
    s_.counts.ops[op].missing += after.ops[op].missing - before.ops[op].missing;
    if (!after.unfinished.empty()) s_.counts.unfinished[op] += after.unfinished[op] - before.unfinished[op];
  }
  for (const OpIndex op : moved_.senders()) {
    for (Id o = c_.rows[op].output; o < c_.rows[op + 1].output; ++o)
      s_.counts.holders[o] += after.holders[o] - before.holders[o];
  }
  for (const Id slot : moved_.old_slots()) {
    const Id now = moved_.mapped()[slot];
    if (now == Compiled::kNone) continue;
    const StorageId old = engine_.plan_.CopyOf(slot);
    s_.counts.holders[engine_.plan_.CopyOf(now)] += after.holders[old] - before.holders[old];
  }
}

}  // namespace berth::sim
