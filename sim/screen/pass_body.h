// The pass itself, compiled for each kind of vector: who includes it defines STOWPLAN_INLINE, with which every function is
// inlined into the one that names the vectors. (What is compiled for other vectors is taken apart before it is inlined.)
// Internal to sim/screen/.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/published_rules.h"
#include "sim/screen/pass.h"
#include "sim/screen/screen.h"

namespace stowplan::sim {
namespace {

using Word = ScreenPlan::Word;
using Id = ScreenPlan::Id;

constexpr std::size_t kMostWords = Screen::kMostDevices / ScreenPlan::kDevicesOfWord;

template <int kBytes>
struct VectorOf;
template <>
struct VectorOf<16> {
  typedef std::int64_t Type __attribute__((vector_size(16), may_alias));
};
template <>
struct VectorOf<32> {
  typedef std::int64_t Type __attribute__((vector_size(32), may_alias));
};
template <>
struct VectorOf<64> {
  typedef std::int64_t Type __attribute__((vector_size(64), may_alias));
};

// By placement: its bit in a set of one device.
constexpr ScreenRow BitsOfPlacements() {
  ScreenRow bits;
  for (std::size_t i = 0; i < ScreenPlan::kAbreast; ++i) bits.of[i] = std::int64_t{1} << i;
  return bits;
}
constexpr ScreenRow kBits = BitsOfPlacements();

// A number for each placement, in vectors of so many bytes: two halves, down to one vector. An array of vectors, gone
// through by loops, gcc 12 keeps in memory, which costs AVX2 two thirds of its speed.
template <int kBytes, std::size_t kNumbers = ScreenPlan::kAbreast, bool kOne = kNumbers * 8 == kBytes>
struct Wide {
  using Half = Wide<kBytes, kNumbers / 2>;
  Half low, high;

  STOWPLAN_INLINE static Wide All(std::int64_t number) { return {Half::All(number), Half::All(number)}; }
  STOWPLAN_INLINE static Wide Load(const ScreenRow& row, std::size_t first = 0) {
    return {Half::Load(row, first), Half::Load(row, first + kNumbers / 2)};
  }
  STOWPLAN_INLINE void Store(ScreenRow& row, std::size_t first = 0) const {
    low.Store(row, first);
    high.Store(row, first + kNumbers / 2);
  }
  // -1 for those whose bit is set, 0 for the others.
  STOWPLAN_INLINE static Wide Mask(Word bits, std::size_t first = 0) {
    return {Half::Mask(bits, first), Half::Mask(bits, first + kNumbers / 2)};
  }
  STOWPLAN_INLINE friend Wide operator+(const Wide& a, const Wide& b) {
    return {a.low + b.low, a.high + b.high};
  }
  STOWPLAN_INLINE friend Wide operator-(const Wide& a, const Wide& b) {
    return {a.low - b.low, a.high - b.high};
  }
  STOWPLAN_INLINE friend Wide Max(const Wide& a, const Wide& b) {
    return {Max(a.low, b.low), Max(a.high, b.high)};
  }
  STOWPLAN_INLINE friend Wide Min(const Wide& a, const Wide& b) {
    return {Min(a.low, b.low), Min(a.high, b.high)};
  }
  STOWPLAN_INLINE friend Wide Where(const Wide& mask, const Wide& yes, const Wide& no) {
    return {Where(mask.low, yes.low, no.low), Where(mask.high, yes.high, no.high)};
  }
  STOWPLAN_INLINE friend Wide IfOnly(const Wide& mask, const Wide& yes) {
    return {IfOnly(mask.low, yes.low), IfOnly(mask.high, yes.high)};
  }
  STOWPLAN_INLINE friend Wide AtLeast(const Wide& a, const Wide& b) {
    return {AtLeast(a.low, b.low), AtLeast(a.high, b.high)};
  }
  // Of a time, so many parts of 1024.
  STOWPLAN_INLINE friend Wide Part(const Wide& time, std::int64_t parts) {
    return {Part(time.low, parts), Part(time.high, parts)};
  }
};

template <int kBytes, std::size_t kNumbers>
struct Wide<kBytes, kNumbers, true> {
  using Vector = typename VectorOf<kBytes>::Type;
  Vector v;

  STOWPLAN_INLINE static Wide All(std::int64_t number) { return {Vector{} + number}; }
  STOWPLAN_INLINE static Wide Load(const ScreenRow& row, std::size_t first = 0) {
    return {*reinterpret_cast<const Vector*>(row.of.data() + first)};
  }
  STOWPLAN_INLINE void Store(ScreenRow& row, std::size_t first = 0) const {
    *reinterpret_cast<Vector*>(row.of.data() + first) = v;
  }
  STOWPLAN_INLINE static Wide Mask(Word bits, std::size_t first = 0) {
    return {(All(static_cast<std::int64_t>(bits)).v & Load(kBits, first).v) != 0};
  }
  STOWPLAN_INLINE friend Wide operator+(const Wide& a, const Wide& b) { return {a.v + b.v}; }
  STOWPLAN_INLINE friend Wide operator-(const Wide& a, const Wide& b) { return {a.v - b.v}; }
  STOWPLAN_INLINE friend Wide Max(const Wide& a, const Wide& b) { return {a.v > b.v ? a.v : b.v}; }
  STOWPLAN_INLINE friend Wide Min(const Wide& a, const Wide& b) { return {a.v < b.v ? a.v : b.v}; }
  STOWPLAN_INLINE friend Wide Where(const Wide& mask, const Wide& yes, const Wide& no) {
    return {mask.v != 0 ? yes.v : no.v};
  }
  STOWPLAN_INLINE friend Wide IfOnly(const Wide& mask, const Wide& yes) { return {yes.v & mask.v}; }
  STOWPLAN_INLINE friend Wide AtLeast(const Wide& a, const Wide& b) { return {a.v >= b.v}; }
  STOWPLAN_INLINE friend Wide Part(const Wide& time, std::int64_t parts) { return {(time.v >> 10) * parts}; }
};

// For each device the placements that have something there: a bit each.
template <std::size_t kWords>
struct Set {
  Word w[kWords];

  STOWPLAN_INLINE static Set Of(const std::vector<Word>& sets, std::size_t first_word, std::size_t words) {
    Set set;
    for (std::size_t i = 0; i < kWords; ++i) set.w[i] = i < words ? sets[first_word + i] : 0;
    return set;
  }
  STOWPLAN_INLINE friend Set operator|(Set a, const Set& b) {
    for (std::size_t i = 0; i < kWords; ++i) a.w[i] |= b.w[i];
    return a;
  }
  STOWPLAN_INLINE friend Set operator&(Set a, const Set& b) {
    for (std::size_t i = 0; i < kWords; ++i) a.w[i] &= b.w[i];
    return a;
  }
  STOWPLAN_INLINE friend Set Without(Set a, const Set& b) {
    for (std::size_t i = 0; i < kWords; ++i) a.w[i] &= ~b.w[i];
    return a;
  }
  STOWPLAN_INLINE bool empty() const {
    Word any = 0;
    for (std::size_t i = 0; i < kWords; ++i) any |= w[i];
    return any == 0;
  }
  // On any device.
  STOWPLAN_INLINE Word Placements() const {
    Word any = 0;
    for (std::size_t i = 0; i < kWords; ++i) any |= w[i];
    any |= any >> 32;
    return (any | any >> 16) & ScreenPlan::kAll;
  }
};

// The devices of a set, one after another.
template <std::size_t kWords>
class Devices {
 public:
  STOWPLAN_INLINE explicit Devices(const Set<kWords>& set) : left_(set) { Skip(); }
  STOWPLAN_INLINE bool more() const { return word_ < kWords; }
  STOWPLAN_INLINE std::size_t device() const { return word_ * ScreenPlan::kDevicesOfWord + InWord(); }
  STOWPLAN_INLINE Word placements() const {
    return left_.w[word_] >> InWord() * ScreenPlan::kAbreast & ScreenPlan::kAll;
  }
  STOWPLAN_INLINE void Next() {
    left_.w[word_] &= ~(ScreenPlan::kAll << InWord() * ScreenPlan::kAbreast);
    Skip();
  }

 private:
  STOWPLAN_INLINE std::size_t InWord() const {
    return static_cast<std::size_t>(std::countr_zero(left_.w[word_])) / ScreenPlan::kAbreast;
  }
  STOWPLAN_INLINE void Skip() {
    while (word_ < kWords && left_.w[word_] == 0) ++word_;
  }
  Set<kWords> left_;
  std::size_t word_ = 0;
};

template <int kBytes, std::size_t kWords>
class Pass {
  using W = Wide<kBytes>;
  using S = Set<kWords>;
  using D = Devices<kWords>;

 public:
  STOWPLAN_INLINE Pass(const ScreenPlan& plan, ScreenState& state)
      : p_(plan), s_(state), cpus_(S::Of(plan.cpus, 0, plan.words)) {}

  STOWPLAN_INLINE void Run() {
    Begin();
    const auto ops = static_cast<Id>(p_.ops.size()) - 1;
    for (Id op = 0; op < ops; ++op) {
      FetchReaders(std::min(op + kAhead, ops));
      RunOp(op);
    }
    W runtime = W::All(0);
    for (std::size_t d = 0; d < p_.devices.size(); ++d) {
      runtime = Max(runtime, W::Load(s_.free[d]));
      if (p_.published) runtime = Max(runtime, W::Load(s_.out[d]));
    }
    runtime.Store(s_.runtime);
  }

 private:
  template <typename T>
  STOWPLAN_INLINE static auto& At(T& rows, Id id) {
    return rows[static_cast<std::size_t>(id)];
  }
  STOWPLAN_INLINE S PlaceOf(Id unit) const {
    return S::Of(s_.place, static_cast<std::size_t>(unit) * p_.words, p_.words);
  }

  STOWPLAN_INLINE void Begin() {
    const W zero = W::All(0);
    for (std::size_t d = 0; d < p_.devices.size(); ++d) {
      for (auto* rows : {&s_.thread, &s_.free, &s_.out, &s_.receives_from, &s_.receives_to, &s_.live})
        zero.Store((*rows)[d]);
    }
    for (Id unit = 0; unit < p_.units; ++unit) {
      const W bytes = W::All(At(p_.persistent, unit));
      for (D at(PlaceOf(unit)); at.more(); at.Next()) {
        ScreenRow& live = s_.live[at.device()];
        (W::Load(live) + IfOnly(W::Mask(at.placements()), bytes)).Store(live);
      }
    }
    for (std::size_t d = 0; d < p_.devices.size(); ++d) W::Load(s_.live[d]).Store(s_.peak[d]);
  }

  // What a later op writes to, else waited for where the graph is larger than the cache.
  STOWPLAN_INLINE void FetchReaders(Id op) const {
    const Id last =
        At(p_.sends, At(p_.ops, std::min(op + 1, static_cast<Id>(p_.ops.size()) - 1)).send).reader;
    for (Id r = At(p_.sends, At(p_.ops, op).send).reader; r < last; ++r) {
      const auto* const inbox = reinterpret_cast<const char*>(&At(s_.inbox, At(p_.readers, r).op));
      for (std::size_t line = 0; line < sizeof(ScreenState::Inbox); line += 64)
        __builtin_prefetch(inbox + line, 1);
    }
  }

  STOWPLAN_INLINE void RunOp(Id index) {
    const ScreenPlan::ScreenedOp& op = At(p_.ops, index);
    const S place = PlaceOf(op.unit);
    W thread = W::Load(s_.thread[0]), free = W::All(0), out = free;
    for (D at(place); at.more(); at.Next()) {
      const W here = W::Mask(at.placements());
      if (!p_.process) thread = Where(here, W::Load(s_.thread[at.device()]), thread);
      free = Where(here, W::Load(s_.free[at.device()]), free);
      out = Where(here, W::Load(s_.out[at.device()]), out);
    }
    ScreenState::Inbox& inbox = At(s_.inbox, index);
    const W issued = Max(thread, W::Load(inbox.ready)) + DispatchOf(op, place);
    const W end = Max(issued, free) + CostOf(index, place);
    W release = W::Load(inbox.release) + W::All(op.working);
    W::All(0).Store(inbox.ready);
    W::All(0).Store(inbox.release);

    free = end + W::All(op.pause);
    thread = p_.process ? Where(W::Mask((place & cpus_).Placements()), end, issued) : issued;
    if (op.host_waits) thread = end;
    if (p_.process) thread.Store(s_.thread[0]);
    const Id last = At(p_.ops, index + 1).send;
    for (Id send = op.send; send < last; ++send) Send(send, place, end, free, out, release);
    const W taken = W::All(op.own + op.working);
    for (D at(place); at.more(); at.Next()) {
      const std::size_t d = at.device();
      const W here = W::Mask(at.placements());
      if (!p_.process) Where(here, thread, W::Load(s_.thread[d])).Store(s_.thread[d]);
      Where(here, free, W::Load(s_.free[d])).Store(s_.free[d]);
      Where(here, out, W::Load(s_.out[d])).Store(s_.out[d]);
      const W live = W::Load(s_.live[d]) + IfOnly(here, taken);
      Max(W::Load(s_.peak[d]), live).Store(s_.peak[d]);
      (live - IfOnly(here, release)).Store(s_.live[d]);
    }
  }

  STOWPLAN_INLINE W DispatchOf(const ScreenPlan::ScreenedOp& op, const S& place) const {
    W dispatch = W::All(p_.dispatch_cost[0] * op.pays);
    for (std::size_t k = 1; k < p_.kinds; ++k)
      dispatch = Where(KindMask(k, place), W::All(p_.dispatch_cost[k] * op.pays), dispatch);
    return dispatch;
  }
  STOWPLAN_INLINE W CostOf(Id op, const S& place) const {
    const Picos* of = p_.cost.data() + static_cast<std::size_t>(op) * p_.kinds;
    W cost = W::All(of[0]);
    for (std::size_t k = 1; k < p_.kinds; ++k) cost = Where(KindMask(k, place), W::All(of[k]), cost);
    return cost;
  }
  STOWPLAN_INLINE W KindMask(std::size_t kind, const S& place) const {
    return W::Mask((place & S::Of(p_.kind, kind * p_.words, p_.words)).Placements());
  }

  // To all devices of its readers; adds to `release` what its op is the last to hold.
  STOWPLAN_INLINE void Send(Id index, const S& place, const W& end, W& free, W& out, W& release) {
    const ScreenPlan::Send& send = At(p_.sends, index);
    const Id reader_end = At(p_.sends, index + 1).reader;
    S sent{};
    for (Id r = send.reader; r < reader_end; ++r) sent = sent | PlaceOf(At(p_.readers, r).unit);
    sent = Without(sent, place);
    if (!sent.empty()) {
      if (p_.published) {
        SendOnce(send, sent, end, out);
      } else {
        SendEach(send, place, sent, end, free, out);
      }
    }
    if (!sent.empty() || !(place & cpus_).empty()) Deliver(send.reader, reader_end, place, end);
    if (send.bytes > 0 || send.own > 0) Hold(send, At(p_.sends, index + 1).holder, place, sent, release);
  }

  // The time of the transfer to a device.
  STOWPLAN_INLINE W MoveTime(const ScreenPlan::Send& send, std::size_t to, const S& place) const {
    const Picos* of = p_.move_time.data() + send.times;
    const auto first = static_cast<std::size_t>(p_.first_senders[to]);
    const auto last = static_cast<std::size_t>(p_.first_senders[to + 1]);
    W time = W::All(of[p_.route_kind[first]]);
    for (std::size_t i = first + 1; i < last; ++i) {
      const W from = W::Mask((place & S::Of(p_.senders, i * p_.words, p_.words)).Placements());
      time = Where(from, W::All(of[p_.route_kind[i]]), time);
    }
    return time;
  }

  // Rules native: one transfer to each device.
  STOWPLAN_INLINE void SendEach(const ScreenPlan::Send& send, const S& place, const S& sent, const W& end,
                                W& free, W& out) {
    const bool waits = send.bytes > 0 && !p_.ideal;
    for (D at(sent); at.more(); at.Next()) {
      const std::size_t to = at.device();
      const W here = W::Mask(at.placements());
      const W begin = waits ? Max(end, out) : end;
      W time = MoveTime(send, to, place);
      if (waits && p_.devices.size() > 2) time = time + Overlap(to, here, begin, time);
      const W arrival = begin + time;
      if (waits) out = Where(here, arrival, out);
      arrival.Store(s_.arrival[to]);
      (W::Load(s_.live[to]) + IfOnly(here, W::All(send.bytes))).Store(s_.live[to]);
      if (p_.blocking && send.bytes > 0) SlowDown(to, place, here, time, free);
    }
  }

  // With the last transfer that began to arrive there before.
  STOWPLAN_INLINE W Overlap(std::size_t to, const W& here, const W& begin, const W& time) {
    const W from = W::Load(s_.receives_from[to]), until = W::Load(s_.receives_to[to]);
    const W overlap = IfOnly(AtLeast(begin, from), Max(Min(begin + time, until) - begin, W::All(0)));
    const W through = begin + time + overlap;
    const W last = IfOnly(here, AtLeast(through, until));
    Where(last, begin, from).Store(s_.receives_from[to]);
    Where(last, through, until).Store(s_.receives_to[to]);
    return overlap;
  }

  // What both ends of a copy lose of their time.
  STOWPLAN_INLINE void SlowDown(std::size_t to, const S& place, const W& here, const W& time, W& free) {
    for (D at(place); at.more(); at.Next()) {
      const W from = IfOnly(here, W::Mask(at.placements()));
      free = free + IfOnly(from, Part(time, p_.slows[at.device()]));
    }
    ScreenRow& there = s_.free[to];
    (W::Load(there) + IfOnly(here, Part(time, p_.slows[to]))).Store(there);
  }
  // Rules published: to all devices at once.
  STOWPLAN_INLINE void SendOnce(const ScreenPlan::Send& send, const S& sent, const W& end, W& out) {
    const W arrival = Max(end, out) + W::All(At(p_.move_time, send.times));
    for (D at(sent); at.more(); at.Next()) arrival.Store(s_.arrival[at.device()]);
    out = Where(W::Mask(sent.Placements()), arrival + W::All(kSendPause), out);
  }

  // A reader on the op's own CPU waits for the end; one on its own accelerator is behind it in the queue.
  STOWPLAN_INLINE void Deliver(Id first, Id last, const S& place, const W& end) {
    const S on_cpu = place & cpus_;
    for (Id r = first; r < last; ++r) {
      const ScreenPlan::Reader& reader = At(p_.readers, r);
      const S at_reader = PlaceOf(reader.unit);
      ScreenRow& row = At(s_.inbox, reader.op).ready;
      W ready = W::Load(row);
      if (const S local = at_reader & on_cpu; !local.empty())
        ready = Max(ready, IfOnly(W::Mask(local.Placements()), end));
      for (D at(Without(at_reader, place)); at.more(); at.Next())
        ready = Max(ready, IfOnly(W::Mask(at.placements()), W::Load(s_.arrival[at.device()])));
      ready.Store(row);
    }
  }

  // From the last holder on a device on the storage there is free.
  STOWPLAN_INLINE void Hold(const ScreenPlan::Send& send, Id last, const S& place, const S& sent,
                            W& release) {
    S left = place | sent;  // storage whose last holder is not found yet
    for (Id h = last; h-- > send.holder && !left.empty();) {
      const ScreenPlan::Reader& holder = At(p_.holders, h);
      const S at = PlaceOf(holder.unit) & left;
      if (at.empty()) continue;
      left = Without(left, at);
      const W bytes = IfOnly(W::Mask((at & place).Placements()), W::All(send.own)) +
                      IfOnly(W::Mask(Without(at, place).Placements()), W::All(send.bytes));
      ScreenRow& row = At(s_.inbox, holder.op).release;
      (W::Load(row) + bytes).Store(row);
    }
    release = release + IfOnly(W::Mask((left & place).Placements()), W::All(send.own));
  }

  static constexpr Id kAhead = 3;  // ops
  const ScreenPlan& p_;
  ScreenState& s_;
  const S cpus_;
};

template <int kBytes>
STOWPLAN_INLINE void Run(const ScreenPlan& plan, ScreenState& state) {
  if (plan.words == 1) return Pass<kBytes, 1>(plan, state).Run();
  if (plan.words == 2) return Pass<kBytes, 2>(plan, state).Run();
  if (plan.words <= 16) return Pass<kBytes, 16>(plan, state).Run();
  if (plan.words <= 32) return Pass<kBytes, 32>(plan, state).Run();
  Pass<kBytes, kMostWords>(plan, state).Run();
}

}  // namespace
}  // namespace stowplan::sim
