// The storage that a run allocates and holds (docs/model.md section 5). While it goes on only what is sent is noted. What each
// op allocates and holds follows from its start and its end, and is accounted for after the run (peaks.h). A layer of a run
// (run.h).
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
        freed_(blocks_.size()),
        sent_(c_.most_transfers - c_.most_light + 1),
        output_block_(c_.output_bytes.size()),
        input_copy_(static_cast<std::size_t>(c_.inputs) + 1),
        persistent_(static_cast<std::size_t>(c_.devices)),
        ops_(static_cast<std::size_t>(c_.devices)),
        peaks_(problem.cluster(), c_.ops, MostOwnBlocks(c_)) {
    for (const Device& device : problem.cluster().devices) granularity_.push_back(device.granularity);
  }

  void Reset() {
    std::fill(input_copy_.begin(), input_copy_.end(), kLocal);
    copies_end_ = kNoBlock + 1;
    std::fill(persistent_.begin(), persistent_.end(), 0);
    std::fill(ops_.begin(), ops_.end(), 0);
  }
  void Place(OpIndex op, DeviceIndex device) {
    ++ops_[device];
    if (c_.persistent[op] != 0) persistent_[device] += PersistentOf(op, device);
  }

  // The output of a sender is sent; some bytes. Where that is not known yet, until when is told later. Returns the copy.
  BlockId AddCopy(const Compiled::Sender& sender, OpIndex op, DeviceIndex to, Moment start, Moment end) {
    blocks_[copies_end_] = {start, RoundUp(sender.bytes, granularity_[to]), to, ~op};
    freed_[copies_end_] = start;
    sent_[copies_end_] = {sender.output, end};
    return copies_end_++;
  }
  void EndCopy(BlockId copy, Moment end) { sent_[copy].end = end; }
  // An input that was sent.
  void SetInput(Compiled::Id input, BlockId copy) { input_copy_[input] = copy; }

  // After a run: the peaks, and what did not fit. By op: when it started and ended.
  void FindPeaks(std::span<const DeviceIndex> placement, const ById<Moment>& starts,
                 const ById<Moment>& ends) {
    AllocateOutputs(placement, starts, ends);
    HoldInputs(ends);
    std::optional<OutOfMemory>& oom = Recorder::outcome().oom;
    peaks_.Find(persistent_, ops_, {blocks_.data() + 1, blocks_.data() + blocks_end_},
                {freed_.data() + 1, freed_.data() + blocks_end_}, Clock::now_);
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
      frees[b] = {freed_[b], {-1, blocks_[b].device, owner, 0}, b, true};
    }
    const auto held = [&](BlockId b, Moment until, std::array<std::int32_t, 4> turn) {
      if (b != kNoBlock && until == freed_[b]) frees[b].turn = std::max(frees[b].turn, turn);
    };
    for (OpIndex op = 0; op < c_.ops; ++op) {
      std::int32_t place = 0;
      const DeviceIndex device = placement[static_cast<std::size_t>(op)];
      for (Id o = c_.rows[op].output; o < c_.rows[op + 1].output; ++o)
        held(output_block_[o], ends[op], {0, device, op, ++place});
      for (Id i = c_.rows[op].input; i < c_.rows[op + 1].input; ++i)
        held(BlockOf(i), ends[op], {0, device, op, ++place});
    }
    TransferIndex t = 0;
    for (const auto& [output, end] : Recorder::sent())
      held(output == Compiled::kNone ? kNoBlock : output_block_[output], end, {1, t++, 0, 0});
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
  static constexpr BlockId kLocal = -1;  // in place of a copy, of what was not sent
  using Clock = sim::Clock<Moment>;
  using Recorder = sim::Recorder<Moment>;
  using Clock::c_, Clock::moments_, typename Clock::Id;

 private:
  struct Sent {
    Id output;
    Moment end;
  };
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

  // Where an input stands on its reader's device.
  BlockId BlockOf(Id input) const {
    const BlockId copy = input_copy_[input], here = output_block_[c_.input_output[input]];
    return copy == kLocal ? here : copy;
  }
  // Of all ops, producers first: what shares the storage of an input finds it. (Here and below arrays are named once: as
  // members they would be looked up again after every store.)
  void AllocateOutputs(std::span<const DeviceIndex> placement, const ById<Moment>& starts,
                       const ById<Moment>& ends) {
    const Compiled::OpRow* const rows = c_.rows.data();
    const Bytes* const storage = c_.output_storage.data();
    const Id* const shares = c_.output_shares.data();
    const Moment* const started = starts.data();
    const Moment* const ended = ends.data();
    const Bytes* const granularity = granularity_.data();
    BlockId* const output_block = output_block_.data();
    Block<Moment>* const blocks = blocks_.data();
    Moment* const freed = freed_.data();
    BlockId next = copies_end_;
    for (const OpIndex op : c_.program_order) {
      const DeviceIndex device = placement[static_cast<std::size_t>(op)];
      const auto allocate = [&](Bytes bytes) {
        if (bytes == 0) return kNoBlock;
        blocks[next] = {started[op], RoundUp(bytes, granularity[device]), device, op};
        freed[next] = ended[op];
        return next++;
      };
      const Id end = rows[op + 1].output;
      for (Id o = rows[op].output; o < end; ++o)
        output_block[o] = shares[o] == Compiled::kNone ? allocate(storage[o]) : BlockOf(shares[o]);
      allocate(rows[op].workspace);
    }
    blocks_end_ = next;
  }
  // Each storage until the last of those that read or send it has ended.
  void HoldInputs(const ById<Moment>& ends) {
    const BlockId* const output_block = output_block_.data();
    const BlockId* const copies = input_copy_.data();
    const Id* const outputs = c_.input_output.data();
    const OpIndex* const readers = c_.input_reader.data();
    const Moment* const ended = ends.data();
    Moment* const freed = freed_.data();
    const auto hold = [freed](BlockId block, Moment until) { freed[block] = std::max(freed[block], until); };
    for (Id i = 0, inputs = c_.inputs; i < inputs; ++i) {
      const BlockId copy = copies[i], here = output_block[outputs[i]];
      hold(copy == kLocal ? here : copy, ended[readers[i]]);
    }
    for (BlockId copy = kNoBlock + 1; copy < copies_end_; ++copy)
      hold(output_block[sent_[copy].output], sent_[copy].end);
  }

  Bytes PersistentOf(OpIndex op, DeviceIndex device) const {
    return RoundUp(c_.persistent[op], granularity_[device]);
  }
  static OutOfMemory::What WhatOf(const Block<Moment>& block) {
    return block.is_copy() ? OutOfMemory::What::kCopy : OutOfMemory::What::kOutput;
  }

  ById<Bytes> granularity_;     // by device
  ById<Block<Moment>> blocks_;  // the first one is nothing; then copies; then what ops have allocated
  ById<Moment> freed_;          // by block
  BlockId copies_end_ = 0, blocks_end_ = 0;
  ById<Sent> sent_;             // by copy: what it is one of, and until when that is read
  ById<BlockId> output_block_;  // by output: its own, or that which it shares
  ById<BlockId>
      input_copy_;          // by in-edge: what was sent, or kLocal; the last one is for control dependencies
  ById<Bytes> persistent_;  // by device
  ById<OpIndex> ops_;       // by device, how many
  Peaks<Moment> peaks_;
};

}  // namespace stowplan::sim
