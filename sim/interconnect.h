// How transfers share the machine (docs/model.md section 4). Each row of the table is one file in
// sim/interconnect/.
//
// An interconnect is a class `Links` that the engines of native/ (shortest_way.h) are instantiated with, so
// that they call it without indirection. It sees heavy transfers only (light ones take their latency and
// nothing else), each as a `Transfer` (native/plan.h) and by its queue number. It is part of the state of a
// run: copyable, no pointers but to what is constant, and no allocation after the first run. Its contract:
//
//   static constexpr bool kExclusive;       // whether no two transfers ever use one link direction at once
//   Links(const Problem::Compiled&, std::int32_t spare);
//                                           // spare: by so much a run may have more transfers, in all and
//                                           // on each route, than Reset() is told
//   void Reset(const ById<Id>& route_transfers);
//                                           // before every run: the most heavy transfers of each route
//   void Queue(TransferIndex, const Transfer&);
//                                           // in order of queue numbers; must not start anything yet
//   void Start(Picos now, const Transfers&, std::vector<TransferIndex>& started);
//                                           // starts what may start and appends it to `started` in order of
//                                           // queue numbers; lets flows begin
//   Picos next() const;                     // when the next transfer ends or flow begins; kNever = none
//   void End(Picos now, const Transfers&, std::vector<TransferIndex>& ended);
//                                           // appends those that end now and releases what they hold
//   struct Live;                            // what matters between passes, for going on from there
//   void Save(Live&) const;
//   void Load(const Live&, Picos shift);    // `shift` later
//   bool Equals(const Live&, Picos shift, same) const;
//                                           // true: goes on like it, `shift` later; same(TransferIndex mine,
//                                           // TransferIndex theirs) says which transfers are the same
//
// Guaranteed by every instance and tested over the table: bytes are conserved; a transfer is never faster
// than alone (L + M); alone it takes exactly L + M; same input, same times.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/incremental.h"
#include "sim/simulator.h"

namespace berth::sim {

struct InterconnectRow {
  const char* name;
  const char* what;  // one line: what is shared, and how realistic it is
  std::unique_ptr<Simulator> (*make)(const Problem& problem);
  std::unique_ptr<IncrementalSimulator> (*make_incremental)(const Problem& problem);
};
const std::vector<InterconnectRow>& Interconnects();

// The one that a native run on the cluster takes: without links nothing can be shared, and every transfer takes
// no time (Cluster::route is empty).
const InterconnectRow& InterconnectOf(const Cluster& cluster);

// Throws InputError that lists the known names.
void CheckInterconnect(const std::string& name);

}  // namespace berth::sim
