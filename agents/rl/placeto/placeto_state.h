// What the policy of Placeto sees, and what it is paid: episodes, the features of their states, the cost of a
// placement.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "agents/classical/unit_graph.h"
#include "agents/classical/unit_schedule.h"
#include "agents/evaluator.h"
#include "agents/rl/nn/byte_state.h"
#include "agents/rl/placeto/placeto_options.h"
#include "agents/task.h"

namespace stowplan::agents::rl {

// A placement that was evaluated, as far as Placeto's states depend on it.
struct PlacetoSample {
  std::vector<std::int32_t> slots;
  double cost = 0;
  std::vector<sim::Picos> starts;  // earliest start of each unit's ops; empty if unused

  void Save(StateWriter& out) const;
  void Load(StateReader& in);
};

// One walk over the units: step by step the next `every` of the order are given their devices anew. A device
// is written as its slot, its index in Task::devices. Everything a state depends on can be had from this
// record, so that learning replays the states that were acted on.
struct PlacetoEpisode {
  std::int32_t task = 0;
  bool greedy = false;
  bool cut = false;                       // the budget ended inside it
  std::int64_t length = 0;                // steps
  std::int64_t steps = 0;                 // taken
  std::int64_t spent = 0;                 // samples
  double expected_moves = 0;              // of units to another device, by the policy's probabilities
  std::vector<std::int32_t> start;        // slot by unit
  std::vector<std::int32_t> slots;        // where the units are now
  std::vector<std::uint8_t> moved;        // by step: did a unit get another device?
  std::vector<std::int64_t> actions;      // slot by decision
  std::vector<double> log_probabilities;  // of the actions, when they were drawn
  std::vector<float> offers;              // [decision, device, kOfferNumbers] that they met; empty if unused
  std::vector<double> costs;              // by state: f of the placement before step t, and of the last one
  std::vector<std::int32_t> known;        // by state: which row of `starts` is its placement's
  std::vector<sim::Picos> starts;         // [row * N + unit]; empty if unused

  bool done() const { return cut || (!costs.empty() && steps == length); }
  // The state that the last step led to: a placement whose outcome is known, or the one before it once more.
  void Append(const PlacetoSample& sample);
  void Repeat();

  void Save(StateWriter& out) const;
  void Load(StateReader& in);
};

// Of a device: less how late the unit would end there (offers.h), and whether its heaviest input is there.
inline constexpr std::int64_t kOfferNumbers = 2;

// A task as Placeto sees it. Immutable after construction; keeps a reference to the task.
class PlacetoView {
 public:
  PlacetoView(const Task& task, const PlacetoOptions& options);

  const Task& task() const { return task_; }
  const UnitGraph& graph() const { return graph_; }
  std::int64_t units() const { return graph_.size(); }
  std::int64_t devices() const { return static_cast<std::int64_t>(task_.devices.size()); }
  // cost, output bytes, visits, in turn, start time, [memory,] one-hot device: 5 + D or 6 + D.
  std::int64_t features() const { return (memory_ ? 6 : 5) + devices(); }
  std::int64_t steps_of_a_pass() const { return (units() + every_ - 1) / every_; }
  std::int64_t steps() const { return steps_of_a_pass() * passes_; }
  bool wants_starts() const { return use_starts_; }
  bool offers() const { return schedule_.has_value(); }

  // The units in turn at `step`, and the index of its first decision in an episode.
  std::span<const UnitIndex> UnitsOfStep(std::int64_t step) const;
  std::size_t FirstDecision(std::int64_t step) const;
  // Slots before `step`.
  std::vector<std::int32_t> SlotsBefore(const PlacetoEpisode& episode, std::int64_t step) const;
  std::vector<std::int32_t> ToSlots(const UnitPlacement& placement) const;
  UnitPlacement ToPlacement(const std::vector<std::int32_t>& slots) const;

  // A list schedule of the units before those in turn at `step`, where they are.
  UnitSchedule ScheduleBefore(const std::vector<std::int32_t>& slots, std::int64_t step) const;
  // By device kOfferNumbers numbers.
  std::vector<float> OfferNumbers(UnitIndex unit, const std::vector<UnitSchedule::Offer>& offers) const;

  // f(t, M) of docs/protocol_rules.md#placeto; an infeasible placement has one too.
  double CostOf(const Evaluation& evaluation) const;
  PlacetoSample SampleOf(const std::vector<std::int32_t>& slots, const Evaluation& evaluation) const;

  // Whether what was read is of this task: all sizes and indices.
  bool Holds(const PlacetoSample& sample) const;
  bool Holds(const PlacetoEpisode& episode) const;

  struct State {
    const PlacetoEpisode* episode;
    std::int64_t step;
  };
  // [N, states, features()], float. The steps of the states have equally many units in turn.
  at::Tensor Features(std::span<const State> states) const;
  std::vector<UnitIndex> UnitsInTurn(std::span<const State> states) const;

 private:
  void WriteState(const State& state, float* first, std::int64_t stride) const;
  void WriteStarts(const State& state, float* first, std::int64_t stride) const;
  bool AreSlots(const std::vector<std::int32_t>& slots) const;

  const Task& task_;
  UnitGraph graph_;
  std::optional<UnitScheduleGraph> schedule_;
  PlacetoOptions::Scale scale_;
  bool use_starts_, memory_;
  std::int64_t passes_, every_;
  std::vector<std::int64_t> position_;        // of a unit in the order
  std::vector<float> cost_, output_, bytes_;  // by unit, scaled
  double penalty_, limit_gb_, cap_s_, divisor_;
};

}  // namespace stowplan::agents::rl
