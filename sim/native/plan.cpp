#include "sim/native/plan.h"

#include <algorithm>
#include <utility>

namespace berth::sim {

Plan::Plan(const Compiled& compiled, bool counts_unfinished)
    : transfers(compiled.edge_consumer.size()),
      readers(compiled.edge_consumer.size()),
      transfers_end(static_cast<std::size_t>(compiled.ops)),
      locals(compiled.consumer.size() + 1),  // one is written before it is known whether it counts
      locals_end(static_cast<std::size_t>(compiled.ops)),
      input_storage(static_cast<std::size_t>(compiled.inputs)),
      route_transfers(compiled.routes.size()),
      c_(compiled),
      counts_unfinished_(counts_unfinished),
      first_copy_(static_cast<StorageId>(compiled.output_bytes.size())),
      destination_(static_cast<std::size_t>(compiled.devices)),
      reached_(compiled.devices) {}

void Plan::Make(const Placement& placement, Counts& counts) {
  counts.ops.resize(static_cast<std::size_t>(c_.ops));
  for (OpIndex op = 0; op < c_.ops; ++op)
    counts.ops[op] = {0, placement.device[static_cast<std::size_t>(op)]};
  if (counts_unfinished_) counts.unfinished.assign(static_cast<std::size_t>(c_.ops), 0);
  counts.holders.resize(c_.output_bytes.size() + c_.edge_consumer.size());
  std::fill_n(counts.holders.begin(), c_.output_bytes.size(), 1);  // the op itself
  std::fill(route_transfers.begin(), route_transfers.end(), 0);

  for (OpIndex op = 0; op < c_.ops; ++op) MakeOp(op, counts);
  for (const Id view : c_.views) ++counts.holders[input_storage[c_.output_shares[view]]];
}

void Plan::MakeOp(OpIndex op, Counts& counts) {
  const Compiled::OpRow &row = c_.rows[op], &next = c_.rows[op + 1];
  const DeviceIndex device = counts.ops[op].device;
  Id local = row.consumer;
  for (Id i = row.consumer; i < next.consumer; ++i) {
    const OpIndex consumer = c_.consumer[i];
    const bool here = counts.ops[consumer].device == device;
    locals[local] = consumer;
    local += here;
    counts.ops[consumer].missing += here;
    if (counts_unfinished_) counts.unfinished[consumer] += here;
  }
  locals_end[op] = local;
  Id slot = row.edge;
  for (Id begin = row.edge, end = row.edge; begin < next.edge; begin = end) {
    while (end < next.edge && c_.edge_output[end] == c_.edge_output[begin]) ++end;
    slot = MakeTransfers(op, device, begin, end, slot, counts);
  }
  transfers_end[op] = slot;
}

void Plan::Unmake(OpIndex op, Counts& counts) {
  const Compiled::OpRow &row = c_.rows[op], &next = c_.rows[op + 1];
  for (Id i = row.consumer; i < locals_end[op]; ++i) {
    --counts.ops[locals[i]].missing;
    if (counts_unfinished_) --counts.unfinished[locals[i]];
  }
  for (Id slot = row.edge; slot < transfers_end[op]; ++slot) --counts.ops[readers[slot]].missing;
  for (Id slot = row.edge; slot < transfers_end[op]; slot = transfers[slot].readers_end)
    route_transfers[transfers[slot].route] -= !transfers[slot].light();
  for (Id output = row.output; output < next.output; ++output) counts.holders[output] = 1;  // the op itself
}

Plan::Id Plan::MakeTransfer(OpIndex op, DeviceIndex device, DeviceIndex to, Id output, Id slot, Id reads,
                            Counts& counts) {
  const Bytes bytes = output == Compiled::kNone ? 0 : c_.output_bytes[output];
  const Id route = c_.RouteIndex(device, to);
  Transfer& transfer = transfers[slot];
  transfer.bytes = bytes;
  transfer.producer = op;
  transfer.output = output;
  transfer.route = route;
  transfer.readers_end = slot + reads;
  transfer.move = 0;
  counts.holders[CopyOf(slot)] = reads;
  if (bytes != 0) {
    transfer.move = c_.MoveTime(c_.routes[route], output);
    ++counts.holders[output];
    ++route_transfers[route];
  }
  return transfer.readers_end;
}

// The out-edges [begin, end) of an op are those of one output; `slot` is its first free slot. Returns the next.
Plan::Id Plan::MakeTransfers(OpIndex op, DeviceIndex device, Id begin, Id end, Id slot, Counts& counts) {
  const Id output = c_.edge_output[begin];
  const bool data = output != Compiled::kNone;
  if (end - begin == 1) {
    const OpIndex consumer = c_.edge_consumer[begin];
    Counts::OpState& state = counts.ops[consumer];
    if (state.device == device) {
      if (!data) return slot;
      ++counts.holders[output];
      input_storage[c_.edge_input[begin]] = output;
      return slot;
    }
    ++state.missing;
    readers[slot] = consumer;
    if (data) input_storage[c_.edge_input[begin]] = CopyOf(slot);
    return MakeTransfer(op, device, state.device, output, slot, 1, counts);
  }
  for (Id e = begin; e < end; ++e) {
    const DeviceIndex to = counts.ops[c_.edge_consumer[e]].device;
    ++destination_[to].readers;
    reached_.Add(to);
  }
  reached_.Drain([&](DeviceIndex to) {
    Destination& destination = destination_[to];
    const Id reads = std::exchange(destination.readers, 0);
    if (to == device) {
      destination.storage = output;
      if (data) counts.holders[output] += reads;
    } else if (reads > 0) {
      destination.storage = CopyOf(slot);
      destination.next_slot = slot;
      slot = MakeTransfer(op, device, to, output, slot, reads, counts);
    }
  });
  for (Id e = begin; e < end; ++e) {
    const OpIndex consumer = c_.edge_consumer[e];
    Counts::OpState& state = counts.ops[consumer];
    Destination& destination = destination_[state.device];
    if (data) input_storage[c_.edge_input[e]] = destination.storage;
    if (state.device == device) continue;
    ++state.missing;
    readers[destination.next_slot++] = consumer;
  }
  return slot;
}

}  // namespace berth::sim
