// Incremental evaluation in the preset `native`. Internal to sim/; included only by the files of
// sim/interconnect/.
//
// The base run is cut into stretches by snapshots of its state. A try stands at a snapshot when its state is the
// one of then, perhaps later by a constant, but for what concerns the moved ops and is not in any queue: counts
// of their dependencies and of what holds storages, and the bytes that those take. From there it skips all
// stretches in which nothing happens that the moves change: such a stretch would be the old one, later by the
// constant, so busy times and peaks are put together from the old ones. The rest is simulated.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "sim/incremental.h"
#include "sim/native/moved_ops.h"
#include "sim/native/simulator.h"
#include "sim/native/snapshot.h"

namespace berth::sim {

// Not done here but from scratch: moves of many ops, tries that record, and placements whose threads issue in
// the order of a list. Nothing is allocated in a try of the others but the first.
template <typename Links>
class NativeIncremental final : public IncrementalSimulator {
 public:
  explicit NativeIncremental(const Problem& problem);

  const Outcome& Base(const Placement& placement) override;
  const Outcome& Try(std::span<const Move> moves, const RunOptions& options) override;
  void Commit() override;
  const Placement& base() const override { return base_; }
  bool replays() const override { return c_.cluster->dispatch.order != Dispatch::Order::kProgram; }

 private:
  using Compiled = Problem::Compiled;
  using Id = Compiled::Id;
  using Stretch = StretchLog::Stretch;
  static constexpr std::int32_t kSpare = 256;      // parcels, and so ops, that a try may have more
  static constexpr Stretch kStretches = 96;        // of a base run
  static constexpr std::size_t kMost = 256 << 20;  // [B] that snapshots may take

  bool HasList(const Placement& placement) const;
  Stretch Stretches() const;
  void RunBase();
  void TakeSnapshot();
  const Placement& Tried();
  const Outcome& RunFromScratch(const RunOptions& options);
  const Snapshot<Links>& At(Stretch i) const { return snapshots_[static_cast<std::size_t>(i)]; }

  bool Prepare(std::span<const Move> moves);
  void FindTouched();
  bool BeginMemory();
  void RunTry();
  bool Stands(Stretch at);
  bool CountsAgree(const Snapshot<Links>& base) const;
  Stretch FarthestFrom(Stretch from, const Counts& mine) const;
  bool MaySkip(Stretch from, Stretch to, const Counts& mine) const;
  Stretch BeforeOutOfMemory(Stretch from, Stretch to) const;
  void Skip(Stretch from, Stretch to, const Counts& mine);
  void SkipCounts(Stretch from, Stretch to, const Counts& mine);

  // Calls visit(count, i) for all counts of `counts` that concern the moved ops; count i is the same at each call.
  template <typename AnyCounts, typename Visit>
  void ForEachCount(AnyCounts& counts, const Visit& visit) const;

  const Problem& problem_;
  const Compiled& c_;
  NativeSimulator<Links> engine_;
  RunState<Links>& s_ = engine_.s_;
  MovedOps moved_;
  std::unique_ptr<Simulator> plain_;  // made when it is needed

  Placement base_, tried_;
  bool has_list_ = false, has_try_ = false;
  Counts start_;                            // at the start of the run, with the moves while they are tried
  std::vector<Snapshot<Links>> snapshots_;  // the last: the end of the run
  Stretch end_ = 0;                         // its number
  StretchLog log_;
  ById<Id> queued_;             // of the base run
  ById<TransferIndex> number_;  // and by parcel, its queue number

  // Scratch of a try.
  std::vector<Stretch> touched_;  // stretches in which something happens that the moves change
  std::vector<std::int32_t> counts_;
  SameTransfers same_;
  std::vector<Move> moves_;
};

template <typename Links>
NativeIncremental<Links>::NativeIncremental(const Problem& problem)
    : problem_(problem),
      c_(problem.compiled()),
      engine_(problem, kSpare),
      moved_(c_),
      same_(c_.edge_consumer.size()) {
  for (auto* list : {&log_.taken, &log_.issued, &log_.ended}) list->resize(static_cast<std::size_t>(c_.ops));
  log_.arrived.resize(c_.edge_consumer.size());
  number_.resize(c_.edge_consumer.size());
  touched_.reserve(4 * static_cast<std::size_t>(c_.ops) + c_.edge_consumer.size());
  counts_.reserve(3 * static_cast<std::size_t>(c_.ops) + c_.output_bytes.size() + c_.edge_consumer.size());
}

template <typename Links>
bool NativeIncremental<Links>::HasList(const Placement& placement) const {
  return !placement.order.empty() || (placement.priority.empty() && !replays());
}

// ---- The base -----------------------------------------------------------------------------------------------

template <typename Links>
const Outcome& NativeIncremental<Links>::Base(const Placement& placement) {
  base_ = placement;
  has_try_ = false;
  has_list_ = HasList(base_);
  if (has_list_) return engine_.Run(base_, {});
  RunBase();
  queued_ = s_.queued;
  for (TransferIndex t = 0; t < static_cast<TransferIndex>(queued_.size()); ++t) number_[queued_[t]] = t;
  engine_.FinishOutcome();
  for (DeviceIndex d = 0; d < c_.devices; ++d) {
    Bytes& peak = engine_.outcome_.devices[static_cast<std::size_t>(d)].peak;
    for (Stretch i = 0; i <= end_; ++i) peak = std::max(peak, At(i).memory[d].peak);
  }
  return engine_.outcome_;
}

template <typename Links>
StretchLog::Stretch NativeIncremental<Links>::Stretches() const {
  const std::size_t each =
      sizeof(Counts::OpState) * start_.ops.size() + sizeof(std::int32_t) * start_.holders.size();
  return static_cast<Stretch>(std::clamp<std::size_t>(kMost / each, 1, kStretches));
}

template <typename Links>
void NativeIncremental<Links>::RunBase() {
  engine_.Reset(base_, {});
  engine_.AllocatePersistent();
  start_ = s_.counts;
  end_ = -1;
  TakeSnapshot();
  engine_.log_ = &log_;
  engine_.BeginIssues();
  const std::int64_t length = c_.ops / Stretches() + 1;
  for (Picos next = 0; next != kNever; next = s_.events.time()) {
    engine_.Step(next);
    if (s_.ended_ops >= At(end_).ended_ops + length && s_.ended_ops < c_.ops) TakeSnapshot();
  }
  TakeSnapshot();
  engine_.log_ = nullptr;
}

template <typename Links>
void NativeIncremental<Links>::TakeSnapshot() {
  ++end_;
  if (snapshots_.size() == static_cast<std::size_t>(end_)) snapshots_.emplace_back(s_);
  snapshots_[static_cast<std::size_t>(end_)].Save(s_);
  s_.memory.RestartPeaks();
  log_.now = end_;
}

template <typename Links>
const Placement& NativeIncremental<Links>::Tried() {
  tried_ = base_;
  for (const Move& move : moves_) tried_.device[static_cast<std::size_t>(move.op)] = move.device;
  return tried_;
}

template <typename Links>
const Outcome& NativeIncremental<Links>::RunFromScratch(const RunOptions& options) {
  if (!plain_) plain_ = MakeSimulator(problem_);
  return plain_->Run(Tried(), options);
}

template <typename Links>
void NativeIncremental<Links>::Commit() {
  BERTH_CHECK(has_try_);
  Base(Tried());
}

// ---- A try --------------------------------------------------------------------------------------------------

template <typename Links>
const Outcome& NativeIncremental<Links>::Try(std::span<const Move> moves, const RunOptions& options) {
  BERTH_CHECK(!base_.device.empty());
  has_try_ = true;
  moves_.assign(moves.begin(), moves.end());
  if (options.record != RunOptions::Record::kNothing || has_list_) return RunFromScratch(options);
  engine_.options_ = options;
  moved_.Apply(moves_, engine_.plan_, start_);
  const bool can = moved_.parcels() <= kSpare && moved_.moved().size() <= kSpare && BeginMemory();
  if (can) {
    FindTouched();
    RunTry();
  }
  moved_.Revert(engine_.plan_, start_);
  return can ? engine_.outcome_ : RunFromScratch(options);
}

// The state at the start, apart from what Skip() puts there. False if persistent bytes do not fit.
template <typename Links>
bool NativeIncremental<Links>::BeginMemory() {
  s_.memory.Restart(snapshots_[0].memory);
  for (const MovedOps::Moved& moved : moved_.moved()) {
    const Bytes bytes = c_.persistent[moved.op];
    s_.memory.AddPersistent(moved.from, -s_.memory.Rounded(moved.from, bytes));
    s_.memory.AddPersistent(moved.to, s_.memory.Rounded(moved.to, bytes));
  }
  for (DeviceIndex d = 0; d < c_.devices; ++d)
    if (s_.memory.use()[d].live > s_.memory.capacity(d)) return false;
  return true;
}

// Producers decide when a moved op can be issued, and it when its consumers can. What happens to storages is
// seen in their counts of holders.
template <typename Links>
void NativeIncremental<Links>::FindTouched() {
  touched_.clear();
  for (const OpIndex op : moved_.senders()) {
    touched_.push_back(log_.issued[op]);
    touched_.push_back(log_.ended[op]);
  }
  for (const Id slot : moved_.old_slots()) touched_.push_back(log_.arrived[slot]);
  for (const MovedOps::Moved& moved : moved_.moved()) {
    touched_.push_back(log_.taken[moved.op]);
    if (start_.ops[moved.op].missing == 0) touched_.push_back(0);  // is in a queue from the start
  }
}

template <typename Links>
void NativeIncremental<Links>::RunTry() {
  engine_.outcome_.stopped = false;
  s_.meter.Reset();
  for (DeviceState& device : s_.devices) device.busy = 0;
  engine_.threads_to_run_.Clear();
  s_.now = 0;
  const Stretch first = FarthestFrom(0, start_);
  Skip(0, first, start_);
  if (first == 0) engine_.BeginIssues();
  Stretch at = first + 1;  // the next snapshot to stand at
  for (Picos next = first == 0 ? 0 : s_.events.time(); next != kNever; next = s_.events.time()) {
    if (!engine_.Step(next)) break;
    while (at < end_ && At(at).ended_ops < s_.ended_ops) ++at;
    if (at >= end_ || At(at).ended_ops > s_.ended_ops) continue;
    if (Stands(at)) {
      const Stretch to = FarthestFrom(at, s_.counts);
      if (to > at + 1) {
        Skip(at, to, s_.counts);
        at = to;
      }
    }
    ++at;
  }
  engine_.FinishOutcome();
}

// ---- Where a try is like the base ---------------------------------------------------------------------------

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
bool NativeIncremental<Links>::Stands(Stretch at) {
  const Snapshot<Links>& base = At(at);
  same_.Begin(s_.queued, queued_, moved_.mapped());
  if (!base.Equals(s_, same_) || !CountsAgree(base)) return false;
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

// The last snapshot that a try which stands at `from` can go to at once.
template <typename Links>
StretchLog::Stretch NativeIncremental<Links>::FarthestFrom(Stretch from, const Counts& mine) const {
  Stretch to = end_;
  for (const Stretch touched : touched_)
    if (touched >= from) to = std::min(to, touched);
  if (engine_.options_.cutoff) {
    const Picos shift = s_.now - At(from).now;
    while (to > from && At(to).now + shift > *engine_.options_.cutoff) --to;
  }
  if (!MaySkip(from, to, mine)) {
    Stretch may = from;
    while (to - may > 1) {
      const Stretch middle = may + (to - may) / 2;
      (MaySkip(from, middle, mine) ? may : to) = middle;
    }
    to = may;
  }
  return BeforeOutOfMemory(from, to);
}

// Whether the counts that concern the moved ops go down alike between two snapshots. Those of moved ops stay as
// they are. Others may differ if they reach zero in both runs or in neither.
template <typename Links>
bool NativeIncremental<Links>::MaySkip(Stretch from, Stretch to, const Counts& mine) const {
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

// No stretch in which a request may be refused is skipped, unless one that was refused is known to come first.
template <typename Links>
StretchLog::Stretch NativeIncremental<Links>::BeforeOutOfMemory(Stretch from, Stretch to) const {
  const ById<MemoryTracker::Use>&now = s_.memory.use(), &before = At(from).memory;
  Picos earliest = s_.now;  // that a request to come can be of
  for (const MemoryTracker::Use& use : now) earliest = std::min(earliest, use.announced.time);
  if (s_.memory.oom() && s_.memory.oom()->time < earliest) return to;
  for (Stretch i = from; i < to; ++i) {
    for (DeviceIndex d = 0; d < c_.devices; ++d) {
      const Bytes more = now[d].live - before[d].live;
      if (At(i + 1).memory[d].peak + more > s_.memory.capacity(d)) return i;
    }
  }
  return to;
}

template <typename Links>
void NativeIncremental<Links>::Skip(Stretch from, Stretch to, const Counts& mine) {
  const Snapshot<Links>& target = At(to);
  const Picos shift = s_.now - At(from).now;
  for (DeviceIndex d = 0; d < c_.devices; ++d) {
    Bytes peak = At(from).memory[d].live;
    for (Stretch i = from; i < to; ++i) peak = std::max(peak, At(i + 1).memory[d].peak);
    s_.memory.Advance(d, At(from).memory[d], target.memory[d], peak, shift);
  }
  SkipCounts(from, to, mine);
  target.Load(s_, At(from), shift);
  s_.queued.assign(queued_.begin(), queued_.begin() + static_cast<std::ptrdiff_t>(target.queued));
  for (const Id slot : moved_.old_slots()) {
    const Id now = moved_.mapped()[slot];
    if (now != Compiled::kNone && number_[slot] < static_cast<TransferIndex>(target.queued))
      s_.queued[number_[slot]] = now;
  }
}

// Each count goes down as it did in the base; at the end all that matters have come to nothing.
template <typename Links>
void NativeIncremental<Links>::SkipCounts(Stretch from, Stretch to, const Counts& mine) {
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
