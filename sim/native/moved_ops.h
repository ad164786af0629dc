// What a plan has to do with the ops that are moved. Internal to sim/native/.
#pragma once

#include <span>
#include <vector>

#include "sim/incremental.h"
#include "sim/native/plan.h"

namespace berth::sim {

class MovedOps {
 public:
  using Compiled = Problem::Compiled;
  using Id = Compiled::Id;

  explicit MovedOps(const Compiled& compiled);

  // Changes the plan and the counts at the start of a run, in work proportional to the edges of the ops that
  // are moved and of their producers; and back.
  void Apply(std::span<const Move> moves, Plan& plan, Counts& start);
  void Revert(Plan& plan, Counts& start);

  // Each op once, until Revert().
  struct Moved {
    OpIndex op;
    DeviceIndex from, to;
  };
  const std::vector<Moved>& moved() const { return moved_; }
  bool IsMoved(OpIndex op) const { return (marks_[op] & kMoved) != 0; }
  const std::vector<OpIndex>& senders() const { return senders_; }      // the moved and their producers
  const std::vector<OpIndex>& receivers() const { return receivers_; }  // the moved and their consumers
  const std::vector<Transfer>& old_transfers() const { return old_transfers_; }  // of senders
  const std::vector<Id>& old_slots() const { return old_slots_; }                // the numbers they had
  // By number a transfer had: the one it has, kNone if there is none to that device any more.
  const ById<Id>& mapped() const { return mapped_; }
  std::int32_t transfers() const { return transfers_; }  // that senders have

 private:
  enum Mark : std::uint8_t { kMoved = 1, kSender = 2, kReceiver = 4 };
  void MarkAs(Mark mark, OpIndex op, std::vector<OpIndex>& list);
  void Remake(Plan& plan, Counts& start);
  void Map(const Plan& plan);

  const Compiled& c_;
  // By op: its producers, and its outputs' views.
  ById<Id> producers_begin_, views_begin_;
  std::vector<OpIndex> producers_;
  std::vector<Id> views_;

  ById<std::uint8_t> marks_;
  std::vector<Moved> moved_;
  std::vector<OpIndex> senders_, receivers_;
  std::vector<Transfer> old_transfers_;
  std::vector<Id> old_slots_;
  ById<Id> mapped_;
  std::int32_t transfers_ = 0;
};

}  // namespace berth::sim
