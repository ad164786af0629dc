// Counts samples, keeps the best, writes the curve. A sample is one evaluation of one complete placement,
// whoever asks and for whatever reason; nothing goes past it (docs/protocol_rules.md#samples).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agents/evaluation.h"
#include "agents/placements.h"
#include "agents/ranks.h"
#include "agents/task.h"
#include "sim/simulator.h"

namespace stowplan::agents {

// Modelled cost of a sample on the machine that is simulated (docs/protocol_rules.md#clocks): a set-up, counted
// apart, and so many steps, none longer than the cutoff. A placement that does not fit costs its set-up
// alone.
inline constexpr int kMachineSteps = 10;
inline constexpr double kMachineCutoffSeconds = 100;

struct CurvePoint {
  std::int64_t sample = 0;       // 1-based
  double wall_seconds = 0;       // since the budget opened
  sim::Picos best = 0;           // best feasible runtime so far
  double simulator_seconds = 0;  // the part of wall_seconds spent in the simulator
  double machine_seconds = 0;    // modelled, without set-ups, of all samples up to this one
};

class EvaluationLog;

class Evaluator {
 public:
  struct Options {
    std::int64_t budget = 1000;
    int threads = 1;  // for EvaluateBatch
    // Called after every sample or batch (progress); may be empty.
    std::function<void(const Evaluator&)> on_sample;
    // Asked to end early (Ctrl-C); may be null.
    const std::atomic<bool>* stop = nullptr;
    // Asked to end once it has been open so long, earlier runs of its log included; 0: it has as long as it takes.
    double seconds = 0;
    // Who shares the work of EvaluateBatch; null = nobody. Each rank has an evaluator of the same task, makes the same
    // calls and is told the same outcomes; a rank that is asked to stop stops all, at the next call.
    Ranks* ranks = nullptr;
    // Answers what it holds in place of the simulator, times included, and is told all further answers; may be null. Each
    // rank has the same.
    EvaluationLog* log = nullptr;
    // Keeps what is plainer than the best and takes longer by such a share at most; below 0 nothing.
    double within = -1;
  };
  Evaluator(const Task& task, const Options& options);
  ~Evaluator();

  // One sample each. A placement gives each unit a device of task.devices. Must not be called with
  // remaining() == 0 (aborts: an agent that does is wrong). A batch longer than remaining() is cut: the
  // result has as many entries as were evaluated. Not to be called from two threads. `cutoff`: give up once
  // the runtime is known to be larger, for search only; a sample like any other.
  Evaluation Evaluate(const UnitPlacement& placement, bool want_starts = false,
                      std::optional<sim::Picos> cutoff = std::nullopt);
  std::vector<Evaluation> EvaluateBatch(std::span<const UnitPlacement> placements, bool want_starts = false);

  // An agent stands for a placement (docs/protocol_rules.md#proposals): one per draw for one-shot agents, one
  // per episode for Placeto.
  void CountProposal() { ++proposals_; }

  // An agent looked at so many placements by screens, to choose what to sample: no samples, but told beside them. From any thread.
  void CountScreens(std::int64_t count) { screens_ += count; }
  std::int64_t screens() const { return screens_; }

  std::int64_t budget() const;
  std::int64_t samples() const;
  std::int64_t remaining() const { return budget() - samples(); }
  std::int64_t proposals() const { return proposals_; }
  std::int64_t distinct() const;  // different placements among the samples
  bool stop_requested() const;
  // Of several ranks this one, which the others hear of at the next call. For what may take long between two calls: where it is
  // given up, all ranks call StopAll().
  bool asked_to_stop() const;
  // Whether it was asked to by Options::seconds.
  bool out_of_time() const;
  void StopAll();

  // Whether a call threw: the simulator, the log or who is told failed, not the agent that asked.
  bool failed() const;
  // From another thread, before the process ends: what was counted stays as it is. Who counts more waits for ever.
  void Freeze();

  bool has_best() const;  // a feasible placement was seen
  const UnitPlacement& best() const;
  sim::Picos best_runtime() const;
  // Samples that fit and are within Options::within of the best, the plainest one first. An agent has no use for them.
  const PlainestPlacements& plainest() const;
  // All below are 0 where nothing feasible was seen.
  std::int64_t samples_to_best() const;  // first sample with the final best
  std::int64_t samples_to_within(
      double fraction) const;                    // first sample within (1 + fraction) of the final best
  const std::vector<CurvePoint>& curve() const;  // one point for each improvement
  double simulator_seconds() const;
  double wall_seconds() const;     // since the budget opened, earlier runs of a checkpoint included
  double machine_seconds() const;  // modelled, without set-ups

  // Everything counted so far as text, and back, for checkpoints. Only an evaluator that has spent nothing
  // may be restored (aborts). Throws InputError for another task.
  std::string SaveState() const;
  void RestoreState(const std::string& state);

  // Told each finished evaluation in sample order, for tests and logs of learners.
  std::function<void(std::int64_t sample, const UnitPlacement&, const Evaluation&)> observer;

 private:
  Evaluation Sampled(const UnitPlacement& placement, const std::function<Evaluation()>& simulate);

  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::int64_t proposals_ = 0;
  std::atomic<std::int64_t> screens_ = 0;
};

}  // namespace stowplan::agents
