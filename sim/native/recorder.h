// What a run tells of its ops and transfers while it goes on, if it was asked to (RunOptions::Record). A layer of
// a run (run.h).
#pragma once

#include <utility>

#include "sim/native/clock.h"
#include "sim/native/peaks.h"
#include "sim/native/transfers.h"
#include "sim/simulator.h"

namespace stowplan::sim {

template <typename Moment>
class Recorder : protected Clock<Moment> {
 public:
  using Clock<Moment>::Clock;

  void Reset(RunOptions::Record record) {
    ops_ = record != RunOptions::Record::kNothing;
    timeline_ = record == RunOptions::Record::kTimeline;
    outcome_.ops.assign(ops_ ? static_cast<std::size_t>(c_.ops) : 0, {});
    outcome_.transfers.clear();
    outcome_.memory.clear();
    sent_.clear();
  }
  bool timeline() const { return timeline_; }
  Outcome& outcome() { return outcome_; }

  void RecordIssue(OpIndex op, Moment at) {
    if (ops_) TimesOf(op).issue = moments_.TimeOf(at);
  }
  void RecordRun(OpIndex op, Moment start, Moment end) {
    if (ops_) TimesOf(op) = {TimesOf(op).issue, moments_.TimeOf(start), moments_.TimeOf(end)};
  }
  void RecordStart(OpIndex op) {
    if (ops_) TimesOf(op).start = this->now_time();
  }
  void RecordEnd(OpIndex op) {
    if (ops_) TimesOf(op).end = this->now_time();
  }

  // One queues, in the order of their numbers. Where its times are not known yet they come below.
  void RecordTransfer(OpIndex op, const Compiled::Sender& sender, Compiled::Id route, Moment start,
                      Moment end) {
    if (!timeline_) return;
    const Compiled::Id output = sender.output == Compiled::kNone ? -1 : sender.output - c_.rows[op].output;
    const Compiled::Route& on = c_.routes[route];
    outcome_.transfers.push_back({{op, output},
                                  on.from,
                                  on.to,
                                  sender.bytes,
                                  this->now_time(),
                                  moments_.TimeOf(start),
                                  moments_.TimeOf(end)});
    sent_.emplace_back(sender.bytes == 0 ? Compiled::kNone : sender.output, end);
  }
  void RecordTransferStart(TransferIndex t) {
    if (timeline_) outcome_.transfers[static_cast<std::size_t>(t)].start = this->now_time();
  }
  void RecordTransferEnd(TransferIndex t) {
    if (!timeline_) return;
    outcome_.transfers[static_cast<std::size_t>(t)].end = this->now_time();
    sent_[t].second = this->now_;
  }
  using Sent = std::pair<Compiled::Id, Moment>;  // an output whose storage a transfer holds, and until when
  const ById<Sent>& sent() const { return sent_; }  // of a timeline, by transfer

 protected:
  using Clock = sim::Clock<Moment>;
  using Clock::c_, Clock::moments_;

 private:
  OpTimes& TimesOf(OpIndex op) { return outcome_.ops[static_cast<std::size_t>(op)]; }

  bool ops_ = false, timeline_ = false;
  ById<Sent> sent_;
  Outcome outcome_;
};

}  // namespace stowplan::sim
