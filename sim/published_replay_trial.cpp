// The part of PublishedReplay that concerns trials: where they differ from the base, and where they are back.
#include <algorithm>

#include "sim/published_replay.h"
#include "sim/published_rules.h"

namespace berth::sim {

// Does a producer send in the trial what it sends in the base, in the same order?
bool PublishedReplay::SendsTheSame(OpIndex producer) const {
  const auto i = static_cast<std::size_t>(producer);
  if (wiring_.ops[i].duration == PublishedWiring::kSeveral) return false;
  const auto readers = Readers(producer);
  const bool sends = std::any_of(readers.begin(), readers.end(),
                                 [&](const Edge& e) { return device(e.op) != device(producer); });
  return sends == (number_[op_count_ + wiring_.transfers[i]] != kNone);
}

// The first end from here on at which something differs: what a producer sends, or when a moved op is ready in
// the base or in the trial. kNone if there is none. Up to there the trial must be like the base.
std::uint32_t PublishedReplay::NextChange(std::uint32_t from) const {
  std::uint32_t change = kNone;
  const auto consider = [&](std::uint32_t number) {
    if (number >= from) change = std::min(change, number);
  };
  for (const OpIndex op : moved_) {
    if (number_[static_cast<std::size_t>(op)] < from) continue;
    std::uint32_t ready = 0;
    for (const Edge& input : Producers(op)) {
      const std::uint32_t item = ItemServing(op, input, device_);
      const bool is_new = number_[item] == kNone;
      if (!is_new || queued_in_[input.transfer] < trial_) ready = std::max(ready, number_[item]);
      if (item != ItemServing(op, input, base_device_) && !SendsTheSame(input.op)) {
        consider(number_[static_cast<std::size_t>(input.op)]);
      }
    }
    consider(ready);
    consider(base(op).joined);
  }
  return change;
}

bool PublishedReplay::CanReplay(std::span<const Move> moves) const {
  std::size_t joining = 0;
  for (const Move& move : moves) {
    const auto i = static_cast<std::size_t>(move.op);
    joining += 1 + wiring_.transfers[i + 1] - wiring_.transfers[i] + Producers(move.op).size();
  }
  return joining <= kSlack;
}

void PublishedReplay::Apply(std::span<const Move> moves) {
  trial_ = ++run_;
  moved_.clear();
  for (const Move& move : moves) device_[static_cast<std::size_t>(move.op)] = move.device;
  for (const Move& move : moves) {
    const auto i = static_cast<std::size_t>(move.op);
    if (IsMoved(move.op) || device(move.op) == base_device(move.op)) continue;
    moved_in_[i] = trial_;
    moved_.push_back(move.op);
    touched_in_[i] = trial_;
    for (const Edge& input : Producers(move.op)) touched_in_[static_cast<std::size_t>(input.op)] = trial_;
  }
}

// A segment: at this end, all before it being `shift` later than in the base since the segment before.
void PublishedReplay::BeginAt(std::uint32_t first, Picos shift) {
  if (!segments_.empty()) ++run_;
  first_ = first;
  segments_.push_back({first, 0, 0, 0});
  ended_ = dropped_ = last_dropped_ = sendings_left_ = wait_ = next_change_ = 0;
  last_ended_ = std::max(first, 1u) - 1;
  now_ = last_ended_ > 0 ? TimeOfEnd(last_ended_) + shift : 0;
  queues_.view().HaveNone();
  for (std::size_t s = 0; s < 2 * device_count_; ++s) RestoreQueue(s, shift);
  if (first == 0) {
    for (const OpIndex op : wiring_.sources) Join(op);
  }
}

void PublishedReplay::RestoreQueue(std::size_t s, Picos shift) {
  const auto queues = queues_.view();
  const std::uint32_t base_head = BaseHead(s, last_ended_), base_tail = BaseTail(s, first_);
  const std::uint32_t last = base_tail > first(s) ? base_entries_[base_tail - 1].item : kNone;
  const auto ahead = static_cast<std::uint32_t>(ahead_[s]);  // modulo 2^32
  const std::uint32_t head = base_head + ahead, tail = base_tail + ahead;
  if (segments_.size() > 1) {
    for (std::uint32_t place = base_head; place < base_tail; ++place) {
      auto& entry = queues.entries[place + ahead] = base_entries_[place];
      entry.key = queues.KeyAt(end_[entry.item] + shift, place + ahead);
    }
    if (s < device_count_) {
      const Waiting& before = waiting(segments_.size() - 2, s);
      for (std::uint32_t place = before.last_tail - ahead; place < base_tail; ++place)
        start_[place + ahead] = base_start_[place] + shift;
    }
  }
  queues.Restore(s, head, tail, last == kNone ? 0 : end_[last] + PauseAfter(last) + shift);
  head_[s] = head;
  waiting_[(segments_.size() - 1) * 2 * device_count_ + s] = {head, tail, 0, 0};
}

// The first place of a server that was joined at this end or later.
std::uint32_t PublishedReplay::BaseTail(std::size_t server, std::uint32_t number) const {
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

PublishedReplay::Result PublishedReplay::RunTrial(std::span<const Move> moves, Picos cutoff) {
  Apply(moves);
  std::fill(ahead_.begin(), ahead_.end(), 0);
  Result result;
  for (std::uint32_t first = moved_.empty() ? ends() + 1 : NextChange(0);;) {
    // What is left out is not beyond the cutoff.
    const Picos limit = result.shift < 0 && cutoff > kNever + result.shift ? kNever : cutoff - result.shift;
    const std::uint32_t over = FirstEndAfter(limit, result.last);
    if (over < first && over <= ends()) {
      result.rest = Rest::kStopped;
      result.shift += TimeOfEnd(over);
      return result;
    }
    if (first == kNone) return result;
    BeginAt(first, result.shift);
    result.rest = ProcessSegment(cutoff);
    if (result.rest == Rest::kStopped) {
      result.shift = now_;
      return result;
    }
    const bool to_end = result.rest == Rest::kNothing;
    result.last = to_end ? ends() : last_ended_;
    result.shift = to_end ? 0 : shift_;
    segments_.back() = {first, result.last, result.shift, now_};
    for (std::size_t s = 0; s < 2 * device_count_; ++s) {
      Waiting& waiting = waiting_[(segments_.size() - 1) * 2 * device_count_ + s];
      waiting.last_head = head_[s];
      waiting.last_tail = queues_.view().servers[s].tail;
      ahead_[s] = static_cast<std::int32_t>(head_[s] - BaseHead(s, result.last));
    }
    if (to_end) return result;
    first = next_change_;
  }
}

// Up to where the trial is back.
PublishedReplay::Rest PublishedReplay::ProcessSegment(Picos cutoff) {
  const auto queues = queues_.view();
  for (Key key = queues.Next(); key != Queues::kIdle; key = queues.Next()) {
    now_ = queues.TimeOf(key);
    if (now_ > cutoff) return Rest::kStopped;
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
    if (IsBack()) return Rest::kShifted;
  }
  return Rest::kNothing;
}

// The first end after a time, and after another end; ends() + 1 if there is none.
std::uint32_t PublishedReplay::FirstEndAfter(Picos time, std::uint32_t number) const {
  const auto from = events_.begin() + number;
  const auto end =
      std::partition_point(from, events_.end(), [&](std::uint32_t item) { return end_[item] <= time; });
  return static_cast<std::uint32_t>(end - events_.begin()) + 1;
}

// And does it stay there long enough to leave that out?
bool PublishedReplay::IsBack() {
  if (sendings_left_ > 0 || last_dropped_ > last_ended_ || last_ended_ < next_change_) return false;
  if (ended_ + dropped_ + std::max(first_, 1u) != last_ended_ + 1 || !MovedAlike()) return false;
  if (wait_ > 0) {
    --wait_;
    return false;
  }
  const auto queues = queues_.view();
  const Key key = queues.Next();
  if (key == Queues::kIdle) return false;
  const Picos next = queues.TimeOf(key);
  shift_ = next - end_[queues.entries[queues.PlaceOf(key)].item];
  if (!SameQueues(next, shift_)) {
    wait_ = static_cast<std::uint32_t>(device_count_) / 4;
    return false;
  }
  next_change_ = NextChange(last_ended_ + 1);
  return next_change_ == kNone ||
         (next_change_ - last_ended_ > kLeastLeftOut * device_count_ && segments_.size() < kMostSegments);
}

// Has every moved op ended in both, or joined its queue in neither?
bool PublishedReplay::MovedAlike() const {
  return std::all_of(moved_.begin(), moved_.end(), [&](OpIndex op) {
    const auto i = static_cast<std::size_t>(op);
    const bool has_joined = served_[i].run >= trial_ && served_[i].joined;
    return number_[i] <= last_ended_ || (base(op).joined > last_ended_ && !has_joined);
  });
}

// Do all queues hold what they hold in the base after end last_ended_, later by `shift`? `next` is the time of
// the next end of the trial. Both hold the same items; the rest of a queue follows its head in the same order
// without a gap.
bool PublishedReplay::SameQueues(Picos next, Picos shift) {
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
      // What had joined when the trial began is where it was.
      const std::uint32_t tail = this->waiting(segments_.size() - 1, s).tail;
      const std::uint32_t known = tail > head_[s] ? tail - head_[s] : 1;
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

void PublishedReplay::Revert() {
  for (const OpIndex op : moved_) device_[static_cast<std::size_t>(op)] = base_device(op);
  const auto queues = queues_.view();
  for (std::size_t s = 0; s < 2 * device_count_ && !segments_.empty(); ++s) {
    const std::uint32_t tail = queues.servers[s].tail;
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      const std::uint32_t from = i == 0 ? waiting(i, s).tail : waiting(i, s).head;
      const std::uint32_t to = i + 1 == segments_.size() ? tail : waiting(i, s).last_tail;
      std::copy(base_entries_.begin() + from, base_entries_.begin() + to + 1, queues.entries + from);
    }
    const std::uint32_t from = waiting(0, s).tail;
    std::copy(base_start_.begin() + from, base_start_.begin() + tail, start_.begin() + from);
  }
  segments_.clear();
  for (const OpIndex op : joined_) {
    standing_[static_cast<std::size_t>(op)] = {base(op).use, base(op).joined, base(op).place};
  }
  joined_.clear();
}

}  // namespace berth::sim
