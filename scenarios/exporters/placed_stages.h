// A placement seen as a pipeline: what the exporters that speak of stages share. Refused, with the exporter's name, is whatever is no
// such pipeline: a device that comes twice, devices of two classes, one stage alone, a backward op or a weight that is not with
// its forward ops.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/exporters/placed_modules.h"

namespace stowplan::scenarios {

struct PlacedStage {
  sim::DeviceIndex device = 0;
  std::size_t begin = 0;  // in PlacedStages::forward()
};

class PlacedStages {
 public:
  // Throws InputError as said above. Not to outlive the input.
  PlacedStages(const ExportInput& input, std::string exporter);

  const PlacedModules& modules() const { return modules_; }
  // The work of the forward pass in program order; of a step over micro-batches that of the first one.
  const std::vector<sim::OpIndex>& forward() const { return forward_; }
  const std::vector<PlacedStage>& stages() const { return stages_; }
  const std::string& Device(const PlacedStage& stage) const { return modules_.name(stage.device); }
  // Weights that several stages read, with those stages.
  const std::vector<std::pair<sim::OpIndex, std::set<std::size_t>>>& shared() const { return shared_; }

 private:
  void FindStages();
  void CheckClass() const;
  void CheckWeights();
  void CheckBackward() const;
  std::size_t StageOf(sim::DeviceIndex device) const;

  const ExportInput& input_;
  std::string exporter_;
  PlacedModules modules_;
  std::vector<sim::OpIndex> forward_;
  std::vector<PlacedStage> stages_;
  std::vector<std::pair<sim::OpIndex, std::set<std::size_t>>> shared_;
};

}  // namespace stowplan::scenarios
