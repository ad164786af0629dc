// Incremental evaluation under the rules `native`. Internal to sim/; included only by the files of
// sim/interconnect/.
//
// The base run is cut into segments by snapshots of its state. A trial stands at a snapshot when its state is the
// one of then, perhaps later by a constant, but for what concerns the moved ops and is not in any queue: counts
// of their dependencies and of what holds storages, and the bytes that those take. From there it skips all
// segments in which nothing happens that the moves change: such a segment would be the old one, later by the
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

// Moves of many ops, and trials that record, are run from scratch. Nothing is allocated in the others.
template <typename Links>
class NativeIncremental final : public IncrementalSimulator {
 public:
  explicit NativeIncremental(const Problem& problem);

  const Outcome& Base(const Placement& placement) override;
  const Outcome& RunTrial(std::span<const Move> moves, const RunOptions& options) override;
  void Commit() override;
  const Placement& base() const override { return base_; }
  bool replays() const override { return true; }

 private:
  using Compiled = Problem::Compiled;
  using Id = Compiled::Id;
  using Segment = SegmentLog::Segment;
  static constexpr std::int32_t kSpare = 256;      // transfers, and so ops, that a trial may have more
  static constexpr Segment kSegments = 96;         // of a base run
  static constexpr std::size_t kMost = 256 << 20;  // [B] that snapshots may take

  Segment Segments() const;
  void RunBase();
  void TakeSnapshot();
  const Placement& Tried();
  const Outcome& RunFromScratch(const RunOptions& options);
  const Snapshot<Links>& At(Segment i) const { return snapshots_[static_cast<std::size_t>(i)]; }

  void FindTouched();
  void FindTouchedLists();
  bool HasLists() const { return s_.issuable.order() == IssueQueues::Order::kList; }
  void MoveInLists(bool back);
  bool TakenAlike(Segment at) const;
  const ById<std::int32_t>& MoreTaken(Segment at);
  bool BeginMemory();
  void ReplayTrial();
  bool Stands(Segment at);
  bool CountsAgree(const Snapshot<Links>& base) const;
  Segment FarthestFrom(Segment from, const Counts& mine) const;
  bool MaySkip(Segment from, Segment to, const Counts& mine) const;
  Segment BeforeOutOfMemory(Segment from, Segment to) const;
  void Skip(Segment from, Segment to, const Counts& mine);
  void SkipCounts(Segment from, Segment to, const Counts& mine);

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
  bool has_trial_ = false;
  Counts start_;                            // at the start of the run, with the moves while they are tried
  std::vector<Snapshot<Links>> snapshots_;  // the last: the end of the run
  Segment end_ = 0;                         // its number
  SegmentLog log_;
  ById<Id> queued_;             // of the base run
  ById<std::int32_t> rank_;     // by op, in the list that threads issue from
  ById<TransferIndex> number_;  // and by transfer, its queue number

  // Scratch of a trial.
  std::vector<Segment> touched_;  // segments in which something happens that the moves change
  std::vector<std::int32_t> counts_;
  ById<std::int32_t> more_taken_;
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
  rank_.resize(static_cast<std::size_t>(c_.ops));
  more_taken_.resize(s_.threads.size());
  touched_.reserve(4 * static_cast<std::size_t>(c_.ops) + c_.edge_consumer.size());
  counts_.reserve(3 * static_cast<std::size_t>(c_.ops) + c_.output_bytes.size() + c_.edge_consumer.size());
}

// ---- The base -----------------------------------------------------------------------------------------------

template <typename Links>
const Outcome& NativeIncremental<Links>::Base(const Placement& placement) {
  base_ = placement;
  has_trial_ = false;
  RunBase();
  queued_ = s_.queued;
  for (TransferIndex t = 0; t < static_cast<TransferIndex>(queued_.size()); ++t) number_[queued_[t]] = t;
  const std::span<const OpIndex> list =
      base_.order.empty() ? c_.program_order : std::span<const OpIndex>(base_.order);
  for (std::size_t i = 0; i < list.size(); ++i) rank_[list[i]] = static_cast<std::int32_t>(i);
  engine_.FinishOutcome();
  for (DeviceIndex d = 0; d < c_.devices; ++d) {
    Bytes& peak = engine_.outcome_.devices[static_cast<std::size_t>(d)].peak;
    for (Segment i = 0; i <= end_; ++i) peak = std::max(peak, At(i).memory[d].peak);
  }
  return engine_.outcome_;
}

template <typename Links>
SegmentLog::Segment NativeIncremental<Links>::Segments() const {
  const std::size_t each =
      sizeof(Counts::OpState) * start_.ops.size() + sizeof(std::int32_t) * start_.holders.size();
  return static_cast<Segment>(std::clamp<std::size_t>(kMost / each, 1, kSegments));
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
  const std::int64_t length = c_.ops / Segments() + 1;
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
  BERTH_CHECK(has_trial_);
  Base(Tried());
}

// ---- A trial --------------------------------------------------------------------------------------------------

template <typename Links>
const Outcome& NativeIncremental<Links>::RunTrial(std::span<const Move> moves, const RunOptions& options) {
  BERTH_CHECK(!base_.device.empty());
  has_trial_ = true;
  moves_.assign(moves.begin(), moves.end());
  if (options.record != RunOptions::Record::kNothing) return RunFromScratch(options);
  engine_.options_ = options;
  moved_.Apply(moves_, engine_.plan_, start_);
  const bool can = moved_.transfers() <= kSpare && moved_.moved().size() <= kSpare && BeginMemory();
  if (can) {
    FindTouched();
    MoveInLists(false);
    ReplayTrial();
    MoveInLists(true);
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
  if (HasLists()) FindTouchedLists();
}

// A thread looks at what stands in its list behind an op when that one has been issued.
template <typename Links>
void NativeIncremental<Links>::FindTouchedLists() {
  for (const MovedOps::Moved& moved : moved_.moved()) {
    for (const DeviceIndex device : {moved.from, moved.to}) {
      const std::int32_t thread = engine_.ThreadOf(device);
      std::int32_t place = s_.issuable.PlaceOf(thread, moved.op, rank_);
      while (!s_.issuable.IsFirst(thread, place) && moved_.IsMoved(s_.issuable.AtPlace(place - 1))) --place;
      const bool first = s_.issuable.IsFirst(thread, place);
      touched_.push_back(first ? 0 : log_.issued[s_.issuable.AtPlace(place - 1)]);
    }
  }
}

template <typename Links>
void NativeIncremental<Links>::MoveInLists(bool back) {
  if (!HasLists()) return;
  for (const MovedOps::Moved& moved : moved_.moved()) {
    const std::int32_t from = engine_.ThreadOf(moved.from), to = engine_.ThreadOf(moved.to);
    if (from != to) s_.issuable.MoveInLists(moved.op, back ? to : from, back ? from : to, rank_);
  }
}

template <typename Links>
bool NativeIncremental<Links>::TakenAlike(Segment at) const {
  if (!HasLists()) return true;
  return std::all_of(moved_.moved().begin(), moved_.moved().end(), [&](const MovedOps::Moved& moved) {
    return s_.issuable.HasTaken(engine_.ThreadOf(moved.to), moved.op, rank_) == (log_.taken[moved.op] < at);
  });
}

// By thread: how many more ops of its list it has taken than in the base, moved ops being taken in both or in
// neither.
template <typename Links>
const ById<std::int32_t>& NativeIncremental<Links>::MoreTaken(Segment at) {
  std::fill(more_taken_.begin(), more_taken_.end(), 0);
  for (const MovedOps::Moved& moved : moved_.moved()) {
    if (log_.taken[moved.op] >= at) continue;
    --more_taken_[engine_.ThreadOf(moved.from)];
    ++more_taken_[engine_.ThreadOf(moved.to)];
  }
  return more_taken_;
}

template <typename Links>
void NativeIncremental<Links>::ReplayTrial() {
  engine_.outcome_.stopped = false;
  s_.meter.Reset();
  for (DeviceState& device : s_.devices) device.busy = 0;
  engine_.threads_to_run_.Clear();
  s_.now = 0;
  const Segment first = FarthestFrom(0, start_);
  Skip(0, first, start_);
  if (first == 0) engine_.BeginIssues();
  Segment at = first + 1;  // the next snapshot to stand at
  for (Picos next = first == 0 ? 0 : s_.events.time(); next != kNever; next = s_.events.time()) {
    if (!engine_.Step(next)) break;
    while (at < end_ && At(at).ended_ops < s_.ended_ops) ++at;
    if (at >= end_ || At(at).ended_ops > s_.ended_ops) continue;
    if (Stands(at)) {
      const Segment to = FarthestFrom(at, s_.counts);
      if (to > at + 1) {
        Skip(at, to, s_.counts);
        at = to;
      }
    }
    ++at;
  }
  engine_.FinishOutcome();
}

}  // namespace berth::sim

#include "sim/native/skip_steps.h"
