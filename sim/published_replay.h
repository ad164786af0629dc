// The timeline of a base placement under the rules `published`, and what moves change of it. Internal to sim/.
//
// Ends are numbered from 1 in the order in which they are processed; 0 stands for the start of the run. A trial
// begins with the first end that the moves can change. Up to there nothing differs; from there on the ends are
// processed anew, and how many producers an op still misses is counted when it is first asked.
//
// A trial is back on the old timeline when the same ends have been processed in both, no moved op has come to the
// queues of one only, and all queues hold the same, later by one constant: then what follows is the old timeline
// later by that constant, up to the next end that the moves can change, which is where the next segment of ends
// to be processed anew begins.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sim/incremental.h"
#include "sim/published_queues.h"
#include "sim/published_rules.h"
#include "sim/published_wiring.h"

namespace berth::sim {

class PublishedReplay {
 public:
  using Queues = PublishedQueues<std::uint64_t>;
  using Key = Queues::Key;
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  static constexpr Picos kNever = std::numeric_limits<Picos>::max();
  // So many more ops and sendings than in the base can join a queue in a trial.
  static constexpr std::uint32_t kSlack = 256;

  static std::size_t Places(const PublishedWiring& wiring, std::size_t devices) {
    return wiring.ops.size() + wiring.durations.size() + 2 * devices * (1 + kSlack);
  }

  PublishedReplay(const Problem& problem, const PublishedWiring& wiring);

  void RunBase(const std::vector<DeviceIndex>& device);

  // False if the moves are too many for the slack.
  bool CanReplay(std::span<const Move> moves) const;
  enum class Rest : std::uint8_t {
    kNothing,  // the trial ran to its end
    kShifted,  // what follows end `last` of the base follows `shift` later
    kStopped,  // given up at time `shift`, the first end beyond the cutoff
  };
  struct Result {
    Rest rest = Rest::kNothing;
    std::uint32_t last = 0;  // of the base: all up to here have been processed
    Picos shift = 0;
  };
  // Revert() must follow before the next call.
  Result RunTrial(std::span<const Move> moves, Picos cutoff);
  void Revert();
  // Ends that were processed anew; between two segments, and behind the last, everything is `shift` later.
  struct Segment {
    std::uint32_t first = 0;  // end; all if 0 or 1
    std::uint32_t last = 0;   // of the base: all up to here have been processed
    Picos shift = 0;
    Picos now = 0;  // when the last was
  };
  static constexpr std::size_t kMostSegments = 8;
  std::span<const Segment> segments() const { return segments_; }
  // The queue of a server in a segment: what waited at its start and what waits at its end.
  struct Waiting {
    std::uint32_t head, tail, last_head, last_tail;
  };
  const Waiting& waiting(std::size_t segment, std::size_t server) const {
    return waiting_[segment * 2 * device_count_ + server];
  }
  // The ops whose device differs from that in the base.
  std::span<const OpIndex> moved() const { return moved_; }

  // ---- what PublishedPeaks asks ----

  struct Edge {
    OpIndex op;  // the other end
    std::uint32_t transfer;
  };
  std::span<const Edge> Readers(OpIndex op) const { return Row(out_, out_begin_, op); }
  std::span<const Edge> Producers(OpIndex op) const { return Row(in_, in_begin_, op); }
  std::size_t devices() const { return device_count_; }
  DeviceIndex device(OpIndex op) const { return device_[static_cast<std::size_t>(op)]; }
  DeviceIndex base_device(OpIndex op) const { return base_device_[static_cast<std::size_t>(op)]; }
  Picos Cost(OpIndex op) const { return problem_.costs().at(op, device(op)); }
  // An op in the base. Places of a device are consecutive.
  struct Past {
    Picos start = 0;
    Picos use = 0;             // EndOfUse()
    std::uint32_t joined = 0;  // the end that made it ready
    std::uint32_t place = 0;
  };
  const Past& base(OpIndex op) const { return past_[static_cast<std::size_t>(op)]; }
  Picos base_start(std::uint32_t place) const { return base_start_[place]; }
  std::uint32_t first(std::size_t server) const { return base_servers_[server].first; }
  std::uint32_t base_tail(std::size_t server) const { return base_servers_[server].tail; }
  Picos base_free(std::size_t server) const { return base_servers_[server].free; }
  OpIndex base_op(std::uint32_t place) const { return static_cast<OpIndex>(base_entries_[place].item); }
  std::uint32_t end_number(std::uint32_t place) const { return number_[base_entries_[place].item]; }
  // The first place of a server whose end comes after this one.
  std::uint32_t BaseHead(std::size_t server, std::uint32_t number) const;
  Picos TimeOfEnd(std::uint32_t number) const { return end_[events_[number - 1]]; }
  std::uint32_t ends() const { return static_cast<std::uint32_t>(events_.size()); }

  // In the trial: places of a queue up to the end of the last segment; start_at() of all of them, op_at() of those
  // that waited in a segment.
  std::uint32_t tail(std::size_t s) { return queues_.view().servers[s].tail; }
  Picos free(std::size_t s) { return queues_.view().servers[s].free; }
  OpIndex op_at(std::uint32_t place) { return static_cast<OpIndex>(queues_.view().entries[place].item); }
  Picos start_at(std::uint32_t place) const { return start_[place]; }
  // An op in the trial: if it joined its queue in a segment, and else in the base.
  struct Standing {
    Picos use = 0;
    std::uint32_t joined = 0;  // in the base, or 0
    std::uint32_t place = 0;
  };
  const Standing& standing(OpIndex op) const { return standing_[static_cast<std::size_t>(op)]; }

 private:
  // What is known in a segment of an op that somebody served in it.
  struct Served {
    std::uint64_t run = 0;  // the segment
    std::int32_t missing = 0;
    bool joined = false;
  };

  // Another segment costs a search in all queues: it is worth that if it leaves out so many ends per device.
  static constexpr std::uint32_t kLeastLeftOut = 16;

  static std::span<const Edge> Row(const std::vector<Edge>& edges, const std::vector<std::uint32_t>& begin,
                                   OpIndex op) {
    const auto i = static_cast<std::size_t>(op);
    return {edges.data() + begin[i], edges.data() + begin[i + 1]};
  }
  void Apply(std::span<const Move> moves);
  std::uint32_t NextChange(std::uint32_t from) const;
  std::uint32_t FirstEndAfter(Picos time, std::uint32_t number) const;
  std::uint32_t BaseTail(std::size_t server, std::uint32_t number) const;
  Picos PauseAfter(std::uint32_t item) const {
    return item < op_count_
               ? PauseAfterOp(problem_.costs().at(static_cast<OpIndex>(item), base_device_[item]))
               : kSendPause;
  }
  // The item whose end serves a reader what it reads there.
  std::uint32_t ItemServing(OpIndex op, const Edge& input, const std::vector<DeviceIndex>& device) const {
    const bool local = device[static_cast<std::size_t>(input.op)] == device[static_cast<std::size_t>(op)];
    return local ? static_cast<std::uint32_t>(input.op)
                 : static_cast<std::uint32_t>(op_count_) + input.transfer;
  }
  bool SendsTheSame(OpIndex producer) const;
  bool IsMoved(OpIndex op) const { return moved_in_[static_cast<std::size_t>(op)] == trial_; }
  void BeginAt(std::uint32_t number, Picos shift);
  void RestoreQueue(std::size_t s, Picos shift);
  Rest ProcessSegment(Picos cutoff);
  bool HasEnded(OpIndex op, const Edge& input) const;
  void Serve(OpIndex op);
  void Join(OpIndex op);
  void EndOp(OpIndex op);
  void EndSending(std::uint32_t transfer);
  bool IsBack();
  bool MovedAlike() const;
  bool SameQueues(Picos next, Picos shift);

  const Problem& problem_;
  const PublishedWiring& wiring_;
  const std::size_t op_count_;
  const std::size_t device_count_;
  std::vector<Edge> out_, in_;
  std::vector<std::uint32_t> out_begin_, in_begin_;

  // The base. An op is an item, and so is a transfer: op_count_ + transfer.
  std::vector<DeviceIndex> base_device_;
  std::vector<std::uint32_t> number_;  // [item]: of its end; kNone if it is not sent
  std::vector<Picos> end_;             // [item]
  std::vector<Past> past_;             // [op]
  std::vector<std::uint32_t> place_;   // [item]
  std::vector<std::uint32_t> events_;  // items in the order of their ends
  std::vector<Queues::Entry> base_entries_;
  std::vector<Picos> base_start_;  // [place] of an op
  std::vector<Queues::Server> base_servers_;

  // The run in progress; a stamp of run_ says that an entry belongs to its segment, of trial_ that it belongs to
  // the trial.
  std::uint64_t run_ = 0;
  std::uint64_t trial_ = 0;
  bool is_base_ = false;
  std::vector<DeviceIndex> device_;
  std::vector<OpIndex> moved_;
  Queues queues_;
  std::vector<std::uint32_t> most_;
  std::vector<std::uint32_t> head_;  // [server]
  std::vector<Segment> segments_;
  std::vector<Waiting> waiting_;     // [segment][server]
  std::vector<std::int32_t> ahead_;  // [server]: of how many more its queue has got rid than in the base
  std::vector<Picos> start_;         // [place] of an op
  std::vector<Served> served_;       // [op]
  std::vector<Standing> standing_;   // [op]
  std::vector<OpIndex> joined_;      // in segments of the trial
  std::vector<std::uint64_t> queued_in_, touched_in_, moved_in_;
  std::uint32_t first_ = 0;
  Picos now_ = 0;
  std::uint32_t ended_ = 0;  // ends processed in the segment, of items that the base has
  // What stands between the trial and the base: sendings that the base does not have or that a moved op made, and
  // the last end of the base that does not happen.
  std::uint32_t sendings_left_ = 0;
  std::uint32_t dropped_ = 0;
  std::uint32_t last_dropped_ = 0;
  std::uint32_t last_ended_ = 0;   // the greatest number that was processed
  std::uint32_t wait_ = 0;         // ends before the queues are compared again
  std::uint32_t next_change_ = 0;  // the first after last_ended_; not known if before it
  Picos shift_ = 0;                // behind last_ended_, once the trial is back there
};

}  // namespace berth::sim
