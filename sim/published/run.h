// A run under the rules `published`, as a template over the keys of its queues. Internal to sim/; included only by
// simulator.cpp. What a run leaves behind, peaks and records, is in records.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/exact.h"
#include "sim/outcome.h"
#include "sim/published/queues.h"
#include "sim/published/wiring.h"
#include "sim/published_rules.h"
#include "sim/simulator.h"

namespace stowplan::sim {

// What an op reads arrives when its producer ends or when the producer's sending ends, and the end of a
// sending is known when it is queued. So readers are visited once, when their producer ends. An op whose last
// producer has ended joins its device's queue at once, or waits in the list of the sending that arrives last.
template <typename Queues>
class PublishedSimulator final : public Simulator {
 public:
  PublishedSimulator(const Problem& problem, PublishedWiring wiring);
  const Outcome& Run(const Placement& placement, const RunOptions& options) override;

 private:
  using Key = typename Queues::Key;
  using View = typename Queues::View;
  static constexpr OpIndex kNobody = -1;

  static constexpr OpIndex kEnded = -2;

  // What is known of an op that has not joined its queue.
  struct Waiting {
    std::int32_t missing = 0;  // producers that have not ended
    DeviceIndex device = 0;
    Key last = 0;  // the key of the sending that arrives last, of those that are known; 0 = none
  };

  void Reset(const Placement& placement);
  bool RunEvents();
  void JoinDevice(View queues, OpIndex op, DeviceIndex device, Picos now);
  void Bound(View queues, OpIndex op, std::size_t d, Picos cost);
  void JoinChannel(View queues, std::size_t from, Key key);
  void JoinOrWait(View queues, OpIndex op, Picos now);
  bool HasEnded(View queues, Key sending) const;
  void Deliver(View queues, OpIndex reader, std::uint32_t transfer, std::size_t d, Picos now);
  void DeliverAll(View queues, std::size_t op, std::size_t d, Picos now);
  void RecordTransfer(std::uint32_t transfer, std::size_t from, OpIndex reader, Picos now, Picos end);

  DeviceIndex DeviceOf(OpIndex op) const { return waiting_[static_cast<std::size_t>(op)].device; }
  Picos LastUse(OpIndex op) const;
  Bytes Peak(std::size_t d);
  void RecordOps();
  void RecordMemory();

  const Problem& problem_;
  const PublishedWiring wiring_;
  const std::size_t op_count_;
  const std::size_t device_count_;
  Queues queues_;                 // devices, then channels
  std::vector<Waiting> waiting_;  // [op]; the last one is the reader that fills groups: never ready
  // [op]: its cost; once it is queued the end of its use of what it reads, as far as that decides when memory
  // is released.
  std::vector<Picos> cost_or_use_;
  std::vector<Picos> start_;  // [place in the queues] of an op
  std::vector<Picos> busy_;   // [device]
  std::vector<Picos> left_;   // [device]: with a cutoff, what has not joined its queue, pauses included
  Picos cutoff_ = kNever;     // before all times once the runtime is known to be beyond it
  // [place in the queues] of a sending: the ops that it makes ready, ascending, as a list through next_woken_;
  // kEnded when it has ended.
  std::vector<OpIndex> woken_;
  std::vector<OpIndex> next_woken_;  // [op]
  std::vector<OpIndex> complete_;    // scratch: ops whose producers all have ended
  std::vector<std::uint32_t> most_;  // [server]: how many items it serves at most
  struct Sending {
    Key key = 0;
    std::uint64_t run = 0;  // the last in which it was queued
  };
  std::vector<Sending> sendings_;  // [transfer]; of ops with several transfers only
  std::uint64_t run_ = 0;
  bool record_transfers_ = false;

  std::vector<Bytes> release_;  // scratch of Peak()
  std::vector<std::uint32_t> bucket_;

  Outcome outcome_;
};

template <typename Queues>
PublishedSimulator<Queues>::PublishedSimulator(const Problem& problem, PublishedWiring wiring)
    : problem_(problem),
      wiring_(std::move(wiring)),
      op_count_(problem.graph().ops.size()),
      device_count_(problem.cluster().devices.size()),
      queues_(2 * device_count_, op_count_ + wiring_.durations.size() + 2 * device_count_),
      waiting_(op_count_ + 1),
      cost_or_use_(op_count_ + 1),
      start_(op_count_ + device_count_),
      busy_(device_count_),
      left_(device_count_),
      woken_(op_count_ + wiring_.durations.size() + 2 * device_count_),
      next_woken_(op_count_),
      complete_(op_count_ + kReaderGroup),
      most_(2 * device_count_),
      sendings_(wiring_.durations.size()),
      release_(op_count_ + 1),
      bucket_(2 * op_count_ + 2) {
  outcome_.devices.resize(device_count_);
}

template <typename Queues>
void PublishedSimulator<Queues>::Reset(const Placement& placement) {
  ++run_;
  const CostTable& costs = problem_.costs();
  std::fill(most_.begin(), most_.end(), 0);
  std::fill(busy_.begin(), busy_.end(), 0);
  for (std::size_t i = 0; i < op_count_; ++i) {
    const auto d = static_cast<std::size_t>(placement.device[i]);
    const Picos cost = costs.at(static_cast<OpIndex>(i), placement.device[i]);
    waiting_[i] = {wiring_.producers[i], placement.device[i], 0};
    cost_or_use_[i] = cost;
    busy_[d] += cost;
    ++most_[d];
    most_[device_count_ + d] += wiring_.transfers[i + 1] - wiring_.transfers[i];
  }
  waiting_[op_count_] = {std::numeric_limits<std::int32_t>::max(), -1, 0};
  cost_or_use_[op_count_] = -kNever;
  queues_.Reset(most_.data());
  if (cutoff_ == kNever) return;
  std::fill(left_.begin(), left_.end(), 0);
  for (std::size_t i = 0; i < op_count_; ++i)
    left_[static_cast<std::size_t>(placement.device[i])] += cost_or_use_[i] + PauseAfterOp(cost_or_use_[i]);
  if (*std::max_element(left_.begin(), left_.end()) > cutoff_) cutoff_ = -1;
}

template <typename Queues>
inline void PublishedSimulator<Queues>::JoinDevice(View queues, OpIndex op, DeviceIndex device, Picos now) {
  const auto d = static_cast<std::size_t>(device);
  Picos& cost_or_use = cost_or_use_[static_cast<std::size_t>(op)];
  const Picos cost = cost_or_use;
  const Key key = queues.KeyOf(d, now, cost);
  const Picos start = queues.TimeOf(key) - cost;
  start_[queues.servers[d].tail] = start;
  cost_or_use = EndOfUse(start, cost);
  queues.Join(d, key, static_cast<std::uint32_t>(op), PauseAfterOp(cost));
  if (cutoff_ != kNever) Bound(queues, op, d, cost);
}

// The device is not done before it has run all that has not joined its queue, nor the run before what reads the op.
template <typename Queues>
inline void PublishedSimulator<Queues>::Bound(View queues, OpIndex op, std::size_t d, Picos cost) {
  left_[d] -= cost + PauseAfterOp(cost);
  const Picos free = queues.servers[d].free;
  const Picos end = free - PauseAfterOp(cost);
  if (std::max(free + left_[d], end + wiring_.tails[static_cast<std::size_t>(op)]) > cutoff_) cutoff_ = -1;
}

template <typename Queues>
inline void PublishedSimulator<Queues>::JoinChannel(View queues, std::size_t from, Key key) {
  woken_[queues.PlaceOf(key)] = kNobody;
  queues.Join(device_count_ + from, key, 0, kSendPause);
}

// True for none.
template <typename Queues>
inline bool PublishedSimulator<Queues>::HasEnded(View queues, Key sending) const {
  return sending == 0 || woken_[queues.PlaceOf(sending)] == kEnded;
}

// For an op whose producers have all ended.
template <typename Queues>
inline void PublishedSimulator<Queues>::JoinOrWait(View queues, OpIndex op, Picos now) {
  const Waiting& waiting = waiting_[static_cast<std::size_t>(op)];
  if (HasEnded(queues, waiting.last)) {
    JoinDevice(queues, op, waiting.device, now);
    return;
  }
  OpIndex* next = &woken_[queues.PlaceOf(waiting.last)];
  while (*next != kNobody && *next < op) next = &next_woken_[static_cast<std::size_t>(*next)];
  next_woken_[static_cast<std::size_t>(op)] = *next;
  *next = op;
}

// One reader at the end of an op on d.
template <typename Queues>
void PublishedSimulator<Queues>::Deliver(View queues, OpIndex reader, std::uint32_t transfer, std::size_t d,
                                         Picos now) {
  Waiting& waiting = waiting_[static_cast<std::size_t>(reader)];
  if (static_cast<std::size_t>(waiting.device) != d) {
    Sending& sending = sendings_[transfer];
    if (sending.run != run_) {
      sending = {queues.KeyOf(device_count_ + d, now, wiring_.durations[transfer]), run_};
      JoinChannel(queues, d, sending.key);
      if (record_transfers_) RecordTransfer(transfer, d, reader, now, queues.TimeOf(sending.key));
    }
    if (sending.key > waiting.last || HasEnded(queues, waiting.last)) waiting.last = sending.key;
  }
  if (--waiting.missing == 0) JoinOrWait(queues, reader, now);
}

// The end of an op in general. Several outputs queue in the order of their first remote readers. A sending
// that takes no time may have a smaller key than one that has ended.
template <typename Queues>
void PublishedSimulator<Queues>::DeliverAll(View queues, std::size_t op, std::size_t d, Picos now) {
  const PublishedWiring::Item& item = wiring_.ops[op];
  if (item.duration == PublishedWiring::kSeveral) {
    for (auto e = wiring_.first_edge[op]; e < wiring_.first_edge[op + 1]; ++e) {
      Deliver(queues, wiring_.edges[e].consumer, wiring_.edges[e].transfer, d, now);
    }
  } else {
    for (std::uint32_t i = 0; i < item.readers; ++i) {
      Deliver(queues, wiring_.readers[item.reader + i], wiring_.transfers[op], d, now);
    }
  }
}

// False if it was given up at the cutoff.
template <typename Queues>
bool PublishedSimulator<Queues>::RunEvents() {
  const View queues = queues_.view();
  const PublishedWiring::Item* const items = wiring_.ops.data();
  const OpIndex* const readers = wiring_.readers.data();
  Waiting* const waiting = waiting_.data();
  OpIndex* const complete = complete_.data();
  const std::size_t devices = device_count_;
  const std::uint32_t first_sending = queues.servers[devices].first;
  for (const OpIndex op : wiring_.sources) JoinDevice(queues, op, DeviceOf(op), 0);
  for (;;) {
    const Key key = queues.Next();
    if (key == Queues::kIdle) return true;
    const Picos now = queues.TimeOf(key);
    if (now > cutoff_) return false;
    const std::uint32_t place = queues.PlaceOf(key);
    const auto [key_again, op, server] = queues.Pop(key);
    if (place >= first_sending) {
      OpIndex& woken = woken_[place];
      for (OpIndex i = woken; i != kNobody; i = next_woken_[static_cast<std::size_t>(i)]) {
        JoinDevice(queues, i, DeviceOf(i), now);
      }
      woken = kEnded;
      continue;
    }
    const PublishedWiring::Item item = items[op];
    if (item.duration == PublishedWiring::kSeveral) {
      DeliverAll(queues, op, server, now);
      continue;
    }
    const Key sending = queues.KeyOf(devices + server, now, item.duration);
    if ((queues.TimeOf(sending) == now) | record_transfers_) {
      DeliverAll(queues, op, server, now);
      continue;
    }
    const auto here = static_cast<DeviceIndex>(server);
    std::uint32_t local_readers = 0;
    OpIndex* end = complete;
    const OpIndex* const last = readers + item.reader + InGroups(item.readers);
    for (const OpIndex* group = readers + item.reader; group != last; group += kReaderGroup) {
      for (std::uint32_t i = 0; i < kReaderGroup; ++i) {
        Waiting& reader = waiting[group[i]];
        const bool local = reader.device == here;
        local_readers += local;
        reader.last = std::max(reader.last, sending & (Key{local} - 1));
        *end = group[i];
        end += --reader.missing == 0;
      }
    }
    if (local_readers != item.readers) JoinChannel(queues, server, sending);
    for (const OpIndex* r = complete; r != end; ++r) JoinOrWait(queues, *r, now);
  }
}

template <typename Queues>
const Outcome& PublishedSimulator<Queues>::Run(const Placement& placement, const RunOptions& options) {
  record_transfers_ = options.record == RunOptions::Record::kTimeline;
  outcome_.ops.clear();
  outcome_.transfers.clear();
  outcome_.memory.clear();
  outcome_.runtime = 0;
  outcome_.stopped = false;
  const Picos cutoff = cutoff_ = options.cutoff.value_or(kNever);
  Reset(placement);
  if (!RunEvents()) {
    SetStopped(cutoff, device_count_, 0, outcome_);
    return outcome_;
  }
  std::size_t done = 0;
  const View queues = queues_.view();
  for (std::size_t d = 0; d < device_count_; ++d) {
    const auto& device = queues.servers[d];
    outcome_.runtime = std::max({outcome_.runtime, device.free, queues.servers[device_count_ + d].free});
    done += device.tail - device.first;
  }
  STOWPLAN_CHECK_EQ(done, op_count_);
  if (outcome_.runtime > cutoff) {
    SetStopped(cutoff, device_count_, 0, outcome_);
    return outcome_;
  }
  for (std::size_t d = 0; d < device_count_; ++d) outcome_.devices[d] = {busy_[d], Peak(d)};
  if (options.record != RunOptions::Record::kNothing) RecordOps();
  if (record_transfers_) RecordMemory();
  return outcome_;
}

}  // namespace stowplan::sim
