// Every sample of a search as CSV, and what the units of its placements are: for models of one's own, or to see what a
// search tried (docs/formats.md, "Samples").
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "agents/evaluator.h"
#include "agents/task.h"

namespace stowplan::cli {

// Written as the search goes on. Throws as formats::WriteFile() where the file cannot be written.
class SampleLog {
 public:
  // `resume`: the lines of an earlier call stay, but those of samples that are made again.
  SampleLog(std::string path, const agents::Task& task, bool resume);

  void Append(std::int64_t sample, const agents::UnitPlacement& placement,
              const agents::Evaluation& evaluation);

 private:
  void Begin(std::int64_t sample);
  void Write(const std::string& text);
  // By how much the peaks are above the capacities: the sum over the devices, in capacities.
  double Excess(const agents::Evaluation& evaluation) const;

  const std::string path_;
  const agents::Task& task_;
  const bool resume_;
  std::ofstream file_;
};

// stowplan.units: names of the devices, of the ops of each unit, bytes between units.
std::string PrintUnits(const agents::Task& task);

}  // namespace stowplan::cli
