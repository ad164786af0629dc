// What tests of learners watch: every sample of a run, its files, the optimum.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "agents/agent.h"
#include "tests/temp_folder.h"

namespace stowplan::agents::rl {

// Every sample of a run in order.
struct Samples {
  std::vector<UnitPlacement> placements;
  std::vector<sim::Picos> runtimes;
  std::int64_t counted = 0;
  std::int64_t proposals = 0;
  friend bool operator==(const Samples&, const Samples&) = default;
};

inline void Observe(Evaluator& evaluator, Samples& samples) {
  evaluator.observer = [&samples](std::int64_t, const UnitPlacement& placement,
                                  const Evaluation& evaluation) {
    samples.placements.push_back(placement);
    samples.runtimes.push_back(evaluation.runtime);
  };
}

inline Samples SearchOnce(Agent& agent, const Task& task, std::int64_t budget,
                          const SearchOptions& options = {}, int evaluator_threads = 1) {
  Samples samples;
  Evaluator evaluator(task, {.budget = budget, .threads = evaluator_threads});
  Observe(evaluator, samples);
  agent.Search(task, evaluator, options);
  samples.counted = evaluator.samples();
  samples.proposals = evaluator.proposals();
  return samples;
}

inline std::string InTemp(const std::string& name) {
  static const tests::TempFolder folder;
  const std::string path = folder / name;
  std::filesystem::remove(path);
  std::filesystem::remove(path + ".log.csv");
  return path;
}

inline std::string Slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline sim::Picos BruteForceOptimum(const Task& task) {
  const auto units = static_cast<std::size_t>(task.units.size());
  const std::int64_t count = std::int64_t{1} << units;
  Evaluator evaluator(task, {.budget = count});
  for (std::int64_t code = 0; code < count; ++code) {
    UnitPlacement placement;
    for (std::size_t u = 0; u < units; ++u) placement.push_back(task.devices[(code >> u) & 1]);
    evaluator.Evaluate(placement);
  }
  return evaluator.best_runtime();
}

}  // namespace stowplan::agents::rl
