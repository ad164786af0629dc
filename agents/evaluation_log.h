// What a search was told, kept in a file. A search is a function of its task, its seed and the answers to what it asks, so
// one that was killed goes on by being started again: as far as the file goes it is answered from there. This serves
// every agent, and none knows of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

#include "agents/evaluation.h"
#include "agents/task.h"

namespace stowplan::agents {

// One thread at a time.
class EvaluationLog {
 public:
  struct Entry {
    Evaluation evaluation;
    double wall_seconds = 0;       // since the budget opened, as the evaluator counts them
    double simulator_seconds = 0;  // the part of them spent in the simulator
  };

  // `agent`: canonical name. `path`: where answers are kept; empty = nowhere. `earlier`: what stands there and is to be
  // gone on from; empty = a new search, whose file replaces what is there. Throws InputError where `earlier` is no such
  // file or that of another search (agent, seed, graph, cluster, units, devices).
  EvaluationLog(const Task& task, const std::string& agent, std::uint64_t seed, std::string path,
                std::string earlier = {});
  ~EvaluationLog();
  EvaluationLog(const EvaluationLog&) = delete;
  EvaluationLog& operator=(const EvaluationLog&) = delete;

  // How many answers the file had.
  std::int64_t kept() const { return kept_; }
  // The next answer of the file; nothing behind its last whole one. Throws InputError where that was given for another
  // placement: by a search with another budget, or by another version of the agent; and where it is none to what
  // was asked.
  std::optional<Entry> Next(const UnitPlacement& placement, const sim::RunOptions& asked);
  // A new answer, behind all of the file. On the disk with the first answer that comes a second after the last write; a file is whole up to there whatever happens. Throws
  // RunError where it cannot be written.
  void Append(const UnitPlacement& placement, const Entry& entry);

 private:
  void Open(const std::string& header, std::size_t whole);
  void Flush();

  const Task& task_;
  const std::string path_;
  std::string earlier_;
  std::size_t at_ = 0;  // in earlier_
  std::int64_t kept_ = 0;
  std::int64_t answered_ = 0;
  std::ofstream file_;
  std::size_t bytes_ = 0;  // that it has
  std::chrono::steady_clock::time_point flushed_ = std::chrono::steady_clock::now();
};

}  // namespace stowplan::agents
