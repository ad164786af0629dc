// The storage that a run allocates and holds (docs/model.md section 5). What holds memory is kept until the end of the
// run and accounted for then (peaks.h). A layer of a run (run.h).
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <tuple>
#include <vector>

#include "sim/native/peaks.h"
#include "sim/native/recorder.h"

namespace stowplan::sim {

template <typename Moment>
class Memory : protected Recorder<Moment> {
 public:
  Memory(const Problem& problem, const Moments<Moment>& moments)
      : Recorder(problem.compiled(), moments),
        blocks_(MostBlocks(c_)),
        output_block_(c_.output_bytes.size()),
        input_block_(static_cast<std::size_t>(c_.inputs) + 1),
        persistent_(static_cast<std::size_t>(c_.devices)),
        peaks_(problem.cluster(), c_.ops, MostOwnBlocks(c_)) {
    for (const Device& device : problem.cluster().devices) granularity_.push_back(device.granularity);
  }

  void Reset() {
    blocks_end_ = kNoBlock + 1;
    std::fill(persistent_.begin(), persistent_.end(), 0);
  }
  void Place(OpIndex op, DeviceIndex device) {
    if (c_.persistent[op] != 0) persistent_[device] += PersistentOf(op, device);
  }

  BlockId Allocate(Moment at, Moment freed, Bytes bytes, DeviceIndex device, OpIndex owner) {
    if (bytes == 0) return kNoBlock;
    blocks_[blocks_end_] = {at, freed, RoundUp(bytes, granularity_[device]), device, owner};
    return blocks_end_++;
  }
  void Hold(BlockId block, Moment until) { blocks_[block].freed = std::max(blocks_[block].freed, until); }

  // The request of an op's start, which may share what its inputs stand in. Returns its workspace.
  BlockId AllocateOutputs(OpIndex op, DeviceIndex device, Moment start, Moment freed) {
    const Id end = c_.rows[op + 1].output;
    for (Id o = c_.rows[op].output; o < end; ++o) {
      const Id shares = c_.output_shares[o];
      output_block_[o] = shares == Compiled::kNone ? Allocate(start, freed, c_.output_storage[o], device, op)
                                                   : input_block_[shares];
    }
    return Allocate(start, freed, c_.rows[op].workspace, device, op);
  }
  void HoldOutputs(OpIndex op, Moment until) {
    for (Id o = c_.rows[op].output; o < c_.rows[op + 1].output; ++o) Hold(output_block_[o], until);
  }
  void HoldInputs(OpIndex op, Moment until) {
    const Id end = c_.rows[op + 1].input;
    for (Id i = c_.rows[op].input; i < end; ++i) Hold(input_block_[i], until);
  }
  BlockId BlockOf(const Compiled::Sender& sender) const {
    return sender.output == Compiled::kNone ? kNoBlock : output_block_[sender.output];
  }
  // Where an input stands on its reader's device.
  void SetInput(Compiled::Id input, BlockId block) { input_block_[input] = block; }

  // After a run: the peaks, and what did not fit.
  void FindPeaks(std::span<const DeviceIndex> placement) {
    std::optional<OutOfMemory>& oom = Recorder::outcome().oom;
    peaks_.Find(persistent_, {blocks_.data() + 1, blocks_.data() + blocks_end_}, Clock::now_);
    oom.reset();
    const auto capacity = [this](DeviceIndex d) {
      return c_.cluster->devices[static_cast<std::size_t>(d)].capacity();
    };
    if (const auto& refused = peaks_.refused()) {
      const Block<Moment>& block = *refused->block;
      oom = {block.device,  block.op(),
             WhatOf(block), moments_.TimeOf(block.allocated),
             refused->live, capacity(block.device)};
    }
    // Persistent bytes come before everything else.
    DeviceIndex full = 0;
    while (full < c_.devices && persistent_[full] <= capacity(full)) ++full;
    if (full == c_.devices) return;
    std::fill(persistent_.begin(), persistent_.end(), 0);
    for (OpIndex op = 0; op < c_.ops; ++op) {
      const DeviceIndex d = placement[static_cast<std::size_t>(op)];
      persistent_[d] += PersistentOf(op, d);
      if (persistent_[d] <= capacity(d)) continue;
      oom = {d, op, OutOfMemory::What::kPersistent, 0, persistent_[d], capacity(d)};
      return;
    }
  }
  Bytes peak(DeviceIndex device) const { return peaks_.peak(device); }
  // Every change of memory, for a timeline. ends: by op.
  void RecordMemory(std::span<const DeviceIndex> placement, const ById<Moment>& ends) {
    std::vector<Change> changes;
    ById<Change> frees(static_cast<std::size_t>(blocks_end_));
    for (BlockId b = kNoBlock + 1; b < blocks_end_; ++b) {
      const OpIndex owner = blocks_[b].owner;
      changes.push_back({blocks_[b].allocated, {owner < 0 ? 3 : 2, owner < 0 ? b : owner, b, 0}, b, false});
      // Only a workspace is held by nothing that is looked at below: it comes first.
      frees[b] = {blocks_[b].freed, {-1, blocks_[b].device, owner, 0}, b, true};
    }
    const auto held = [&](BlockId b, Moment until, std::array<std::int32_t, 4> turn) {
      if (b != kNoBlock && until == blocks_[b].freed) frees[b].turn = std::max(frees[b].turn, turn);
    };
    for (OpIndex op = 0; op < c_.ops; ++op) {
      std::int32_t place = 0;
      const DeviceIndex device = placement[static_cast<std::size_t>(op)];
      for (Id o = c_.rows[op].output; o < c_.rows[op + 1].output; ++o)
        held(output_block_[o], ends[op], {0, device, op, ++place});
      for (Id i = c_.rows[op].input; i < c_.rows[op + 1].input; ++i)
        held(input_block_[i], ends[op], {0, device, op, ++place});
    }
    TransferIndex t = 0;
    for (const auto& [block, end] : Recorder::sent()) held(block, end, {1, t++, 0, 0});
    changes.insert(changes.end(), frees.begin() + 1, frees.end());
    std::sort(changes.begin(), changes.end());

    ById<Bytes> live(static_cast<std::size_t>(c_.devices), 0);
    const auto record = [&](Moment moment, DeviceIndex d, OpIndex op, OutOfMemory::What what, Bytes change) {
      live[d] += change;
      Recorder::outcome().memory.push_back({moments_.TimeOf(moment), d, live[d], op, what, change});
    };
    for (OpIndex op = 0; op < c_.ops; ++op) {
      const DeviceIndex d = placement[static_cast<std::size_t>(op)];
      if (c_.persistent[op] != 0) record(0, d, op, OutOfMemory::What::kPersistent, PersistentOf(op, d));
    }
    for (auto change = changes.begin(); change != changes.end(); ++change) {
      const Block<Moment>& block = blocks_[change->block];
      Bytes bytes = change->frees ? -block.bytes : block.bytes;
      // All that an op asks for is one request.
      while (!change->frees && !block.is_copy() && change + 1 != changes.end() && !(change + 1)->frees &&
             blocks_[(change + 1)->block].owner == block.owner)
        bytes += blocks_[(++change)->block].bytes;
      record(change->moment, block.device, block.op(), WhatOf(block), bytes);
    }
  }

 protected:
  using Clock = sim::Clock<Moment>;
  using Recorder = sim::Recorder<Moment>;
  using Clock::c_, Clock::moments_, typename Clock::Id;

 private:
  // A change of memory, where it stands in its moment: what is freed by the end of an op (device, op, what it held),
  // then by that of a transfer, then the requests of ops, then copies.
  struct Change {
    Moment moment;
    std::array<std::int32_t, 4> turn;
    BlockId block;
    bool frees;
    friend bool operator<(const Change& a, const Change& b) {
      return std::tie(a.moment, a.turn) < std::tie(b.moment, b.turn);
    }
  };

  Bytes PersistentOf(OpIndex op, DeviceIndex device) const {
    return RoundUp(c_.persistent[op], granularity_[device]);
  }
  static OutOfMemory::What WhatOf(const Block<Moment>& block) {
    return block.is_copy() ? OutOfMemory::What::kCopy : OutOfMemory::What::kOutput;
  }

  ById<Bytes> granularity_;     // by device
  ById<Block<Moment>> blocks_;  // what has been allocated; the first one is nothing
  BlockId blocks_end_ = 0;
  ById<BlockId> output_block_;  // by output: its own, or that which it shares
  ById<BlockId> input_block_;   // by in-edge: what it holds; the last one is for control dependencies
  ById<Bytes> persistent_;      // by device
  Peaks<Moment> peaks_;
};

}  // namespace stowplan::sim
