// Split points for torch.distributed.pipelining: each stage begins with a module, one stage for each device in the order of
// the forward pass. Refused is whatever is no such pipeline: a device that comes twice, a stage that begins within a
// module, a backward op or a weight that is not with its forward ops.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "scenarios/exporters/exporters.h"
#include "scenarios/exporters/placed_modules.h"
#include "sim/base/error.h"
#include "sim/formats/document/json_text.h"

namespace stowplan::scenarios {
namespace {

struct Stage {
  sim::DeviceIndex device = 0;
  sim::OpIndex first = 0;   // its first op of the forward pass
  std::string begins = {};  // the module that it begins with; empty = the model does
};

class StageSplitter {
 public:
  explicit StageSplitter(const ExportInput& input) : graph_(input.problem.graph()), modules_(input) {}

  Exported Run() {
    FindStages();
    for (std::size_t s = 1; s < stages_.size(); ++s) stages_[s].begins = BeginningOf(stages_[s]);
    CheckWeights();
    CheckBackward();
    return {.text = Print(), .notes = {}};
  }

 private:
  // Of a step over micro-batches the first one tells: the others are colocated with it.
  bool Computes(sim::OpIndex op) const {
    const sim::Op& what = modules_.op(op);
    return IsForward(what) && !what.IsSource() &&
           sim::FindNumber(what.attributes, "micro_batch").value_or(0) == 0;
  }
  const std::string& Device(const Stage& stage) const { return modules_.name(stage.device); }

  void FindStages() {
    std::map<sim::DeviceIndex, std::size_t> stage_of;
    std::int32_t position = 0;
    position_.assign(graph_.ops.size(), -1);
    for (const sim::OpIndex op : graph_.topological_order()) {
      if (!Computes(op)) continue;
      position_[static_cast<std::size_t>(op)] = position++;
      const sim::DeviceIndex device = modules_.device_of(op);
      if (!stages_.empty() && stages_.back().device == device) {
        last_ = op;
        continue;
      }
      const auto [known, fresh] = stage_of.emplace(device, stages_.size());
      if (!fresh) {
        throw InputError(fmt::format(
            "pipeline: the placement is none: {} on {} comes after {} on {}, whose stage had begun; place "
            "with --agent "
            "expert --grouper module, or give layers to the devices in their order.",
            modules_.op(op).name, modules_.name(device), modules_.op(last_).name, Device(stages_.back())));
      }
      stages_.push_back({.device = device, .first = op});
      last_ = op;
    }
    if (stages_.size() < 2) {
      throw InputError(fmt::format("pipeline: the forward pass runs {}, so there is nothing to split.",
                                   stages_.empty() ? "nowhere" : "on " + Device(stages_[0]) + " alone"));
    }
  }

  // The coarsest module whose first op this is.
  std::string BeginningOf(const Stage& stage) const {
    const sim::ModuleTree& tree = modules_.tree();
    std::int32_t m = tree.module_of_op[static_cast<std::size_t>(stage.first)];
    const std::string inside = modules_.module(m).path;
    std::string found;
    for (; m > 0 && First(m) == stage.first; m = modules_.module(m).parent) found = modules_.module(m).path;
    if (found.empty()) {
      throw InputError(
          fmt::format("pipeline: the stage of {} begins at {}, within {}; stages begin where a module does. "
                      "Search with --grouper "
                      "module, which keeps modules whole.",
                      Device(stage), modules_.op(stage.first).name, inside.empty() ? "no module" : inside));
    }
    return found;
  }

  // The first op of the forward pass in the module or below it; -1 = none.
  sim::OpIndex First(std::int32_t m) const {
    sim::OpIndex first = -1;
    const auto take = [&](sim::OpIndex op) {
      if (op < 0 || position_[static_cast<std::size_t>(op)] < 0) return;
      if (first < 0 || position_[static_cast<std::size_t>(op)] < position_[static_cast<std::size_t>(first)])
        first = op;
    };
    for (const sim::OpIndex op : modules_.module(m).own) take(op);
    for (const std::int32_t child : modules_.module(m).children) take(First(child));
    return first;
  }

  std::size_t StageOf(sim::DeviceIndex device) const {
    return static_cast<std::size_t>(std::find_if(stages_.begin(), stages_.end(),
                                                 [&](const Stage& stage) { return stage.device == device; }) -
                                    stages_.begin());
  }

  // A stage holds the weights that it reads.
  void CheckWeights() {
    for (sim::OpIndex op = 0; op < graph_.size(); ++op) {
      if (!modules_.op(op).IsVariable()) continue;
      std::set<std::size_t> readers;
      for (const sim::OpIndex reader : graph_.consumers(op)) {
        if (Computes(reader)) readers.insert(StageOf(modules_.device_of(reader)));
      }
      if (readers.empty()) continue;
      if (readers.size() > 1) shared_.emplace_back(op, readers);
      if (readers.contains(StageOf(modules_.device_of(op)))) continue;
      throw InputError(fmt::format(
          "pipeline: the weight {} is on {}, but the stage that reads it is on {}; a stage holds its own "
          "weights.",
          modules_.op(op).name, modules_.name(modules_.device_of(op)), Device(stages_[*readers.begin()])));
    }
  }

  // Autograd runs the backward pass of a stage on its device.
  void CheckBackward() const {
    for (sim::OpIndex op = 0; op < graph_.size(); ++op) {
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
      throw InputError(fmt::format(
          "pipeline: {} is on {}, but its module runs forward on {}; a stage does both.",
          modules_.op(op).name, modules_.name(modules_.device_of(op)), modules_.name(*devices.begin())));
    }
  }

  std::string Print() const {
    std::string text = "{\n  \"split_spec\": {";
    for (std::size_t s = 1; s < stages_.size(); ++s) {
      text += s == 1 ? "\n    " : ",\n    ";
      text += formats::JsonString(stages_[s].begins) + ": \"beginning\"";
    }
    text += "\n  },\n  \"stages\": [";
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      text += s == 0 ? "\n    " : ",\n    ";
      text += fmt::format("{{\"rank\": {}, \"device\": {}, \"modules\": [", s,
                          formats::JsonString(Device(stages_[s])));
      const char* separator = "";
      for (const std::int32_t m : modules_.Coarsest()) {
        if (modules_.device(m) != stages_[s].device) continue;
        text += separator + formats::JsonString(modules_.module(m).path);
        separator = ", ";
      }
      text += "]}";
    }
    text += "\n  ],\n  \"shared_weights\": {";
    const char* separator = "\n    ";
    for (const auto& [op, readers] : shared_) {
      text += fmt::format("{}{}: [{}]", separator, formats::JsonString(sim::ModulePath(modules_.op(op).name)),
                          fmt::join(readers, ", "));
      separator = ",\n    ";
    }
    return text + (shared_.empty() ? "}\n}\n" : "\n  }\n}\n");
  }

  const sim::OpGraph& graph_;
  PlacedModules modules_;
  std::vector<Stage> stages_;
  std::vector<std::int32_t> position_;  // by op, in the order of the forward pass; -1 = not of it
  sim::OpIndex last_ = 0;
  std::vector<std::pair<sim::OpIndex, std::set<std::size_t>>> shared_;
};

}  // namespace

Exported ExportPipeline(const ExportInput& input) {
  return StageSplitter(input).Run();
}

}  // namespace stowplan::scenarios
