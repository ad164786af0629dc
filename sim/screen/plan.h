// What a screen reads: a problem as rows in the order of its pass. Internal to sim/.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/compiled.h"
#include "sim/simulator.h"

namespace stowplan::sim {

struct ScreenPlan {
  ScreenPlan(const Problem& problem, std::span<const std::int32_t> unit_of_op,
             std::span<const DeviceIndex> devices, std::span<const OpIndex> order = {});

  using Id = std::int32_t;
  // Devices are numbered as in `devices`. A set of them has 16 bits for each, all of them 0 or all 1, in as many words as
  // `words` says; a pass has a bit for each placement there.
  using Word = std::uint64_t;
  static constexpr std::size_t kAbreast = 16;
  static constexpr std::size_t kDevicesOfWord = 4;
  static constexpr Word kAll = 0xffff;
  std::size_t words = 0;

  struct ScreenedOp {  // an op
    Id unit = 0;
    Id send = 0;              // its first send; those of the next op follow
    Bytes own = 0;            // storage of its outputs
    Bytes working = 0;        // what it frees when it ends: workspace, outputs that nobody reads
    std::int32_t pays = 0;    // framework ops that dispatch is charged for
    Picos pause = 0;          // of its device behind it, under the rules published
    bool host_waits = false;  // its thread waits for its end
  };
  struct Send {  // an output that is read, or the end of its op
    Id reader = 0;
    Id holder = 0;
    Id times = 0;     // first of its row of move_time
    Bytes own = 0;    // storage at its op
    Bytes bytes = 0;  // of a copy; 0: its transfers are light
  };
  struct Reader {
    Id op = 0, unit = 0;
  };
  std::vector<ScreenedOp> ops;  // in the order of the pass; and the end
  std::vector<Send> sends;      // and the end
  std::vector<Reader> readers;  // of a send
  std::vector<Reader> holders;  // those and the readers of its views, in the order of the pass
  Id units = 0;

  // Devices are told apart only where times differ: sets of those that are alike.
  std::size_t kinds = 0;
  std::vector<Word> kind;            // [kind * words]
  std::vector<Picos> cost;           // [op * kinds + kind]
  std::vector<Picos> dispatch_cost;  // by kind, of one framework op

  // Routes likewise: those to a device, by sets of senders.
  std::vector<Id> first_senders;  // by device, and the end
  std::vector<Id> route_kind;     // by set of senders
  std::vector<Word> senders;      // [set * words]
  std::vector<Picos> move_time;   // [send.times + route kind]: L + M, L if light

  std::vector<DeviceIndex> devices;  // of the cluster
  std::vector<Word> cpus;            // [words]
  std::vector<Bytes> persistent;     // by unit
  std::vector<std::int32_t> slows;  // by device: of a transfer's time, how many parts of 1024 a copy costs it
  bool published = false;
  bool process = false;  // one host thread for all
  bool ideal = false;
  bool blocking = false;  // some device is slowed down by copies
};

}  // namespace stowplan::sim
