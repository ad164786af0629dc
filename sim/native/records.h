// The part of NativeRun that looks back: what was recorded, and memory. Internal to sim/native/.
#pragma once

#include <algorithm>
#include <array>
#include <tuple>

#include "sim/native/run.h"
#include "sim/outcome.h"

namespace stowplan::sim {

template <typename Links, typename Moment>
const Outcome* NativeRun<Links, Moment>::Finish() {
  STOWPLAN_CHECK_EQ(ended_count_, c_.ops);
  outcome_.stopped = false;
  outcome_.runtime = now_time();
  FinishMemory();
  outcome_.devices.clear();
  for (DeviceIndex d = 0; d < c_.devices; ++d) outcome_.devices.push_back({devices_[d].busy, peaks_.peak(d)});
  links_.Report(outcome_.links);
  if (timeline_) RecordMemory();
  return &outcome_;
}

template <typename Links, typename Moment>
const Outcome* NativeRun<Links, Moment>::Stopped() {
  SetStopped(cutoff_, static_cast<std::size_t>(c_.devices), c_.cluster->links.size(), outcome_);
  return &outcome_;
}

template <typename Links, typename Moment>
void NativeRun<Links, Moment>::FinishMemory() {
  peaks_.Find(persistent_, {blocks_.data() + 1, blocks_.data() + blocks_end_}, now_);
  outcome_.oom.reset();
  const auto capacity = [this](DeviceIndex d) {
    return c_.cluster->devices[static_cast<std::size_t>(d)].capacity();
  };
  if (const auto& refused = peaks_.refused()) {
    const Block<Moment>& block = *refused->block;
    const bool copy = block.owner < 0;
    outcome_.oom = {block.device,
                    copy ? ~block.owner : block.owner,
                    copy ? OutOfMemory::What::kCopy : OutOfMemory::What::kOutput,
                    moments_.TimeOf(block.allocated),
                    refused->live,
                    capacity(block.device)};
  }
  // Persistent bytes come before everything else.
  bool fit = true;
  for (DeviceIndex d = 0; d < c_.devices; ++d) fit = fit && persistent_[d] <= capacity(d);
  if (fit) return;
  std::fill(persistent_.begin(), persistent_.end(), 0);
  for (OpIndex op = 0; op < c_.ops; ++op) {
    const DeviceIndex d = waiting_[op].device;
    persistent_[d] += RoundUp(c_.persistent[op], granularity_[d]);
    if (persistent_[d] <= capacity(d)) continue;
    outcome_.oom = {d, op, OutOfMemory::What::kPersistent, 0, persistent_[d], capacity(d)};
    return;
  }
}

// ---- a timeline ---------------------------------------------------------------------------------------------

template <typename Links, typename Moment>
void NativeRun<Links, Moment>::RecordTransfer(OpIndex op, const typename Compiled::Sender& sender, Id index) {
  const Id output = sender.output == Compiled::kNone ? -1 : sender.output - c_.rows[op].output;
  const typename Compiled::Route& route = c_.routes[index];
  outcome_.transfers.push_back({{op, output}, route.from, route.to, sender.bytes, now_time(), 0, 0});
  sent_.push_back({kNothing, 0});
}

template <typename Links, typename Moment>
void NativeRun<Links, Moment>::RecordTimes(TransferIndex t, BlockId sent, Moment start, Moment end) {
  TimesOfTransfer(t).start = moments_.TimeOf(start);
  TimesOfTransfer(t).end = moments_.TimeOf(end);
  sent_[t] = {sent, end};
}

// A change of memory, where it stands in its moment: what is freed by the end of an op (device, op, what it held),
// then by that of a transfer, then the requests of ops, then copies.
template <typename Moment>
struct MemoryChange {
  Moment moment;
  std::array<std::int32_t, 4> turn;
  std::int32_t block;
  bool frees;
  friend bool operator<(const MemoryChange& a, const MemoryChange& b) {
    return std::tie(a.moment, a.turn) < std::tie(b.moment, b.turn);
  }
};

template <typename Links, typename Moment>
void NativeRun<Links, Moment>::RecordMemory() {
  using Change = MemoryChange<Moment>;
  std::vector<Change> changes;
  ById<Change> frees(static_cast<std::size_t>(blocks_end_));
  for (BlockId b = kNothing + 1; b < blocks_end_; ++b) {
    const OpIndex owner = blocks_[b].owner;
    changes.push_back({blocks_[b].allocated, {owner < 0 ? 3 : 2, owner < 0 ? b : owner, b, 0}, b, false});
    // Only a workspace is held by nothing that is looked at below: it comes first.
    frees[b] = {blocks_[b].freed, {-1, blocks_[b].device, owner, 0}, b, true};
  }
  const auto held = [&](BlockId b, Moment until, std::array<std::int32_t, 4> turn) {
    if (b != kNothing && until == blocks_[b].freed) frees[b].turn = std::max(frees[b].turn, turn);
  };
  for (OpIndex op = 0; op < c_.ops; ++op) {
    std::int32_t place = 0;
    const DeviceIndex device = waiting_[op].device;
    for (Id o = c_.rows[op].output; o < c_.rows[op + 1].output; ++o)
      held(output_block_[o], end_[op], {0, device, op, ++place});
    for (Id i = c_.rows[op].input; i < c_.rows[op + 1].input; ++i)
      held(input_block_[i], end_[op], {0, device, op, ++place});
  }
  for (TransferIndex t = 0; t < queued_; ++t) held(sent_[t].block, sent_[t].end, {1, t, 0, 0});
  changes.insert(changes.end(), frees.begin() + 1, frees.end());
  std::sort(changes.begin(), changes.end());

  ById<Bytes> live(static_cast<std::size_t>(c_.devices), 0);
  const auto record = [&](Moment moment, DeviceIndex d, OpIndex op, OutOfMemory::What what, Bytes change) {
    live[d] += change;
    outcome_.memory.push_back({moments_.TimeOf(moment), d, live[d], op, what, change});
  };
  for (OpIndex op = 0; op < c_.ops; ++op) {
    const DeviceIndex d = waiting_[op].device;
    if (c_.persistent[op] != 0)
      record(0, d, op, OutOfMemory::What::kPersistent, RoundUp(c_.persistent[op], granularity_[d]));
  }
  for (auto change = changes.begin(); change != changes.end(); ++change) {
    const Block<Moment>& block = blocks_[change->block];
    const bool copy = block.owner < 0;
    Bytes bytes = change->frees ? -block.bytes : block.bytes;
    // All that an op asks for is one request.
    while (!change->frees && !copy && change + 1 != changes.end() && !(change + 1)->frees &&
           blocks_[(change + 1)->block].owner == block.owner)
      bytes += blocks_[(++change)->block].bytes;
    record(change->moment, block.device, copy ? ~block.owner : block.owner,
           copy ? OutOfMemory::What::kCopy : OutOfMemory::What::kOutput, bytes);
  }
}

}  // namespace stowplan::sim
