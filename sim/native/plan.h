// What a placement fixes before a run: which dependencies are local, which transfers there will be, and how
// often each storage is held. Internal to sim/native/.
#pragma once

#include "sim/compiled.h"
#include "sim/native/index_set.h"

namespace berth::sim {

// A storage (docs/model.md section 5) is the output of that number at its producer, or, from the number of
// outputs on, a received copy.
using StorageId = Problem::Compiled::Id;

// A transfer that will be: one output, or the control dependencies of an op, to one device.
struct Transfer {
  Picos move = 0;   // M: time beyond the latency when nothing is shared
  Bytes bytes = 0;  // 0: a light transfer
  OpIndex producer = 0;
  Problem::Compiled::Id output = 0;  // kNone for control
  Problem::Compiled::Id route = 0;
  Problem::Compiled::Id readers_end = 0;  // slot after its last reader

  bool light() const { return bytes == 0; }
};

// How often things must still happen; part of the state of a run (run_state.h).
struct Counts {
  struct OpState {
    std::int32_t missing = 0;  // dependencies until issuable: local producers, remote outputs
    DeviceIndex device = 0;
    friend bool operator==(const OpState&, const OpState&) = default;
  };
  ById<OpState> ops;
  ById<std::int32_t> unfinished;  // by op: local producers that have not ended; only if Plan counts them
  ById<std::int32_t> holders;     // by storage
  friend bool operator==(const Counts&, const Counts&) = default;
};

class Plan {
 public:
  using Compiled = Problem::Compiled;
  using Id = Compiled::Id;
  // counts_unfinished: some device needs to know them.
  Plan(const Compiled& compiled, bool counts_unfinished);

  // Everything below, and the counts at the start of a run; work: O(ops + edges).
  void Make(const Placement& placement, Counts& counts);
  // The part of one op, as producer: takes its counts back, and makes it and them anew for the devices in
  // `counts`. What views of its outputs hold is not counted.
  void Unmake(OpIndex op, Counts& counts);
  void MakeOp(OpIndex op, Counts& counts);

  // The out-edges of an op are as many slots, shared out anew by each placement: its transfers in the order of
  // section 4 (output, destination), each with its readers in op order. A transfer bears the number of its
  // first slot: the op's are transfers[rows[op].edge], transfers[readers_end of that], … up to transfers_end[op].
  ById<Transfer> transfers;
  ById<OpIndex> readers;
  ById<Id> transfers_end;
  // Consumers on the op's own device, in op order, from rows[op].consumer to locals_end[op].
  ById<OpIndex> locals;
  ById<Id> locals_end;
  ById<StorageId> input_storage;  // by in-edge
  ById<Id> route_transfers;       // transfers that are not light, by route

  StorageId CopyOf(Id transfer) const { return first_copy_ + transfer; }
  bool IsCopy(StorageId storage) const { return storage >= first_copy_; }
  Id TransferOf(StorageId copy) const { return copy - first_copy_; }

 private:
  Id MakeTransfers(OpIndex op, DeviceIndex device, Id begin, Id end, Id slot, Counts& counts);
  Id MakeTransfer(OpIndex op, DeviceIndex device, DeviceIndex to, Id output, Id slot, Id reads,
                  Counts& counts);

  const Compiled& c_;
  const bool counts_unfinished_;
  const StorageId first_copy_;
  // Scratch of one output: by device, its readers there and what they will read.
  struct Destination {
    Id readers = 0;
    Id next_slot = 0;
    StorageId storage = 0;
  };
  ById<Destination> destination_;
  IndexSet reached_;
};

}  // namespace berth::sim
