#include "sim/native/pipeline_order.h"

#include <algorithm>
#include <string>
#include <utility>

#include "sim/base/error.h"

namespace stowplan::sim {
namespace {

std::size_t At(std::int32_t index) {
  return static_cast<std::size_t>(index);
}

// -1: the op has none.
std::int32_t MicroBatchOf(const Op& op, OpIndex ops) {
  const Attribute* attribute = FindAttribute(op.attributes, "micro_batch");
  if (attribute == nullptr) return -1;
  const auto* number = std::get_if<std::int64_t>(&attribute->value);
  if (number == nullptr || *number < 0 || *number >= ops) {
    throw InputError("op '" + op.name + "' has a micro_batch that is no whole number from 0 to " +
                     std::to_string(ops - 1) + ", below the number of ops");
  }
  return static_cast<std::int32_t>(*number);
}

}  // namespace

PipelineOrder::PipelineOrder(const OpGraph& graph) {
  const Attribute* schedule = FindAttribute(graph.attributes, "schedule");
  if (schedule == nullptr) return;
  std::vector<std::int32_t> micro_batch;
  std::vector<Direction> direction;
  for (const Op& op : graph.ops) {
    micro_batch.push_back(MicroBatchOf(op, graph.size()));
    micro_batches_ = std::max(micro_batches_, micro_batch.back() + 1);
    direction.push_back(op.phase == "update"     ? Direction::kLast
                        : micro_batch.back() < 0 ? Direction::kOnce
                        : op.phase == "backward" ? Direction::kBackward
                                                 : Direction::kForward);
  }
  if (micro_batches_ == 1) return;  // attributes are free: a "schedule" of another's is none of ours
  const auto* name = std::get_if<std::string>(&schedule->value);
  if (name == nullptr || (*name != "gpipe" && *name != "1f1b"))
    throw InputError("the attribute 'schedule' of the graph '" + graph.name +
                     "' must be \"gpipe\" or \"1f1b\"");
  schedule_ = *name == "gpipe" ? Schedule::kGpipe : Schedule::k1F1B;
  ReadProducers(graph, micro_batch, std::move(direction));
  stage_.resize(graph.ops.size());
  slot_.resize(graph.ops.size());
  order_.resize(graph.ops.size());
}

void PipelineOrder::ReadProducers(const OpGraph& graph, const std::vector<std::int32_t>& micro_batch,
                                  std::vector<Direction> direction) {
  std::vector<bool> ruled(graph.ops.size());  // its slot is what the rule says
  for (const OpIndex op : graph.topological_order()) {
    const Op& reader = graph.ops[At(op)];
    const std::size_t first = waits_.size();
    std::vector<OpIndex> producers = reader.control;
    for (const TensorRef& input : reader.inputs) producers.push_back(input.op);
    Direction& own = direction[At(op)];
    for (const OpIndex producer : producers)
      if (direction[At(producer)] == Direction::kLast) own = Direction::kLast;
    for (const OpIndex producer : producers) {
      const Direction other = direction[At(producer)];
      const bool alike = micro_batch[At(producer)] == micro_batch[At(op)];
      // From these follows the stage, and from the stages that the slots are in order.
      const bool forward = alike && own == Direction::kForward && other == Direction::kForward;
      const bool backward = alike && own == Direction::kBackward && other <= Direction::kBackward;
      if (forward) forward_producers_.push_back({producer, true});
      if (backward) backward_producers_.push_back({producer, other == Direction::kForward});
      const Op& of = graph.ops[At(producer)];
      const bool first_of_all = other == Direction::kOnce && of.inputs.empty() && of.control.empty();
      if (!ruled[At(producer)] || !(forward || backward || first_of_all)) waits_.push_back(producer);
    }
    ruled[At(op)] = waits_.size() == first;
    if (own == Direction::kForward)
      forward_.push_back({op, static_cast<std::int32_t>(forward_producers_.size())});
    if (own == Direction::kBackward)
      backward_.push_back({op, static_cast<std::int32_t>(backward_producers_.size())});
    const bool joined = reader.collective >= 0 && !items_.empty() &&
                        graph.ops[At(items_.back().op)].collective == reader.collective;
    items_.push_back({op, micro_batch[At(op)], own, static_cast<std::int32_t>(waits_.size()), joined});
  }
}

// Forward: the stage of the latest producer, or the next where that is on another device. Backward the same way back, from
// the last stage on; an op beside its forward op is of that one's stage.
void PipelineOrder::FindStages(std::span<const DeviceIndex> device) {
  stages_ = 1;
  std::int32_t at = 0;
  for (const StagedOp& staged : forward_) {
    std::int32_t stage = 0;
    const DeviceIndex here = device[At(staged.op)];
    for (; at < staged.producers_end; ++at) {
      const OpIndex producer = forward_producers_[At(at)].op;
      stage = std::max(stage, stage_[At(producer)] + (device[At(producer)] != here));
    }
    stage_[At(staged.op)] = stage;
    stages_ = std::max(stages_, stage + 1);
  }
  at = 0;
  for (const StagedOp& staged : backward_) {
    std::int32_t stage = stages_ - 1;
    const DeviceIndex here = device[At(staged.op)];
    for (; at < staged.producers_end; ++at) {
      const auto [producer, forward] = backward_producers_[At(at)];
      const bool away = device[At(producer)] != here;
      if (!forward || !away) stage = std::min(stage, stage_[At(producer)] - away);
    }
    stage_[At(staged.op)] = stage;
  }
}

// When the stage would do it, were every stage's forward and backward part one unit of time and the transfers free.
std::int32_t PipelineOrder::Slot(const Item& item) const {
  const std::int32_t stage = stage_[At(item.op)], m = item.micro_batch;
  switch (item.direction) {
    case Direction::kForward:
      return schedule_ == Schedule::kGpipe || m < stages_ - stage ? stage + m : stage + 2 * m;
    case Direction::kBackward:
      if (schedule_ == Schedule::kGpipe) return stages_ - 1 + micro_batches_ + (stages_ - 1 - stage) + m;
      return 2 * stages_ - 1 - stage + 2 * m;
    case Direction::kOnce:
    case Direction::kLast:
      break;
  }
  return 0;
}

// Never before a producer: so the order is one of the graph whatever its phases say.
void PipelineOrder::FindSlots() {
  std::int32_t first = 0, last = 0;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const Item& item = items_[i];
    std::int32_t slot = Slot(item);
    for (; first < item.waits_end; ++first) slot = std::max(slot, slot_[At(waits_[At(first)])]);
    slot_[At(item.op)] = slot;
    last = std::max(last, slot);
    if (item.joined) Level(i);
  }
  begin_.assign(At(last) + 3, 0);
  for (const Item& item : items_) {
    if (item.direction == Direction::kLast) slot_[At(item.op)] = last + 1;
    ++begin_[At(slot_[At(item.op)]) + 1];
  }
  for (std::size_t slot = 1; slot < begin_.size(); ++slot) begin_[slot] += begin_[slot - 1];
}

// Members of a collective, of which items_[last] is one, begin together: at the latest slot of those so far.
void PipelineOrder::Level(std::size_t last) {
  std::int32_t slot = slot_[At(items_[last].op)];
  std::size_t first = last;
  for (; items_[first].joined; --first) slot = std::max(slot, slot_[At(items_[first - 1].op)]);
  for (; first <= last; ++first) slot_[At(items_[first].op)] = slot;
}

std::span<const OpIndex> PipelineOrder::Of(std::span<const DeviceIndex> device) {
  FindStages(device);
  FindSlots();
  for (const Item& item : items_) order_[At(begin_[At(slot_[At(item.op)])]++)] = item.op;
  return order_;
}

}  // namespace stowplan::sim
