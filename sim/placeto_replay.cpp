#include "sim/placeto_replay.h"

#include <algorithm>

#include "sim/error.h"
#include "sim/placeto_rules.h"

namespace berth::sim {

PlacetoReplay::PlacetoReplay(const Problem& problem, const PlacetoWiring& wiring)
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
      restart_(2 * device_count_),
      start_(base_entries_.size()),
      present_(op_count_),
      queued_in_(wiring.durations.size()),
      touched_in_(op_count_),
      moved_in_(op_count_) {
  events_.reserve(number_.size());
  const auto parcel_of = [&](std::size_t op, std::uint32_t i) {
    return wiring.ops[op].duration == PlacetoWiring::kSeveral ? wiring.edges[wiring.first_edge[op] + i].parcel
                                                              : wiring.parcels[op];
  };
  for (std::size_t op = 0; op < op_count_; ++op) {
    for (std::uint32_t i = 0; i < wiring.ops[op].readers; ++i) {
      out_.push_back({wiring.readers[wiring.ops[op].reader + i], parcel_of(op, i)});
    }
    out_begin_[op + 1] = static_cast<std::uint32_t>(out_.size());
    in_begin_[op + 1] = in_begin_[op] + static_cast<std::uint32_t>(wiring.producers[op]);
  }
  in_.resize(out_.size());
  std::vector<std::uint32_t> next(in_begin_.begin(), in_begin_.end() - 1);
  for (OpIndex op = 0; op < static_cast<OpIndex>(op_count_); ++op) {
    for (const auto [reader, parcel] : Readers(op))
      in_[next[static_cast<std::size_t>(reader)]++] = {op, parcel};
  }
}

// ---- one end after the other ----

void PlacetoReplay::Join(OpIndex op) {
  const auto i = static_cast<std::size_t>(op);
  const auto d = static_cast<std::size_t>(device_[i]);
  const auto queues = queues_.view();
  const Picos cost = Cost(op);
  const Key key = queues.KeyOf(d, now_, cost);
  const std::uint32_t place = queues.servers[d].tail;
  const Picos start = queues.TimeOf(key) - cost;
  start_[place] = start;
  present_[i] = {run_, 0, place, start, EndOfUse(start, cost)};
  if (is_base_) past_[i] = {start, present_[i].use, static_cast<std::uint32_t>(events_.size()), place};
  queues.Join(d, key, static_cast<std::uint32_t>(op), PauseAfterOp(cost));
}

// The item whose end serves a reader what it reads there.
std::uint32_t PlacetoReplay::ItemServing(OpIndex op, const Edge& input,
                                         const std::vector<DeviceIndex>& device) const {
  const bool local = device[static_cast<std::size_t>(input.op)] == device[static_cast<std::size_t>(op)];
  return local ? static_cast<std::uint32_t>(input.op) : static_cast<std::uint32_t>(op_count_) + input.parcel;
}

void PlacetoReplay::Serve(OpIndex op) {
  const auto i = static_cast<std::size_t>(op);
  Present& present = present_[i];
  if (present.run != run_) {
    present.run = run_;
    present.place = kNone;
    present.missing = 0;
    for (const Edge& input : Producers(op)) {
      present.missing += number_[ItemServing(op, input, device_)] >= first_;
    }
  }
  if (--present.missing == 0) Join(op);
}

void PlacetoReplay::EndOp(OpIndex op) {
  const auto i = static_cast<std::size_t>(op);
  const auto d = static_cast<std::size_t>(device_[i]);
  const auto queues = queues_.view();
  const bool moved = moved_in_[i] == run_;
  for (const auto [reader, parcel] : Readers(op)) {
    if (device(reader) == device(op)) {
      Serve(reader);
    } else if (queued_in_[parcel] != run_) {
      queued_in_[parcel] = run_;
      const Key key = queues.KeyOf(device_count_ + d, now_, wiring_.durations[parcel]);
      const auto item = static_cast<std::uint32_t>(op_count_) + parcel;
      sendings_left_ += moved || number_[item] == kNone;
      queues.Join(device_count_ + d, key, item, kSendPause);
    }
  }
  if (touched_in_[i] != run_) return;
  --touched_left_;
  for (auto parcel = wiring_.parcels[i]; parcel < wiring_.parcels[i + 1]; ++parcel) {
    const std::uint32_t number = number_[op_count_ + parcel];
    if (number == kNone || queued_in_[parcel] == run_) continue;
    ++dropped_;
    last_dropped_ = std::max(last_dropped_, number);
  }
}

void PlacetoReplay::EndSending(std::uint32_t parcel) {
  const OpIndex op = wiring_.tensors[parcel].op;
  for (const Edge& edge : Readers(op)) {
    if (edge.parcel == parcel && device(edge.op) != device(op)) Serve(edge.op);
  }
  sendings_left_ -= moved_in_[static_cast<std::size_t>(op)] == run_ || number_[op_count_ + parcel] == kNone;
}

// ---- the base ----

void PlacetoReplay::RunBase(const std::vector<DeviceIndex>& device) {
  ++run_;
  is_base_ = true;
  base_device_ = device_ = device;
  moved_.clear();
  std::fill(most_.begin(), most_.end(), kSlack);
  for (std::size_t i = 0; i < op_count_; ++i) {
    const auto d = static_cast<std::size_t>(device[i]);
    ++most_[d];
    most_[device_count_ + d] += wiring_.parcels[i + 1] - wiring_.parcels[i];
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

std::uint32_t PlacetoReplay::BaseHead(std::size_t server, std::uint32_t number) const {
  std::uint32_t low = first(server), high = base_tail(server);
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    (end_number(middle) <= number ? low : high) = end_number(middle) <= number ? middle + 1 : middle;
  }
  return low;
}

// ---- a try ----

// Does a producer send in the try what it sends in the base, in the same order?
bool PlacetoReplay::SendsTheSame(OpIndex producer) const {
  const auto i = static_cast<std::size_t>(producer);
  if (wiring_.ops[i].duration == PlacetoWiring::kSeveral) return false;
  const auto readers = Readers(producer);
  const bool sends = std::any_of(readers.begin(), readers.end(),
                                 [&](const Edge& e) { return device(e.op) != device(producer); });
  return sends == (number_[op_count_ + wiring_.parcels[i]] != kNone);
}

// The first end at which something differs: what a producer sends, or when a moved op is ready in the base or
// in the try.
std::uint32_t PlacetoReplay::FirstChange() const {
  std::uint32_t change = kNone;
  for (const OpIndex op : moved_) {
    std::uint32_t ready = 0;
    for (const Edge& input : Producers(op)) {
      const std::uint32_t item = ItemServing(op, input, device_);
      ready = std::max(ready, number_[item]);
      if (item != ItemServing(op, input, base_device_) && !SendsTheSame(input.op)) {
        change = std::min(change, number_[static_cast<std::size_t>(input.op)]);
      }
    }
    change = std::min({change, ready, base(op).joined});
  }
  return change;
}

bool PlacetoReplay::CanTry(std::span<const Move> moves) const {
  std::size_t joining = 0;
  for (const Move& move : moves) {
    const auto i = static_cast<std::size_t>(move.op);
    joining += 1 + wiring_.parcels[i + 1] - wiring_.parcels[i] + Producers(move.op).size();
  }
  return joining <= kSlack;
}

void PlacetoReplay::Apply(std::span<const Move> moves) {
  ++run_;
  moved_.clear();
  for (const Move& move : moves) device_[static_cast<std::size_t>(move.op)] = move.device;
  for (const Move& move : moves) {
    const auto i = static_cast<std::size_t>(move.op);
    if (moved_in_[i] == run_ || device(move.op) == base_device(move.op)) continue;
    moved_in_[i] = run_;
    moved_.push_back(move.op);
  }
}

void PlacetoReplay::BeginAt(std::uint32_t first) {
  first_ = first;
  begun_ = true;
  ended_ = dropped_ = last_dropped_ = touched_left_ = sendings_left_ = wait_ = 0;
  last_ended_ = std::max(first, 1u) - 1;
  now_ = last_ended_ > 0 ? TimeOfEnd(last_ended_) : 0;
  const auto touch = [&](OpIndex op) {
    const auto i = static_cast<std::size_t>(op);
    touched_left_ += number_[i] >= first && touched_in_[i] != run_;
    touched_in_[i] = run_;
  };
  for (const OpIndex op : moved_) {
    touch(op);
    for (const Edge& input : Producers(op)) touch(input.op);
  }
  const auto queues = queues_.view();
  queues.HaveNone();
  for (std::size_t s = 0; s < 2 * device_count_; ++s) {
    const std::uint32_t head = BaseHead(s, last_ended_);
    const std::uint32_t tail = BaseTail(s, first);
    const std::uint32_t last = tail > this->first(s) ? base_entries_[tail - 1].item : kNone;
    queues.Restore(s, head, tail, last == kNone ? 0 : end_[last] + PauseAfter(last));
    head_[s] = head;
    restart_[s] = {head, tail};
  }
  if (first == 0) {
    for (const OpIndex op : wiring_.sources) Join(op);
  }
}

// The first place of a server that was joined at this end or later.
std::uint32_t PlacetoReplay::BaseTail(std::size_t server, std::uint32_t number) const {
  std::uint32_t low = first(server), high = base_tail(server);
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    const std::uint32_t item = base_entries_[middle].item;
    const std::uint32_t joined =
        item < op_count_ ? past_[item].joined
                         : number_[static_cast<std::size_t>(wiring_.tensors[item - op_count_].op)];
    if (joined < number) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

PlacetoReplay::Result PlacetoReplay::Try(std::span<const Move> moves, Picos cutoff) {
  Apply(moves);
  Result result;
  result.first = moved_.empty() ? ends() + 1 : FirstChange();
  if (const std::uint32_t number = FirstEndAfter(cutoff, 0); number < result.first && number <= ends()) {
    result.rest = Rest::kStopped;
    result.shift = TimeOfEnd(number);
    return result;
  }
  BeginAt(result.first);
  const auto queues = queues_.view();
  for (Key key = queues.Next(); key != Queues::kIdle; key = queues.Next()) {
    now_ = queues.TimeOf(key);
    if (now_ > cutoff) {
      result.rest = Rest::kStopped;
      result.shift = now_;
      return result;
    }
    const auto entry = queues.Pop(key);
    ++head_[entry.server];
    if (entry.item < op_count_) {
      EndOp(static_cast<OpIndex>(entry.item));
    } else {
      EndSending(entry.item - static_cast<std::uint32_t>(op_count_));
    }
    if (const std::uint32_t number = number_[entry.item]; number != kNone) {
      ++ended_;
      last_ended_ = std::max(last_ended_, number);
    }
    if (IsBack(result.shift)) {
      result.rest = Rest::kShifted;
      result.last = last_ended_;
      if (cutoff == kNever) return result;
      const std::uint32_t stop = FirstEndAfter(cutoff - result.shift, result.last);
      if (stop <= ends()) result = {Rest::kStopped, result.first, 0, TimeOfEnd(stop) + result.shift};
      return result;
    }
  }
  result.last = ends();
  return result;
}

// The first end after a time, and after another end; ends() + 1 if there is none.
std::uint32_t PlacetoReplay::FirstEndAfter(Picos time, std::uint32_t number) const {
  const auto from = events_.begin() + number;
  const auto end =
      std::partition_point(from, events_.end(), [&](std::uint32_t item) { return end_[item] <= time; });
  return static_cast<std::uint32_t>(end - events_.begin()) + 1;
}

bool PlacetoReplay::IsBack(Picos& shift) {
  if (touched_left_ > 0 || sendings_left_ > 0 || last_dropped_ > last_ended_) return false;
  if (ended_ + dropped_ + std::max(first_, 1u) != last_ended_ + 1) return false;
  if (wait_ > 0) {
    --wait_;
    return false;
  }
  const auto queues = queues_.view();
  const Key key = queues.Next();
  if (key == Queues::kIdle) return false;
  const Picos next = queues.TimeOf(key);
  shift = next - end_[queues.entries[queues.PlaceOf(key)].item];
  if (SameQueues(next, shift)) return true;
  wait_ = static_cast<std::uint32_t>(device_count_) / 4;
  return false;
}

// Do all queues hold what they hold in the base after end last_ended_, later by `shift`? `next` is the time of
// the next end of the try. Both hold the same items; the rest of a queue follows its head in the same order
// without a gap.
bool PlacetoReplay::SameQueues(Picos next, Picos shift) {
  const auto queues = queues_.view();
  for (std::size_t s = 0; s < 2 * device_count_; ++s) {
    const auto* const head = queues.entries + head_[s];
    if (head->key == Queues::kIdle) continue;
    if (queues.TimeOf(head->key) - end_[head->item] != shift) return false;
  }
  for (std::size_t s = 0; s < 2 * device_count_; ++s) {
    const auto* const head = queues.entries + head_[s];
    const std::uint32_t waiting = queues.servers[s].tail - head_[s];
    const std::uint32_t base_head = waiting > 0 ? place_[head->item] : BaseHead(s, last_ended_);
    const bool any = base_head > first(s);
    if (waiting > 0) {
      if (any && end_number(base_head - 1) > last_ended_) return false;
      // What had joined when the try began is where it was.
      const std::uint32_t known = restart_[s].tail > head_[s] ? restart_[s].tail - head_[s] : 1;
      for (std::uint32_t i = known; i < waiting; ++i) {
        if (base_entries_[base_head + i].item != head[i].item) return false;
      }
    } else {
      const std::uint32_t last = any ? base_entries_[base_head - 1].item : kNone;
      const Picos base_free = any ? end_[last] + PauseAfter(last) : 0;
      const Picos free = queues.servers[s].free;
      if (free != base_free + shift && std::max(free, base_free + shift) > next) return false;
    }
  }
  return true;
}

void PlacetoReplay::Revert() {
  for (const OpIndex op : moved_) device_[static_cast<std::size_t>(op)] = base_device(op);
  const auto queues = queues_.view();
  if (!begun_) return;
  begun_ = false;
  for (std::size_t s = 0; s < 2 * device_count_; ++s) {
    const std::uint32_t from = restart_[s].tail, to = queues.servers[s].tail;
    std::copy(base_entries_.begin() + from, base_entries_.begin() + to + 1, queues.entries + from);
    std::copy(base_start_.begin() + from, base_start_.begin() + to, start_.begin() + from);
  }
}

}  // namespace berth::sim
