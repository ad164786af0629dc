#include "sim/published_replay.h"

#include <algorithm>

#include "sim/published_rules.h"

namespace berth::sim {

PublishedReplay::PublishedReplay(const Problem& problem, const PublishedWiring& wiring)
    : problem_(problem),
      wiring_(wiring),
      op_count_(wiring.ops.size()),
      device_count_(problem.cluster().devices.size()),
      out_begin_(op_count_ + 1),
      in_begin_(op_count_ + 1),
      number_(op_count_ + wiring.durations.size()),
      end_(number_.size()),
      past_(op_count_),
      place_(number_.size()),
      base_entries_(Places(wiring, device_count_)),
      base_start_(base_entries_.size()),
      base_servers_(2 * device_count_),
      queues_(2 * device_count_, base_entries_.size()),
      most_(2 * device_count_),
      head_(2 * device_count_),
      waiting_(kMostSegments * 2 * device_count_),
      ahead_(2 * device_count_),
      start_(base_entries_.size()),
      served_(op_count_),
      standing_(op_count_),
      queued_in_(wiring.durations.size()),
      touched_in_(op_count_),
      moved_in_(op_count_) {
  events_.reserve(number_.size());
  segments_.reserve(kMostSegments);
  joined_.reserve(op_count_);
  const auto transfer_of = [&](std::size_t op, std::uint32_t i) {
    return wiring.ops[op].duration == PublishedWiring::kSeveral
               ? wiring.edges[wiring.first_edge[op] + i].transfer
               : wiring.transfers[op];
  };
  for (std::size_t op = 0; op < op_count_; ++op) {
    for (std::uint32_t i = 0; i < wiring.ops[op].readers; ++i) {
      out_.push_back({wiring.readers[wiring.ops[op].reader + i], transfer_of(op, i)});
    }
    out_begin_[op + 1] = static_cast<std::uint32_t>(out_.size());
    in_begin_[op + 1] = in_begin_[op] + static_cast<std::uint32_t>(wiring.producers[op]);
  }
  in_.resize(out_.size());
  std::vector<std::uint32_t> next(in_begin_.begin(), in_begin_.end() - 1);
  for (OpIndex op = 0; op < static_cast<OpIndex>(op_count_); ++op) {
    for (const auto [reader, transfer] : Readers(op))
      in_[next[static_cast<std::size_t>(reader)]++] = {op, transfer};
  }
}

// ---- one end after the other ----

void PublishedReplay::Join(OpIndex op) {
  const auto i = static_cast<std::size_t>(op);
  const auto d = static_cast<std::size_t>(device_[i]);
  const auto queues = queues_.view();
  const Picos cost = Cost(op);
  const Key key = queues.KeyOf(d, now_, cost);
  const std::uint32_t place = queues.servers[d].tail;
  const Picos start = queues.TimeOf(key) - cost;
  start_[place] = start;
  standing_[i] = {EndOfUse(start, cost), 0, place};
  if (is_base_) {
    standing_[i].joined = static_cast<std::uint32_t>(events_.size());
    past_[i] = {start, standing_[i].use, standing_[i].joined, place};
  } else {
    served_[i] = {run_, 0, true};
    joined_.push_back(op);
  }
  queues.Join(d, key, static_cast<std::uint32_t>(op), PauseAfterOp(cost));
}

// Whether what serves a reader had ended when the segment began; a sending that the base does not have had if it
// was queued in an earlier one.
bool PublishedReplay::HasEnded(OpIndex op, const Edge& input) const {
  const std::uint32_t item = ItemServing(op, input, device_);
  if (number_[item] != kNone) return number_[item] < first_;
  return item >= op_count_ && queued_in_[input.transfer] >= trial_ && queued_in_[input.transfer] < run_;
}

void PublishedReplay::Serve(OpIndex op) {
  Served& served = served_[static_cast<std::size_t>(op)];
  if (served.run != run_) {
    const auto producers = Producers(op);
    served = {run_, producers.size() == 1, false};
    for (std::size_t i = 0; i < producers.size() && producers.size() > 1; ++i)
      served.missing += !HasEnded(op, producers[i]);
  }
  if (--served.missing == 0) Join(op);
}

void PublishedReplay::EndOp(OpIndex op) {
  const auto i = static_cast<std::size_t>(op);
  const auto d = static_cast<std::size_t>(device_[i]);
  const auto queues = queues_.view();
  const bool moved = IsMoved(op);
  for (const auto [reader, transfer] : Readers(op)) {
    if (device(reader) == device(op)) {
      Serve(reader);
    } else if (queued_in_[transfer] < trial_) {
      queued_in_[transfer] = run_;
      const Key key = queues.KeyOf(device_count_ + d, now_, wiring_.durations[transfer]);
      const auto item = static_cast<std::uint32_t>(op_count_) + transfer;
      sendings_left_ += moved || number_[item] == kNone;
      queues.Join(device_count_ + d, key, item, kSendPause);
    }
  }
  if (touched_in_[i] != trial_) return;
  for (auto transfer = wiring_.transfers[i]; transfer < wiring_.transfers[i + 1]; ++transfer) {
    const std::uint32_t number = number_[op_count_ + transfer];
    if (number == kNone || queued_in_[transfer] >= trial_) continue;
    ++dropped_;
    last_dropped_ = std::max(last_dropped_, number);
  }
}

void PublishedReplay::EndSending(std::uint32_t transfer) {
  const OpIndex op = wiring_.tensors[transfer].op;
  for (const Edge& edge : Readers(op)) {
    if (edge.transfer == transfer && device(edge.op) != device(op)) Serve(edge.op);
  }
  sendings_left_ -= IsMoved(op) || number_[op_count_ + transfer] == kNone;
}

// ---- the base ----

void PublishedReplay::RunBase(const std::vector<DeviceIndex>& device) {
  trial_ = ++run_;
  is_base_ = true;
  base_device_ = device_ = device;
  moved_.clear();
  std::fill(most_.begin(), most_.end(), kSlack);
  for (std::size_t i = 0; i < op_count_; ++i) {
    const auto d = static_cast<std::size_t>(device[i]);
    ++most_[d];
    most_[device_count_ + d] += wiring_.transfers[i + 1] - wiring_.transfers[i];
  }
  queues_.Reset(most_.data());
  std::fill(number_.begin(), number_.end(), kNone);
  events_.clear();
  first_ = 0;
  now_ = 0;
  for (const OpIndex op : wiring_.sources) Join(op);
  const auto queues = queues_.view();
  for (Key key = queues.Next(); key != Queues::kIdle; key = queues.Next()) {
    now_ = queues.TimeOf(key);
    const std::uint32_t item = queues.Pop(key).item;
    events_.push_back(item);
    end_[item] = now_;
    place_[item] = queues.PlaceOf(key);
    if (item < op_count_) {
      EndOp(static_cast<OpIndex>(item));
    } else {
      EndSending(item - static_cast<std::uint32_t>(op_count_));
    }
  }
  is_base_ = false;
  for (std::uint32_t n = 0; n < events_.size(); ++n) number_[events_[n]] = n + 1;
  for (std::size_t s = 0; s < 2 * device_count_; ++s) {
    base_servers_[s] = queues.servers[s];
    const auto [free, tail, first] = base_servers_[s];
    std::copy(queues.entries + first, queues.entries + tail + 1, base_entries_.begin() + first);
    std::copy(start_.begin() + first, start_.begin() + tail, base_start_.begin() + first);
  }
}

std::uint32_t PublishedReplay::BaseHead(std::size_t server, std::uint32_t number) const {
  std::uint32_t low = first(server), high = base_tail(server);
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    (end_number(middle) <= number ? low : high) = end_number(middle) <= number ? middle + 1 : middle;
  }
  return low;
}

}  // namespace berth::sim
