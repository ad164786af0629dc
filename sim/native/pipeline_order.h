// In which order the devices of a pipeline issue the ops of a step over k micro-batches (docs/model.md section 2).
//
// A graph whose attribute `schedule` is "gpipe" or "1f1b" asks for it. An op with the attribute `micro_batch`
// (0 to k - 1) is done once for each of them, as one of k ops that are alike; all others are done once. What the stages
// are follows from the placement: each change of device on the way forward begins the next.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/op_graph.h"

namespace stowplan::sim {

// One thread at a time.
class PipelineOrder {
 public:
  // Throws InputError for another schedule, and for a `micro_batch` that is no whole number from 0 to below the number of ops.
  explicit PipelineOrder(const OpGraph& graph);

  // Whether the graph asks for no schedule, or has one micro-batch; then there is no order either.
  bool empty() const { return schedule_ == Schedule::kNone; }
  // All ops, producers first. `device`: by op. Valid until the next call.
  std::span<const OpIndex> Of(std::span<const DeviceIndex> device);

 private:
  enum class Schedule : std::uint8_t { kNone, kGpipe, k1F1B };
  enum class Direction : std::uint8_t { kForward, kBackward, kOnce, kLast };
  struct Item {  // of one op, in topological order
    OpIndex op;
    std::int32_t micro_batch;
    Direction direction;
    std::int32_t waits_end;  // in waits_; they begin where those of the item before end
    bool joined;             // a member of the collective that the item before is one of
  };
  struct StagedOp {  // of one op that has a stage, in topological order
    OpIndex op;
    std::int32_t producers_end;  // in producers_, in the same way
  };
  struct Producer {
    OpIndex op;
    bool forward;
  };

  void ReadProducers(const OpGraph& graph, const std::vector<std::int32_t>& micro_batch,
                     std::vector<Direction> direction);
  void FindStages(std::span<const DeviceIndex> device);
  std::int32_t Slot(const Item& item) const;
  void FindSlots();
  void Level(std::size_t last);

  Schedule schedule_ = Schedule::kNone;
  std::int32_t micro_batches_ = 1;
  std::vector<Item> items_;
  std::vector<OpIndex> waits_;  // producers whose slots could be later than the rule says
  std::vector<StagedOp> forward_, backward_;
  std::vector<Producer> forward_producers_, backward_producers_;  // of the same micro-batch
  std::int32_t stages_ = 1;                                       // of the placement
  std::vector<std::int32_t> stage_;                               // by op
  std::vector<std::int32_t> slot_;                                // by op
  std::vector<std::int32_t> begin_;                               // by slot: where its ops begin in order_
  std::vector<OpIndex> order_;
};

}  // namespace stowplan::sim
