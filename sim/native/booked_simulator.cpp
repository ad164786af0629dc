#include "sim/native/booked_simulator.h"

#include "sim/error.h"
#include "sim/native/bookings.h"
#include "sim/native/index_set.h"
#include "sim/native/solo_devices.h"

namespace berth::sim {
namespace {

using Id = Problem::Compiled::Id;

class Booked final : public BookedSimulator {
 public:
  explicit Booked(const Problem& problem)
      : c_(problem.compiled()),
        s_(problem),
        links_(c_, s_.moments),
        arrivals_(static_cast<std::size_t>(c_.devices)),
        no_devices_(c_.devices) {}
  const Outcome* Run(const Placement& placement, std::span<const OpIndex> list) override;

 private:
  using BlockId = SoloDevices::BlockId;
  using Sender = SoloDevices::Sender;
  // Of an output on a device.
  struct Arrival {
    Moment when;
    BlockId block;
  };
  static constexpr Moment kWanted = ~Moment{0};

  void Send(OpIndex op, const Sender& sender, Id edges_end, DeviceIndex device, Moment now);
  Arrival Transfer(OpIndex op, const Sender& sender, DeviceIndex from, DeviceIndex to, Moment now);

  const Problem::Compiled& c_;
  SoloDevices s_;
  Bookings links_;
  ById<Arrival> arrivals_;  // scratch of one sender, by device
  const IndexSet no_devices_;
  Outcome outcome_;
};

const Outcome* Booked::Run(const Placement& placement, std::span<const OpIndex> list) {
  s_.Reset(placement);
  links_.Reset();
  s_.SetLists(list);
  OpIndex ended = 0;
  Moment last = 0;  // whatever arrives does so before the end of an op that reads it
  EndTree::End next;
  for (; (next = s_.ends.next()).moment < Moments::kTooLate; ++ended) {
    last = next.moment;
    const DeviceIndex device = s_.waiting[next.op].device;
    s_.PopEnd(device);
    const Id senders_end = s_.rows[next.op + 1].sender;
    for (Id i = s_.rows[next.op].sender; i < senders_end; ++i)
      Send(next.op, s_.senders[i], s_.senders[i + 1].edge, device, last);
  }
  if (next.moment != EndTree::kNone) return nullptr;
  BERTH_CHECK_EQ(ended, c_.ops);
  s_.Finish(last, outcome_);
  links_.Report(outcome_.links);
  return &outcome_;
}

// To the readers' devices in their order; then each reader learns when it arrives. What is local has arrived,
// and on an accelerator it need not have.
inline void Booked::Send(OpIndex op, const Sender& sender, Id edges_end, DeviceIndex device, Moment now) {
  IndexSet reached = no_devices_;
  for (Id e = sender.edge; e < edges_end; ++e) {
    const DeviceIndex to = s_.waiting[s_.edges[e].consumer].device;
    reached.Add(to);
    arrivals_[to].when = kWanted;
  }
  reached.Drain([&](DeviceIndex to) {
    Arrival& arrival = arrivals_[to];
    if (to == device) {
      arrival = {s_.IsCpu(device) ? now : 0, s_.BlockOf(sender)};
    } else if (arrival.when == kWanted) {
      arrival = Transfer(op, sender, device, to, now);
    }
  });
  for (Id e = sender.edge; e < edges_end; ++e) {
    const SoloDevices::Edge edge = s_.edges[e];
    SoloDevices::Waiting& waiting = s_.waiting[edge.consumer];
    const Arrival& arrival = arrivals_[waiting.device];
    s_.input_block[edge.input] = arrival.block;
    waiting.known = std::max(waiting.known, arrival.when);
    if (--waiting.missing == 0 && s_.servers[waiting.device].next == edge.consumer)
      s_.ScheduleReady(waiting.device);
  }
}

inline Booked::Arrival Booked::Transfer(OpIndex op, const Sender& sender, DeviceIndex from, DeviceIndex to,
                                        Moment now) {
  const Id route = c_.RouteIndex(from, to);
  if (sender.bytes == 0) return {links_.Light(route, now), SoloDevices::kNothing};
  const auto [start, end] = links_.Book(route, sender.output, sender.bytes, now);
  s_.Hold(s_.BlockOf(sender), end);
  return {end, s_.Allocate(start, start, sender.bytes, to, ~op)};
}

}  // namespace

std::unique_ptr<BookedSimulator> MakeBookedSimulator(const Problem& problem) {
  return std::make_unique<Booked>(problem);
}

}  // namespace berth::sim
