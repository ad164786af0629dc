// What the policy of Placeto sees, and what it is paid: episodes, the features of their states, the cost of a
// placement.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "agents/evaluator.h"
#include "agents/rl/byte_state.h"
#include "agents/rl/placeto_options.h"
#include "agents/task.h"
#include "agents/unit_graph.h"

namespace berth::agents::rl {

// One walk over the units, one step per unit and pass: step t decides on the device of order[t % N] anew. A
// device is written as its slot, its index in Task::devices. Everything a state depends on can be had from
// this record, so that learning replays the states that were acted on.
struct PlacetoEpisode {
  std::int32_t task = 0;
  bool greedy = false;
  std::int64_t length = 0;          // samples to spend, the start placement included
  bool complete = false;            // length is that of a whole episode: only such episodes are learned from
  std::vector<std::int32_t> start;  // slot by unit
  std::vector<std::int64_t> actions;      // slot by step
  std::vector<double> log_probabilities;  // of the actions, when they were drawn
  std::vector<double> costs;       // f of the placement before step t; one more than actions at the end
  std::vector<sim::Picos> starts;  // [sample * N + unit]: earliest start of the unit's ops; empty if unused

  std::int64_t samples() const { return static_cast<std::int64_t>(costs.size()); }
  bool done() const { return samples() >= length; }

  void Save(StateWriter& out) const;
  void Load(StateReader& in);
};

// A task as Placeto sees it. Immutable after construction; keeps a reference to the task.
class PlacetoView {
 public:
  PlacetoView(const Task& task, const PlacetoOptions& options);

  const Task& task() const { return task_; }
  const UnitGraph& graph() const { return graph_; }
  std::int64_t units() const { return graph_.size(); }
  std::int64_t devices() const { return static_cast<std::int64_t>(task_.devices.size()); }
  // cost, output bytes, visits, current, start time, [memory,] one-hot device: 5 + D or 6 + D.
  std::int64_t features() const { return (memory_ ? 6 : 5) + devices(); }
  std::int64_t steps() const { return units() * passes_; }
  bool wants_starts() const { return use_starts_; }

  UnitIndex UnitOfStep(std::int64_t step) const {
    return graph_.order()[static_cast<std::size_t>(step % units())];
  }
  // Slots before `step` (samples() - 1 actions at most have been taken).
  std::vector<std::int32_t> SlotsBefore(const PlacetoEpisode& episode, std::int64_t step) const;
  std::vector<std::int32_t> ToSlots(const UnitPlacement& placement) const;
  UnitPlacement ToPlacement(const std::vector<std::int32_t>& slots) const;

  // f(t, M) of docs/protocol.md#placeto; an infeasible placement has one too.
  double CostOf(const Evaluation& evaluation) const;
  // Notes one sample of the episode.
  void Record(const Evaluation& evaluation, PlacetoEpisode& episode) const;

  struct State {
    const PlacetoEpisode* episode;
    std::int64_t step;
  };
  // [N, states, features()], float.
  at::Tensor Features(std::span<const State> states) const;
  std::vector<UnitIndex> UnitsInTurn(std::span<const State> states) const;

 private:
  void WriteState(const State& state, float* first, std::int64_t stride) const;
  void WriteStarts(const State& state, float* first, std::int64_t stride) const;

  const Task& task_;
  UnitGraph graph_;
  PlacetoOptions::Scale scale_;
  bool use_starts_, memory_;
  std::int64_t passes_;
  std::vector<std::int64_t> position_;        // of a unit in the order
  std::vector<float> cost_, output_, bytes_;  // by unit, scaled
  double penalty_, limit_gb_, cap_s_, divisor_;
};

}  // namespace berth::agents::rl
