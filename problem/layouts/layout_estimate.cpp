#include "problem/layouts/layout_estimate.h"

#include <algorithm>

#include "agents/timing.h"

namespace stowplan::problem {
namespace {

using sim::Bytes;
using sim::CollectiveType;
using sim::Picos;

struct StageCosts {
  Picos turn = 0;      // of a micro-batch, both passes
  Picos backward = 0;  // of that
  Picos exchange = 0;  // of that, not hidden
  Picos update = 0;
  MemoryParts memory{};
  Bytes largest = 0;  // weights of a layer
  std::int64_t layers = 0;
};

class Estimate {
 public:
  Estimate(const scenarios::Layout& layout, const RankCosts& costs, const Mesh& mesh)
      : layout_(layout), costs_(costs), mesh_(mesh), stages_(static_cast<std::size_t>(layout.pipeline)) {
    const auto layers = static_cast<std::int64_t>(costs.layers.size());
    for (std::int64_t l = 0; l < layers; ++l)
      AddLayer(stages_[static_cast<std::size_t>(l * layout.pipeline / layers)],
               costs.layers[static_cast<std::size_t>(l)]);
    for (std::int64_t s = 0; s < layout.pipeline; ++s) Gather(s);
  }

  LayoutEstimate Run() const {
    LayoutEstimate made;
    Picos way = 0, slowest = 0, exchanged = 0, tail = 0, tail_exchange = 0;
    for (std::int64_t s = 0; s < layout_.pipeline; ++s) {
      const StageCosts& stage = stages_[static_cast<std::size_t>(s)];
      way += stage.turn;
      slowest = std::max(slowest, stage.turn);
      exchanged = std::max(exchanged, stage.exchange);
      const Picos exposed = Exposed(s);
      tail_exchange = std::max(tail_exchange, exposed);
      tail = std::max(tail, exposed + stage.update);
      AddMemory(s, made);
    }
    const Picos passes = Boundaries();
    made.time = way + passes + (layout_.micro_batches - 1) * slowest + tail;
    made.communication = layout_.micro_batches * exchanged + passes + tail_exchange;
    return made;
  }

 private:
  std::int64_t stride() const { return layout_.tensor * layout_.pipeline; }
  Picos Exchange(CollectiveType type, std::int64_t stage, Bytes bytes) const {
    return mesh_.TimeOf(type, bytes, stage * layout_.tensor, stride(), layout_.data);
  }

  static void AddLayer(StageCosts& stage, const LayerCosts& layer) {
    stage.turn += layer.forward + layer.backward + layer.exchange;
    stage.backward += layer.backward + layer.exchange / 2;
    stage.exchange += layer.exchange;
    stage.update += layer.update;
    stage.memory.weights += layer.memory.weights;
    stage.memory.optimizer += layer.memory.optimizer;
    stage.memory.gradients += layer.memory.gradients;
    stage.memory.activations += layer.memory.activations;
    stage.largest = std::max(stage.largest, layer.memory.weights);
    ++stage.layers;
  }

  // ZeRO 3 exchanges weights and gradients with each micro-batch.
  void Gather(std::int64_t s) {
    if (layout_.zero != 3 || layout_.data == 1) return;
    StageCosts& stage = stages_[static_cast<std::size_t>(s)];
    const Picos busy = stage.turn,
                passes = 2 * Exchange(CollectiveType::kAllGather, s, stage.memory.weights) +
                         Exchange(CollectiveType::kReduceScatter, s, stage.memory.gradients);
    const Picos first = Exchange(CollectiveType::kAllGather, s, stage.largest);  // which nothing hides
    stage.turn = std::max(busy, layout_.prefetch > 0 ? passes : busy + passes) + first;
    stage.exchange += stage.turn - busy;
  }

  Picos Exposed(std::int64_t s) const {
    if (layout_.data == 1 || layout_.zero == 3) return 0;
    const StageCosts& stage = stages_[static_cast<std::size_t>(s)];
    const Picos gradients =
        Exchange(layout_.zero == 1 ? CollectiveType::kReduceScatter : CollectiveType::kAllReduce, s,
                 stage.memory.gradients);
    const Picos hidden = stage.layers > 1 ? stage.backward / stage.layers * (stage.layers - 1) : 0;
    const Picos weights =
        layout_.zero == 1 ? Exchange(CollectiveType::kAllGather, s, stage.memory.weights) : 0;
    return std::max<Picos>(0, gradients - hidden) + weights;
  }

  Picos Boundaries() const {
    Picos passes = 0;
    for (std::int64_t s = 0; s + 1 < layout_.pipeline; ++s)
      passes += 2 * agents::LoneTransferTime(mesh_.cluster(), costs_.boundary, mesh_[s * layout_.tensor],
                                             mesh_[(s + 1) * layout_.tensor]);
    return passes;
  }

  void AddMemory(std::int64_t s, LayoutEstimate& made) const {
    const StageCosts& stage = stages_[static_cast<std::size_t>(s)];
    MemoryParts memory = stage.memory;
    const std::int64_t kept = layout_.schedule == "gpipe"
                                  ? layout_.micro_batches
                                  : std::min(layout_.micro_batches, layout_.pipeline - s);
    memory.activations *= kept;
    const std::int64_t divided = layout_.zero > 0 ? layout_.data : 1;
    memory.optimizer /= divided;
    if (layout_.zero == 3) {
      memory.weights = memory.weights / divided + (1 + layout_.prefetch) * stage.largest;
      memory.gradients = memory.gradients / divided + stage.largest;
    }
    const Bytes peak = memory.persistent() + memory.outputs() + costs_.working;
    if (peak <= made.peak) return;
    made.peak = peak;
    made.memory = memory;
    made.memory.activations += costs_.working;
    made.rank = s * layout_.tensor;
  }

  const scenarios::Layout& layout_;
  const RankCosts& costs_;
  const Mesh& mesh_;
  std::vector<StageCosts> stages_;
};

}  // namespace

LayoutEstimate EstimateLayout(const scenarios::Layout& layout, const RankCosts& costs, const Mesh& mesh) {
  return Estimate(layout, costs, mesh).Run();
}

}  // namespace stowplan::problem
