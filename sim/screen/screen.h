// Screens: quick estimates of many placements at once, to choose which of them to simulate. A screen is never an answer
// and no sample (docs/model.md section 10, docs/protocol_rules.md#screens).
//
// One pass over the graph, each op once its producers are through: in program order, under the rules `published` by the
// earliest start on devices that wait for nobody. What it keeps of the rules `native`:
//  - the issue of ops by a thread for each device or one for the process, in program order (sections 2 and 6);
//  - an op starts when it is issued and its device is free, and takes its cost;
//  - what is sent leaves a device one after the other, in the order of queue numbers, and takes L + M; light transfers
//    and those of `ideal` wait for nothing;
//  - a transfer to a device at which another one arrives takes longer by the time that they overlap;
//  - where copies slow a device down (`overlap_copy`), the time lost is added to what it computes;
//  - storage lives from the start of its op, a copy from the end of the op that made it, to the last of its readers on
//    that device; views hold what they share.
// It leaves out: more than one op at a time on a device, more than one copy engine a direction, links that several
// senders share, half-duplex links and `both`, orders and priorities of placements and `order: ready`, and, of memory,
// when a transfer really starts and ends.
//
// So the runtime is that of the simulator, bit for bit, under native rules with `order: program`, one stream at rate 1 and
// copies that slow nothing, where besides the interconnect is `ideal`, or transfers of different senders share neither
// link direction nor copy engine and those of one sender share one of which there is one (an out-engine, or under `fifo`
// a link): two GPUs with a full-duplex route, say. The peaks are then the simulator's where all ops are on one device.
// Elsewhere results/speed/screen.md says how well it orders placements.
//
// Numbers are integers, so that results do not depend on the processor, on the number of threads, or on which other
// placements are screened beside one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/simulator.h"

namespace stowplan::sim {

class Screen {
 public:
  static constexpr std::size_t kMostDevices = 256;

  // Throws InputError for more than kMostDevices, and where collectives would have to be left out.
  static void Require(const Problem& problem, std::size_t devices);

  // `unit_of_op`: ops with one number are placed as one; numbers count from 0. `devices`: those that placements may use,
  // ascending; fewer make it faster. threads = 0: one per core. Throws as Require() does. Keeps a
  // reference to the problem. `order`: all ops, producers first, in the order of the pass; empty = the one above. Where ops do
  // not run in program order, that in which they ran in a placement makes screens of its neighbours truer.
  Screen(const Problem& problem, std::span<const std::int32_t> unit_of_op,
         std::span<const DeviceIndex> devices, int threads = 1, std::span<const OpIndex> order = {});
  ~Screen();
  Screen(Screen&&) noexcept;
  Screen& operator=(Screen&&) noexcept;

  struct Result {
    std::vector<Picos> runtime;  // by placement
    std::vector<Bytes> peak;     // [placement * devices of the cluster + device]
  };
  // A placement gives each unit one of `devices`. Calls must not overlap.
  Result Run(std::span<const std::vector<DeviceIndex>> placements);
  // The same on the caller's thread alone, for callers that are parallel themselves: calls of different slots, from 0 to below
  // the number of threads, may overlap.
  Result RunOn(int slot, std::span<const std::vector<DeviceIndex>> placements);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stowplan::sim
