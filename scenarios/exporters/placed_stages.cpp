#include "scenarios/exporters/placed_stages.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "sim/base/error.h"

namespace stowplan::scenarios {

PlacedStages::PlacedStages(const ExportInput& input, std::string exporter)
    : input_(input), exporter_(std::move(exporter)), modules_(input) {
  FindStages();
  CheckClass();
  CheckWeights();
  CheckBackward();
}

void PlacedStages::FindStages() {
  std::map<sim::DeviceIndex, std::size_t> stage_of;
  for (const sim::OpIndex op : input_.problem.graph().topological_order()) {
    if (!sim::ComputesForward(modules_.op(op))) continue;
    const sim::DeviceIndex device = modules_.device_of(op);
    forward_.push_back(op);
    if (!stages_.empty() && stages_.back().device == device) continue;
    if (!stage_of.emplace(device, stages_.size()).second) {
      throw InputError(
          fmt::format("{}: the placement is none: {} on {} comes after {} on {}, whose stage had begun; "
                      "`stowplan place --for {}` "
                      "finds one.",
                      exporter_, modules_.op(op).name, modules_.name(device),
                      modules_.op(forward_[forward_.size() - 2]).name, Device(stages_.back()), exporter_));
    }
    stages_.push_back({.device = device, .begin = forward_.size() - 1});
  }
  if (stages_.size() < 2) {
    throw InputError(fmt::format("{}: the forward pass runs {}, so there is nothing to split.", exporter_,
                                 stages_.empty() ? "nowhere" : "on " + Device(stages_[0]) + " alone"));
  }
}

// Stages send to one another by one library for their class of device.
void PlacedStages::CheckClass() const {
  const auto class_of = [&](const PlacedStage& stage) {
    return input_.problem.cluster().devices[static_cast<std::size_t>(stage.device)].device_class;
  };
  for (const PlacedStage& stage : stages_) {
    if (class_of(stage) != class_of(stages_.front())) {
      throw InputError(
          fmt::format("{}: there are stages on {} and on {}, but stages are on GPUs or on CPUs alone.",
                      exporter_, Device(stages_.front()), Device(stage)));
    }
  }
}

std::size_t PlacedStages::StageOf(sim::DeviceIndex device) const {
  return static_cast<std::size_t>(std::ranges::find(stages_, device, &PlacedStage::device) - stages_.begin());
}

// A stage holds the weights that it reads.
void PlacedStages::CheckWeights() {
  const sim::OpGraph& graph = input_.problem.graph();
  for (sim::OpIndex op = 0; op < graph.size(); ++op) {
    if (!modules_.op(op).IsVariable()) continue;
    std::set<std::size_t> readers;
    for (const sim::OpIndex reader : graph.consumers(op)) {
      if (sim::ComputesForward(modules_.op(reader))) readers.insert(StageOf(modules_.device_of(reader)));
    }
    if (readers.empty()) continue;
    if (readers.size() > 1) shared_.emplace_back(op, readers);
    if (readers.contains(StageOf(modules_.device_of(op)))) continue;
    throw InputError(
        fmt::format("{}: the weight {} is on {}, but the stage that reads it is on {}; a stage holds its own "
                    "weights.",
                    exporter_, modules_.op(op).name, modules_.name(modules_.device_of(op)),
                    Device(stages_[*readers.begin()])));
  }
}

// Autograd runs the backward pass of a stage on its device.
void PlacedStages::CheckBackward() const {
  const sim::OpGraph& graph = input_.problem.graph();
  for (sim::OpIndex op = 0; op < graph.size(); ++op) {
    if (IsForward(modules_.op(op))) continue;
    std::int32_t m = modules_.tree().module_of_op[static_cast<std::size_t>(op)];
    if (m == 0) continue;
    std::set<sim::DeviceIndex> devices;
    for (; m > 0 && devices.empty(); m = modules_.module(m).parent) {
      for (const sim::OpIndex other : modules_.module(m).own) {
        if (IsForward(modules_.op(other))) devices.insert(modules_.device_of(other));
      }
    }
    if (devices.empty() || devices.contains(modules_.device_of(op))) continue;
    throw InputError(fmt::format("{}: {} is on {}, but its module runs forward on {}; a stage does both.",
                                 exporter_, modules_.op(op).name, modules_.name(modules_.device_of(op)),
                                 modules_.name(*devices.begin())));
  }
}

}  // namespace stowplan::scenarios
