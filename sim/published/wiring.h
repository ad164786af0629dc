// The graph as the rules `published` see it, in compact arrays; built once for each simulator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/base/exact.h"
#include "sim/base/units.h"
#include "sim/cost_model.h"
#include "sim/op_graph.h"

namespace stowplan::sim {

// Readers are kept in groups of this many, filled up with an op that is on no device and never ready: loops
// over readers then mostly go round once, and a loop whose length cannot be predicted costs more than the
// filling.
inline constexpr std::uint32_t kReaderGroup = 2;
inline std::uint32_t InGroups(std::uint32_t readers) {
  return (std::max(readers, 1u) + kReaderGroup - 1) / kReaderGroup * kReaderGroup;
}

// Who reads what, as these rules see it: a consumer names each producer once, with the last output that it
// names; a control input is an input of output 0 and is named after the data. An output that somebody reads
// is a transfer: what is sent, at most once in a run.
struct PublishedWiring {
  static constexpr Picos kSeveral = -1;
  struct Item {
    std::uint32_t reader = 0;   // the first of its groups, at least one
    std::uint32_t readers = 0;  // how many, the filling not counted
    Picos duration = 0;  // of sending its transfer; kSeveral if they are more than one; 0 if there is none
  };
  struct Edge {
    OpIndex consumer = 0;
    std::uint32_t transfer = 0;
  };

  std::vector<Item> ops;
  std::vector<OpIndex> readers;           // by op, then consumer, in groups
  std::vector<std::uint32_t> transfers;   // [op], one more at the end: its first transfer
  std::vector<Picos> durations;           // [transfer]
  std::vector<TensorRef> tensors;         // [transfer]
  std::vector<std::uint32_t> first_edge;  // [op], one more at the end
  std::vector<Edge> edges;                // by op, then consumer; of ops with several transfers only
  std::vector<std::int32_t> producers;    // [op]: number of different ones
  std::vector<OpIndex> sources;           // the ops without producers
  std::vector<Bytes> output_bytes;        // [op]: sum over its outputs
  std::vector<Picos> tails;               // [op]: no less time passes between its end and the end of the run

  PublishedWiring(const OpGraph& graph, const CostTable& costs);

  // Everything one after the other: no time of a run is beyond it.
  UInt128 LatestTime(const CostTable& costs) const;

 private:
  void SetTails(const OpGraph& graph, const CostTable& costs);
  struct Reader {
    OpIndex consumer;
    std::int32_t output;
  };
  std::vector<std::vector<Reader>> NamedReaders(const OpGraph& graph);
  void AddOp(const OpGraph& graph, OpIndex op, const std::vector<Reader>& readers_of_op);
};

}  // namespace stowplan::sim
