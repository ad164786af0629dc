// Devices that work alone: each has its own host thread, and runs one op at a time at a fixed rate. Internal
// to sim/native/.
//
// Once it is known which op such a thread takes next and when that op has what it needs, its issue, start and
// end are known too. So ops are scheduled ahead: the only events of a device are ends of ops. What they
// allocate is kept until the end of the run and accounted for then (peaks.h).
#pragma once

#include <algorithm>
#include <span>

#include "sim/native/end_tree.h"
#include "sim/native/peaks.h"

namespace berth::sim {

class SoloDevices {
 public:
  using Compiled = Problem::Compiled;
  using Id = Compiled::Id;
  using BlockId = std::int32_t;  // place in blocks
  static constexpr BlockId kNothing = 0;

  // Whether all devices of the cluster are of this kind, and no single duration is longer than moments can
  // hold.
  static bool Are(const Problem& problem);
  explicit SoloDevices(const Problem& problem);

  // Where the rows of an op begin.
  struct OpRow {
    Id sender = 0;
    Id output = 0;
    Id input = 0;
    std::int32_t dispatch_ops = 0;
    Bytes workspace = 0;
  };
  // All dependencies on one output of an op, or all its control dependencies.
  struct Sender {
    Id edge = 0;      // the first of its edges
    Id output = 0;    // kNone for control
    Bytes bytes = 0;  // 0: its transfers are light
  };
  struct Edge {
    OpIndex consumer;
    Id input;  // in-edge
  };
  // An op that has not been scheduled.
  struct Waiting {
    Moment known = 0;          // when it has the last of what it needs, of what is known
    std::int32_t missing = 0;  // dependencies that are not known
    DeviceIndex device = 0;
  };
  // A device, its thread, and its ops in the order of being issued: a segment of `order` up to `last`. The ends
  // of those in [ended, scheduled) are known and to come.
  struct Server {
    OpIndex next = 0;  // to be scheduled, of those in [scheduled, last)
    std::int32_t ended = 0, scheduled = 0, last = 0;
    Moment issued = 0;  // when the thread is free again
    Moment free = 0;    // and the device
    Picos busy = 0;
  };

  // Then no op is in the order of a device.
  void Reset(const Placement& placement);
  // Threads issue in this order of all ops; those that are ready are scheduled.
  void SetLists(std::span<const OpIndex> list);
  // Of a list, when nothing is missing for the device's next op: schedules it, and all behind it that are
  // ready.
  void ScheduleReady(DeviceIndex device);
  // Without lists: when nothing is missing for an op any more, in the order of that; returns when it is
  // issued.
  Moment Append(OpIndex op);
  // The op whose end is next ends.
  void PopEnd(DeviceIndex device);
  BlockId Allocate(Moment at, Moment freed, Bytes bytes, DeviceIndex device, OpIndex owner);
  void Hold(BlockId block, Moment until) { blocks_[block].freed = std::max(blocks_[block].freed, until); }
  // Everything but `links`, for a run whose last end was at `last`.
  void Finish(Moment last, Outcome& outcome);

  OpIndex Nobody() const { return c.ops; }
  bool IsCpu(DeviceIndex device) const { return c.is_cpu[device] != 0; }
  BlockId BlockOf(const Sender& sender) const {
    return sender.output == Compiled::kNone ? kNothing : output_block_[sender.output];
  }

  const Problem& problem;
  const Compiled& c;
  const Moments moments;
  ById<OpRow> rows;      // by op, and the end
  ById<Sender> senders;  // and the end
  ById<Edge> edges;

  ById<Waiting> waiting;  // by op; the last one is nobody, who is never ready
  ById<Server> servers;
  ById<OpIndex> order;  // a segment for each device
  EndTree ends;
  ById<BlockId> input_block;  // by in-edge: what it holds; the last one is for control dependencies

 private:
  void CompileGraph();
  void ScheduleNext(DeviceIndex device);
  void SetEnd(DeviceIndex device);
  void FinishMemory(Moment last, Outcome& outcome);
  Bytes Rounded(DeviceIndex device, Bytes bytes) const { return RoundUp(bytes, granularity_[device]); }

  ById<std::int32_t> dependencies_;  // by op
  ById<Bytes> granularity_;          // by device
  ById<Moment> end_;                 // by op
  ById<Block> blocks_;               // what has been allocated; the first one is nothing
  BlockId blocks_end_ = 0;
  ById<BlockId> output_block_;  // by output: its own, or that which it shares
  ById<Bytes> persistent_;      // by device
  Peaks peaks_;
};

inline void SoloDevices::ScheduleNext(DeviceIndex device) {
  Server& server = servers[device];
  const OpIndex op = server.next;
  const OpRow &row = rows[op], &next = rows[op + 1];
  const Picos cost = c.CostOf(op, device);
  server.issued =
      moments.Issued(std::max(server.issued, waiting[op].known), c.dispatch_cost[device] * row.dispatch_ops);
  const Moment start = std::max(server.free, server.issued);
  const Moment end = moments.End(start, cost);
  server.free = end;
  server.busy += cost;
  end_[op] = end;
  for (Id i = row.input; i < next.input; ++i) Hold(input_block[i], end);
  for (Id o = row.output; o < next.output; ++o) {
    const Id shares = c.output_shares[o];
    output_block_[o] = shares == Compiled::kNone ? Allocate(start, end, c.output_storage[o], device, op)
                                                 : input_block[shares];
  }
  if (row.workspace != 0) Allocate(start, end, row.workspace, device, op);
  server.next = ++server.scheduled < server.last ? order[server.scheduled] : Nobody();
}

inline SoloDevices::BlockId SoloDevices::Allocate(Moment at, Moment freed, Bytes bytes, DeviceIndex device,
                                                  OpIndex owner) {
  if (bytes == 0) return kNothing;
  blocks_[blocks_end_] = {at, freed, Rounded(device, bytes), device, owner};
  return blocks_end_++;
}

inline void SoloDevices::SetEnd(DeviceIndex device) {
  const OpIndex op = order[servers[device].ended];
  ends.Set(device, {end_[op], op});
}

inline void SoloDevices::ScheduleReady(DeviceIndex device) {
  const Server& server = servers[device];
  const bool idle = server.ended == server.scheduled;
  do {
    ScheduleNext(device);
  } while (waiting[server.next].missing == 0);
  if (idle) SetEnd(device);
}

inline Moment SoloDevices::Append(OpIndex op) {
  const DeviceIndex device = waiting[op].device;
  Server& server = servers[device];
  const bool idle = server.ended == server.scheduled;
  order[server.last++] = server.next = op;
  ScheduleNext(device);
  if (idle) SetEnd(device);
  return server.issued;
}

inline void SoloDevices::PopEnd(DeviceIndex device) {
  Server& server = servers[device];
  if (++server.ended < server.scheduled) {
    SetEnd(device);
  } else {
    ends.SetNone(device);
  }
}

}  // namespace berth::sim
