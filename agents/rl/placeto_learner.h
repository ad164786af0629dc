// Placeto's learning: episodes in parallel, one update of the weights after each batch of them (PAPERS 3,
// PROTOCOL 4.4).
//
// A run goes from batch to batch. The episodes of a batch that walk over the same task go in lockstep, so
// that the evaluator gets their placements together; a batch that is over is learned from by replaying all
// its states. Between any two samples the whole state of the run can be written to a checkpoint, and the run
// that starts from it takes exactly the steps that the uninterrupted one takes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agents/agent.h"
#include "agents/rl/checkpoint.h"
#include "agents/rl/learning_log.h"
#include "agents/rl/optimiser.h"
#include "agents/rl/placeto_network.h"
#include "agents/rl/placeto_state.h"

namespace berth::agents::rl {

// Weights with their sizes, as bytes of a checkpoint section. Read throws InputError (naming `path`) for
// other sizes.
std::string WriteWeights(const PlacetoNetwork& network);
void ReadWeights(const std::string& bytes, const std::string& path, PlacetoNetwork& network);

class PlacetoLearner {
 public:
  // All tasks must offer the same number of devices (InputError). Everything given must outlive the learner.
  PlacetoLearner(const PlacetoOptions& options, const std::vector<const Task*>& tasks,
                 const std::vector<Evaluator*>& evaluators, const SearchOptions& search);

  PlacetoNetwork& network() { return network_; }

  // Spends the budgets of all evaluators, or ends early where one of them is asked to stop. With search.learn
  // off: one greedy pass for each task and no update.
  void Run();

  // Told each update with the episodes that it learned from, before they are forgotten.
  std::function<void(const UpdateRecord&, const std::vector<PlacetoEpisode>&)> on_update;

 private:
  struct TaskState {
    TaskState(const Task& task, const PlacetoOptions& options);

    PlacetoView view;
    PlacetoGraph graph;
    StepBaseline baseline;
    std::vector<std::int32_t> start;  // slots that episodes start from
    std::int64_t episodes = 0;        // learned from
    std::int64_t greedy = 0;          // greedy passes that were due so far
  };
  // One slice of the states to learn from: the unit of work of a thread.
  struct Chunk {
    std::size_t task;
    std::vector<PlacetoView::State> states;
    std::vector<double> advantages;
  };
  struct ChunkResult {
    Tensors gradients;
    double loss = 0;
    double entropy = 0;
    double drift = 0;
  };

  bool PlanBatch();
  bool PlanGreedy();
  bool PlanSampled();
  void AddEpisode(std::size_t task, std::int64_t samples_left, bool greedy);
  std::int64_t GreedyDue(const TaskState& state) const;
  void RefreshStart(std::size_t task);

  void Advance();
  void Act(const TaskState& state, const std::vector<PlacetoEpisode*>& episodes);
  bool BatchDone() const;
  void FinishBatch();

  UpdateRecord Learn(double progress);
  std::vector<Chunk> MakeChunks();
  ChunkResult LearnChunk(const Chunk& chunk, double entropy_weight) const;

  double Progress() const;  // part of all budgets spent before the batch
  std::int64_t SamplesSpent() const;
  bool StopRequested() const;

  void SaveRun();
  void RestoreRun(const std::string& path);

  const PlacetoOptions options_;
  const SearchOptions search_;
  std::vector<Evaluator*> evaluators_;
  Rng start_rng_, action_rng_;
  PlacetoNetwork network_;
  Optimiser optimiser_;
  std::vector<std::unique_ptr<TaskState>> tasks_;
  std::vector<PlacetoEpisode> batch_;
  std::int64_t updates_ = 0;
  std::int64_t next_task_ = 0;  // round robin over the tasks
  CheckpointClock clock_;
  LearningLog log_{""};
};

}  // namespace berth::agents::rl
