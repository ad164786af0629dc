// Arguments for llama.cpp, which places weights and computes where they are: --tensor-split where whole layers stand in the
// order of the GPUs, else --override-tensor (-ot), the first pattern that matches a tensor's name counts. Layers are the
// numbered modules ("layers.3", "layer3"); within one, attention, feed-forward and experts can be told apart.
#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "scenarios/exporters/exporters.h"
#include "scenarios/exporters/placed_modules.h"
#include "sim/analysis/layers.h"
#include "sim/base/error.h"

namespace stowplan::scenarios {
namespace {

using sim::LayerName;
using sim::LayerOf;

// As the tensors of a part are called there; earlier ones are looked for first.
constexpr std::array kTensorsOfParts = {"ffn_.*_exps", "ffn_", "attn_"};
static_assert(static_cast<std::size_t>(sim::LayerPart::kOther) == kTensorsOfParts.size());

std::size_t PartOf(const std::string& path) {
  return static_cast<std::size_t>(sim::PartOf(path));
}

class LayerSplitter {
 public:
  explicit LayerSplitter(const ExportInput& input)
      : graph_(input.problem.graph()), cluster_(input.problem.cluster()), modules_(input) {}

  Exported Run() {
    for (sim::OpIndex op = 0; op < graph_.size(); ++op) {
      // What nothing reads (buffers that are kept beside others) says nothing of where work is done.
      if (modules_.op(op).IsVariable() && !graph_.consumers(op).empty()) AddWeight(op);
    }
    if (layers_.empty())
      throw InputError("llama.cpp: the names of the weights spell no numbered layers (layers.3, layer3).");
    AddOthers();
    return {.text = Arguments(), .notes = std::move(notes_)};
  }

 private:
  struct Layer {
    std::map<std::size_t, sim::DeviceIndex> parts;  // by part
    std::optional<sim::DeviceIndex> device;         // of all; none = the parts differ
    bool whole = true;
  };

  void AddWeight(sim::OpIndex op) {
    const std::string& name = modules_.op(op).name;
    const sim::DeviceIndex device = modules_.device_of(op);
    for (const sim::OpIndex reader : graph_.consumers(op)) {
      if (modules_.device_of(reader) == device || modules_.op(reader).IsSource()) continue;
      if (!LayerOf(modules_.module(Home(op)).path))
        continue;  // a table that the head shares is copied there, too
      throw InputError(fmt::format(
          "llama.cpp: the weight {} is on {} and its reader {} on {}, but llama.cpp computes where the "
          "weight is, as with `stowplan place --for llama.cpp`.",
          name, modules_.name(device), modules_.op(reader).name, modules_.name(modules_.device_of(reader))));
    }
    const std::optional<LayerName> layer = LayerOf(modules_.module(Home(op)).path);
    if (!layer) return others_.push_back(op);
    if (layers_.empty()) stack_ = layer->stack;
    if (layer->stack != stack_) {
      throw InputError(
          fmt::format("llama.cpp: there are layers {}{} and {}{}, but its models have one stack of them.",
                      stack_, layers_.begin()->first, layer->stack, layer->number));
    }
    of_layers_.push_back(op);
    Layer& at = layers_[layer->number];
    if (!at.device) at.device = device;
    at.whole = at.whole && at.device == device;
    if (name.find("norm") != std::string::npos) return;  // with whatever it is beside
    const auto [known, fresh] = at.parts.emplace(PartOf(modules_.module(Home(op)).path), device);
    if (!fresh && known->second != device) {
      throw InputError(
          fmt::format("llama.cpp: {} is on {}, but other weights of the same part of its layer on {}; whole "
                      "layers, attention, feed-forward and experts can be placed.",
                      name, modules_.name(device), modules_.name(known->second)));
    }
  }

  // What is read before the layers is the table of the vocabulary, which llama.cpp keeps on the CPU; behind them the head.
  void AddOthers() {
    std::vector<std::size_t> position(static_cast<std::size_t>(graph_.size()));
    const auto& order = graph_.topological_order();
    for (std::size_t i = 0; i < order.size(); ++i) position[static_cast<std::size_t>(order[i])] = i;
    const auto first_read = [&](sim::OpIndex op) {
      std::size_t first = order.size();
      for (const sim::OpIndex reader : graph_.consumers(op))
        first = std::min(first, position[static_cast<std::size_t>(reader)]);
      return first;
    };
    std::size_t first = order.size();
    for (const sim::OpIndex op : of_layers_) first = std::min(first, first_read(op));
    for (const sim::OpIndex op : others_) {
      const sim::DeviceIndex device = modules_.device_of(op);
      if (first_read(op) > first) {
        head_ = device;
      } else if (GpuNumber(cluster_, device) >= 0) {
        notes_.push_back(
            fmt::format("llama.cpp keeps the table of tokens ({}) on the CPU, whatever the placement says",
                        modules_.op(op).name));
      }
    }
  }

  std::int32_t Home(sim::OpIndex op) const {
    return modules_.tree().module_of_op[static_cast<std::size_t>(op)];
  }

  std::string Buffer(sim::DeviceIndex device) const {
    const int number = GpuNumber(cluster_, device);
    return number < 0 ? "CPU" : fmt::format("CUDA{}", number);
  }

  std::string Arguments() const {
    if (const std::string split = TensorSplit(); !split.empty())
      return "--n-gpu-layers 999 --split-mode layer --tensor-split " + split + "\n";
    return "--n-gpu-layers 999 --override-tensor '" + Overrides() + "'\n";
  }

  // How many layers each GPU takes, the head counting as one; empty = not in the order of the GPUs.
  std::string TensorSplit() const {
    std::vector<int> counts;
    const auto take = [&](sim::DeviceIndex device) {
      const int gpu = GpuNumber(cluster_, device);
      if (gpu < 0 || gpu + 1 < static_cast<int>(counts.size())) return false;
      counts.resize(static_cast<std::size_t>(gpu) + 1, 0);
      ++counts.back();
      return true;
    };
    for (const auto& [number, layer] : layers_) {
      if (!layer.whole || !take(*layer.device)) return "";
    }
    return take(head_.value_or(*layers_.rbegin()->second.device)) ? fmt::format("{}", fmt::join(counts, ","))
                                                                  : "";
  }

  std::string Overrides() const {
    // (part, device) to layers; parts in the order of kTensorsOfParts, then whole layers.
    std::map<std::pair<std::size_t, sim::DeviceIndex>, std::vector<int>> rules;
    for (const auto& [number, layer] : layers_) {
      if (layer.whole) {
        rules[{kTensorsOfParts.size(), *layer.device}].push_back(number);
        continue;
      }
      for (const auto& [part, device] : layer.parts) rules[{part, device}].push_back(number);
    }
    std::string text;
    for (const auto& [rule, numbers] : rules) {
      text += fmt::format("{}blk\\.({})\\.{}={}", text.empty() ? "" : ",", fmt::join(numbers, "|"),
                          rule.first < kTensorsOfParts.size() ? kTensorsOfParts[rule.first] : "",
                          Buffer(rule.second));
    }
    if (head_) text += fmt::format(",output.*={}", Buffer(*head_));
    return text;
  }

  const sim::OpGraph& graph_;
  const sim::Cluster& cluster_;
  PlacedModules modules_;
  std::string stack_;
  std::map<int, Layer> layers_;
  std::vector<sim::OpIndex> of_layers_, others_;  // weights
  std::optional<sim::DeviceIndex> head_;
  std::vector<std::string> notes_;
};

}  // namespace

Exported ExportLlamaCpp(const ExportInput& input) {
  RefuseTraining(input, "llama.cpp");
  return LayerSplitter(input).Run();
}

}  // namespace stowplan::scenarios
