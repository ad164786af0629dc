// Placeto's learning: episodes in parallel, one update of the weights after each batch of them
// (docs/protocol_rules.md#placeto).
//
// A run goes from batch to batch. The episodes of a batch go in lockstep, so that the evaluator gets those of
// a task together. A batch that is over is learned from by replaying all its states; episodes that the end of
// the budget cuts are not learned from.
//
// A step may leave the placement as it was, and a start may be the best sample so far. With `repeats` both are
// evaluated all the same, as published; without, what is known is not asked for again, and an episode that has
// then asked for nothing evaluates its last placement: each one spends at least one sample.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agents/rl/learner.h"
#include "agents/rl/nn/optimiser.h"
#include "agents/rl/placeto/placeto_network.h"
#include "agents/rl/placeto/placeto_state.h"

namespace stowplan::agents::rl {

class PlacetoLearner : public Learner {
 public:
  // All tasks must offer the same number of devices (InputError). Everything given must outlive the learner.
  PlacetoLearner(const PlacetoOptions& options, const std::vector<const Task*>& tasks,
                 const std::vector<Evaluator*>& evaluators, const SearchOptions& search);

  PlacetoNetwork& network() { return network_; }

  std::string WriteWeights() const override;
  void ReadWeights(const std::string& bytes, const std::string& origin) override;

  // In on_update: the episodes that were learned from.
  const std::vector<PlacetoEpisode>& batch() const { return batch_; }

 private:
  struct TaskState {
    TaskState(const Task& task, const PlacetoOptions& options);

    PlacetoView view;
    PlacetoGraph graph;
    StepBaseline baseline;
    double stay = 0;                                // added to the logit of the device on which a unit is
    PlacetoSample best;                             // of the feasible samples; no slots = none yet
    std::vector<std::vector<std::int32_t>> starts;  // by parallel episode
    std::int64_t episodes = 0;                      // learned from
    std::int64_t greedy = 0;                        // greedy passes that were due so far
  };
  // One slice of the states to learn from: the unit of work of a thread.
  struct Chunk {
    std::size_t task;
    std::vector<PlacetoView::State> states;
    std::vector<double> advantages;  // by decision
  };
  struct ChunkResult {
    Tensors gradients;
    double loss = 0;
    double entropy = 0;
    double drift = 0;
  };

  bool Step() override;
  void SaveState(StateWriter& out) const override;
  void LoadState(StateReader& in) override;

  bool PlanBatch();
  bool PlanGreedy();
  bool PlanSampled();
  void AddEpisode(std::size_t task, std::size_t worker, bool greedy);
  std::int64_t GreedyDue(const TaskState& state) const;
  std::vector<std::int32_t> StartOf(std::size_t task, std::size_t worker);

  void Advance();
  void Act(const TaskState& state, const std::vector<PlacetoEpisode*>& episodes);
  void DrawWithOffers(const TaskState& state, const std::vector<PlacetoEpisode*>& episodes,
                      const PlacetoNetwork::Preferences& read, std::span<const double> uniforms);
  void Draw(const std::vector<PlacetoEpisode*>& episodes, std::span<const UnitIndex> units,
            const at::Tensor& logits, std::span<const double> uniforms);
  void Sample(std::size_t task, const std::vector<PlacetoEpisode*>& episodes);
  bool IsKnown(const TaskState& state, PlacetoEpisode& episode) const;
  bool BatchDone() const;

  void Learn();
  using Episodes = std::vector<const PlacetoEpisode*>;
  Episodes EpisodesOf(std::size_t task) const;
  std::vector<double> ReturnsOf(const PlacetoEpisode& episode) const;
  std::vector<std::vector<double>> AdvantagesOf(TaskState& state, const Episodes& episodes) const;
  std::vector<Chunk> MakeChunks();
  void SteerMoves();
  ChunkResult LearnChunk(const Chunk& chunk, double entropy_weight) const;
  std::vector<ChunkResult> LearnChunks(const std::vector<Chunk>& chunks, double entropy_weight) const;

  const PlacetoOptions options_;
  Rng start_rng_, action_rng_;
  PlacetoNetwork network_;
  Optimiser optimiser_;
  std::vector<std::unique_ptr<TaskState>> states_;  // by task
  std::vector<PlacetoEpisode> batch_;
  double part_spent_ = 0;       // before the batch
  std::int64_t next_task_ = 0;  // round robin over the tasks
};

}  // namespace stowplan::agents::rl
