// The `device_map` of accelerate and transformers: modules, as coarse as the placement allows, to the number of a GPU or
// "cpu". What stands in no module of the map runs where its data is, and weights in none get a line of their own; whatever
// would not run so is refused, so that the map read back (importers/device_map.h) gives the same placement.
#include "scenarios/importers/device_map.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "scenarios/exporters/exporters.h"
#include "scenarios/exporters/placed_modules.h"
#include "sim/base/error.h"
#include "sim/base/spec.h"
#include "sim/formats/document/json_text.h"

namespace stowplan::scenarios {
namespace {

constexpr const char* kInstead = "`stowplan place --for device-map` keeps modules whole";

class Mapper {
 public:
  explicit Mapper(const ExportInput& input)
      : graph_(input.problem.graph()), cluster_(input.problem.cluster()), input_(input), modules_(input) {}

  Exported Run() {
    CheckCpus();
    for (const std::int32_t m : modules_.Coarsest())
      entries_.emplace_back(modules_.module(m).path, modules_.device(m));
    for (std::int32_t m = 0; m < static_cast<std::int32_t>(modules_.tree().modules.size()); ++m)
      AddOwnWeights(m);
    Exported exported = {.text = Print(), .notes = {}};
    CheckRunnable();
    CheckReadsBack(exported.text);
    NoteShared(exported.notes);
    NoteCpu(exported.notes);
    return exported;
  }

 private:
  std::string Device(sim::DeviceIndex device) const {
    const int number = GpuNumber(cluster_, device);
    return number < 0 ? "\"cpu\"" : std::to_string(number);
  }

  // PyTorch has one CPU.
  void CheckCpus() const {
    std::set<sim::DeviceIndex> cpus;
    for (const sim::DeviceIndex device : input_.placement.device) {
      if (GpuNumber(cluster_, device) < 0) cpus.insert(device);
    }
    if (cpus.size() > 1) {
      throw InputError(
          fmt::format("device-map: the placement uses {} and {}, but a device map has one \"cpu\"; search "
                      "with --devices of one.",
                      modules_.name(*cpus.begin()), modules_.name(*std::next(cpus.begin()))));
    }
  }

  // The weights that a module on several devices holds itself.
  void AddOwnWeights(std::int32_t m) {
    if (modules_.device(m) >= 0) return;
    for (const sim::OpIndex op : modules_.module(m).own) {
      if (modules_.op(op).IsVariable())
        entries_.emplace_back(sim::ModulePath(modules_.op(op).name), modules_.device_of(op));
    }
  }

  std::string Print() const {
    std::string text = "{";
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      text += i == 0 ? "\n  " : ",\n  ";
      formats::AppendJsonString(text, entries_[i].first);
      text += ": " + Device(entries_[i].second);
    }
    return text + "\n}\n";
  }

  // Modules that are not in the map get no hook that moves tensors, so that all that their own ops read is where they run.
  void CheckRunnable() const {
    for (std::int32_t m = 0; m < static_cast<std::int32_t>(modules_.tree().modules.size()); ++m) {
      if (modules_.device(m) >= 0) continue;
      for (const sim::OpIndex op : modules_.module(m).own) CheckOwn(m, op);
    }
  }

  void CheckOwn(std::int32_t m, sim::OpIndex op) const {
    if (!IsForward(modules_.op(op)) || modules_.op(op).IsSource()) return;
    for (const sim::TensorRef& input : modules_.op(op).inputs) {
      const sim::Op& producer = modules_.op(input.op);
      if (producer.IsSource() && !producer.IsVariable()) continue;  // the caller's
      const sim::DeviceIndex from = modules_.device_of(input.op);
      if (from == modules_.device_of(op)) continue;
      const std::string& path = modules_.module(m).path;
      throw InputError(
          fmt::format("device-map: {} is on several devices, and its own op {} on {} reads {} on {}, which "
                      "PyTorch would not copy; {}.",
                      path.empty() ? "the model" : "the module " + path, modules_.op(op).name,
                      modules_.name(modules_.device_of(op)), producer.name, modules_.name(from), kInstead));
    }
  }

  void CheckReadsBack(const std::string& text) const {
    const sim::Placement again = ImportDeviceMap(text, "device-map", graph_, cluster_);
    for (sim::OpIndex op = 0; op < graph_.size(); ++op) {
      const sim::DeviceIndex there = again.device[static_cast<std::size_t>(op)];
      if (there == modules_.device_of(op)) continue;
      throw InputError(fmt::format(
          "device-map: the op {} is on {}, but a map of modules leaves it on {}, where its module or its "
          "data is; {}.",
          modules_.op(op).name, modules_.name(modules_.device_of(op)), modules_.name(there), kInstead));
    }
  }

  // A weight that forward ops outside of its module read, too.
  void NoteShared(std::vector<std::string>& notes) const {
    for (sim::OpIndex op = 0; op < graph_.size(); ++op) {
      if (!modules_.op(op).IsVariable()) continue;
      const std::int32_t home = modules_.tree().module_of_op[static_cast<std::size_t>(op)];
      for (const sim::OpIndex reader : graph_.consumers(op)) {
        const std::int32_t at = modules_.tree().module_of_op[static_cast<std::size_t>(reader)];
        if (!IsForward(modules_.op(reader)) || at == home) continue;
        const sim::DeviceIndex here = modules_.device_of(op), there = modules_.device_of(reader);
        notes.push_back(fmt::format("the weight {} on {} is shared with {}{}", modules_.op(op).name,
                                    modules_.name(here), modules_.module(at).path,
                                    here == there
                                        ? ", which is there, too"
                                        : " on " + modules_.name(there) + ": it crosses at each step"));
        break;
      }
    }
  }

  void NoteCpu(std::vector<std::string>& notes) const {
    const bool gpus = std::any_of(entries_.begin(), entries_.end(),
                                  [&](const auto& entry) { return GpuNumber(cluster_, entry.second) >= 0; });
    const auto cpu = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const auto& entry) { return GpuNumber(cluster_, entry.second) < 0; });
    if (gpus && cpu != entries_.end()) {
      notes.push_back(
          fmt::format("{} and whatever else is on \"cpu\" is computed there in this placement; accelerate "
                      "keeps only the weights there and computes on the first GPU",
                      cpu->first));
    }
  }

  const sim::OpGraph& graph_;
  const sim::Cluster& cluster_;
  const ExportInput& input_;
  PlacedModules modules_;
  std::vector<std::pair<std::string, sim::DeviceIndex>> entries_;
};

}  // namespace

Exported ExportDeviceMap(const ExportInput& input) {
  return Mapper(input).Run();
}

}  // namespace stowplan::scenarios
