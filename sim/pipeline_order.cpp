#include "sim/pipeline_order.h"

#include <algorithm>
#include <string>

#include "sim/error.h"

namespace berth::sim {
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
  const auto* name = std::get_if<std::string>(&schedule->value);
  if (name == nullptr || (*name != "gpipe" && *name != "1f1b"))
    throw InputError("the attribute 'schedule' of the graph '" + graph.name +
                     "' must be \"gpipe\" or \"1f1b\"");
  kind_ = *name == "gpipe" ? Kind::kGpipe : Kind::k1F1B;

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
  if (micro_batches_ == 1) kind_ = Kind::kNone;
  if (empty()) return;
  for (const OpIndex op : graph.topological_order()) {
    const Op& reader = graph.ops[At(op)];
    const auto add = [&](OpIndex producer) {
      if (direction[At(producer)] == Direction::kLast) direction[At(op)] = Direction::kLast;
      producers_.push_back(
          {producer, direction[At(producer)], micro_batch[At(producer)] == micro_batch[At(op)]});
    };
    for (const TensorRef& input : reader.inputs) add(input.op);
    for (const OpIndex control : reader.control) add(control);
    items_.push_back(
        {op, micro_batch[At(op)], direction[At(op)], static_cast<std::int32_t>(producers_.size())});
  }
  stage_.resize(graph.ops.size());
  slot_.resize(graph.ops.size());
  order_.resize(graph.ops.size());
}

// Forward: the stage of the latest producer, or the next where that is on another device. Backward the same way back, from
// the last stage on; an op beside its forward op is of that one's stage.
void PipelineOrder::FindStages(std::span<const DeviceIndex> device) {
  stages_ = 1;
  std::int32_t first = 0;
  for (const Item& item : items_) {
    std::int32_t stage = 0;
    for (; first < item.producers_end; ++first) {
      const Producer& producer = producers_[At(first)];
      if (item.direction != Direction::kForward || producer.direction != Direction::kForward ||
          !producer.alike)
        continue;
      stage = std::max(stage, stage_[At(producer.op)] + (device[At(producer.op)] != device[At(item.op)]));
    }
    stage_[At(item.op)] = stage;
    stages_ = std::max(stages_, stage + 1);
  }
  first = 0;
  for (const Item& item : items_) {
    std::int32_t stage = stages_ - 1;
    for (; first < item.producers_end; ++first) {
      const Producer& producer = producers_[At(first)];
      if (item.direction != Direction::kBackward || !producer.alike) continue;
      const bool here = device[At(producer.op)] == device[At(item.op)];
      if (producer.direction == Direction::kBackward)
        stage = std::min(stage, stage_[At(producer.op)] - !here);
      if (producer.direction == Direction::kForward && here) stage = std::min(stage, stage_[At(producer.op)]);
    }
    if (item.direction == Direction::kBackward) stage_[At(item.op)] = stage;
  }
}

// When the stage would do it, were every stage's forward and backward part one unit of time and the transfers free.
std::int32_t PipelineOrder::Slot(const Item& item) const {
  const std::int32_t stage = stage_[At(item.op)], m = item.micro_batch;
  switch (item.direction) {
    case Direction::kForward:
      return kind_ == Kind::kGpipe || m < stages_ - stage ? stage + m : stage + 2 * m;
    case Direction::kBackward:
      if (kind_ == Kind::kGpipe) return stages_ - 1 + micro_batches_ + (stages_ - 1 - stage) + m;
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
  for (const Item& item : items_) {
    std::int32_t slot = Slot(item);
    for (; first < item.producers_end; ++first) slot = std::max(slot, slot_[At(producers_[At(first)].op)]);
    slot_[At(item.op)] = slot;
    last = std::max(last, slot);
  }
  begin_.assign(At(last) + 3, 0);
  for (const Item& item : items_) {
    if (item.direction == Direction::kLast) slot_[At(item.op)] = last + 1;
    ++begin_[At(slot_[At(item.op)]) + 1];
  }
  for (std::size_t slot = 1; slot < begin_.size(); ++slot) begin_[slot] += begin_[slot - 1];
}

std::span<const OpIndex> PipelineOrder::Of(std::span<const DeviceIndex> device) {
  FindStages(device);
  FindSlots();
  for (const Item& item : items_) order_[At(begin_[At(slot_[At(item.op)])]++)] = item.op;
  return order_;
}

}  // namespace berth::sim
