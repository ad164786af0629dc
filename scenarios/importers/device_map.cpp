#include "scenarios/importers/device_map.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "sim/analysis/modules.h"
#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/base/spec.h"
#include "sim/formats/document/json_reader.h"
#include "sim/formats/document/source.h"

namespace stowplan::scenarios {
namespace {

using formats::Value;
using formats::ValueKind;

// Letters of names that are compared with letters of modules: some seconds.
constexpr std::size_t kMostCompared = std::size_t{1} << 30;

class MapReader {
 public:
  MapReader(const sim::OpGraph& graph, const sim::Cluster& cluster)
      : graph_(graph),
        cluster_(cluster),
        tree_(sim::MakeModuleTree(graph)),
        device_of_(graph.ops.size(), -1) {
    for (std::size_t m = 0; m < tree_.modules.size(); ++m)
      modules_.emplace(tree_.modules[m].path, static_cast<std::int32_t>(m));
    for (sim::OpIndex op = 0; op < graph.size(); ++op) {
      const sim::Op& what = graph.ops[static_cast<std::size_t>(op)];
      if (what.IsVariable()) weights_.emplace(sim::ModulePath(what.name), op);
    }
    for (const auto& [path, m] : modules_) {
      if (path.empty()) continue;
      known_.push_back(path);
      known_letters_ += path.size();
    }
  }

  void Read(const formats::Document& document) {
    // Parents first, so that what is named more closely comes last and counts.
    std::map<std::string, sim::DeviceIndex> whole;
    for (const auto [name, value] : document.root().members()) {
      const std::string path = sim::ModulePath(std::string(name));
      const sim::DeviceIndex device = Device(value);
      if (modules_.contains(path)) {
        whole.emplace(path, device);
      } else if (const auto weight = weights_.find(path); weight != weights_.end()) {
        single_.emplace_back(weight->second, device);
      } else if (!IsPartWithoutOps(path, value)) {
        FailUnknown(std::string(name), value);
      }
    }
    for (const auto& [path, device] : whole) Fill(modules_.at(path), device);
    for (const auto& [op, device] : single_) device_of_[static_cast<std::size_t>(op)] = device;
  }

  sim::Placement Finish(const std::string& source) {
    sim::FollowData(graph_, device_of_);
    // What is connected to nothing in the map has no place of its own.
    const auto first = std::ranges::find_if(graph_.topological_order(), [&](sim::OpIndex op) {
      return device_of_[static_cast<std::size_t>(op)] >= 0;
    });
    if (first == graph_.topological_order().end())
      throw InputError(fmt::format("{}: names no module with ops of the graph \"{}\"", source, graph_.name));
    std::ranges::replace(device_of_, -1, device_of_[static_cast<std::size_t>(*first)]);
    return {.device = std::move(device_of_), .priority = {}, .order = {}};
  }

 private:
  void Fill(std::int32_t m, sim::DeviceIndex device) {
    const sim::ModuleTree::Module& module = tree_.modules[static_cast<std::size_t>(m)];
    for (const sim::OpIndex op : module.own) device_of_[static_cast<std::size_t>(op)] = device;
    for (const std::int32_t child : module.children) Fill(child, device);
  }

  // 1, "1", "cuda:1", "cpu", or a device's own name.
  sim::DeviceIndex Device(const Value& value) const {
    if (value.kind() == ValueKind::kInteger) return Gpu(value.Int(), value);
    const std::string text(value.Text());
    if (const sim::DeviceIndex named = cluster_.Find(text); named >= 0) return named;
    if (text == "cpu") {
      const auto cpu = std::find_if(
          cluster_.devices.begin(), cluster_.devices.end(),
          [](const sim::Device& device) { return device.device_class == sim::DeviceClass::kCpu; });
      if (cpu == cluster_.devices.end())
        value.Fail(fmt::format("is \"cpu\", but the cluster \"{}\" has no CPU", cluster_.name));
      return static_cast<sim::DeviceIndex>(cpu - cluster_.devices.begin());
    }
    if (text == "disk") value.Fail("is \"disk\", which no device of stowplan is; \"cpu\" comes closest");
    const std::size_t digits = text.starts_with("cuda:") ? 5 : 0;
    std::int64_t number = -1;
    const auto [end, error] = std::from_chars(text.data() + digits, text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size())
      value.Fail("must be the number of a GPU, \"cuda:1\", \"cpu\" or the name of a device");
    return Gpu(number, value);
  }

  sim::DeviceIndex Gpu(std::int64_t number, const Value& value) const {
    std::int64_t gpus = 0;
    for (std::size_t d = 0; d < cluster_.devices.size(); ++d) {
      if (cluster_.devices[d].device_class != sim::DeviceClass::kGpu) continue;
      if (gpus++ == number) return static_cast<sim::DeviceIndex>(d);
    }
    value.Fail(
        fmt::format("is GPU {}, but the cluster \"{}\" has {} of them, from 0", number, cluster_.name, gpus));
  }

  // Such as dropout in a model for inference: accelerate lists it, too.
  bool IsPartWithoutOps(const std::string& path, const Value& value) {
    const std::size_t dot = path.rfind('.');
    if (dot == std::string::npos || dot == 0 || !modules_.contains(path.substr(0, dot))) return false;
    compared_ += path.size() * known_letters_;
    if (compared_ > kMostCompared)
      value.Fail("is one of too many parts without ops to look for misspelt ones; leave such parts out");
    return NearestName(path, known_).empty();
  }

  [[noreturn]] void FailUnknown(const std::string& name, const Value& value) const {
    if (known_.empty()) {
      value.Fail(fmt::format("names a module, but the names of the graph \"{}\" spell none", graph_.name));
    }
    std::string examples;
    for (const std::int32_t child : tree_.modules.front().children) {
      if (examples.size() > 60) break;
      examples += (examples.empty() ? "" : ", ") + tree_.modules[static_cast<std::size_t>(child)].path;
    }
    value.Fail(fmt::format("names no module and no weight of the graph \"{}\"{}; its modules are {}, …",
                           graph_.name, DidYouMean(sim::ModulePath(name), known_), examples));
  }

  const sim::OpGraph& graph_;
  const sim::Cluster& cluster_;
  sim::ModuleTree tree_;
  std::vector<sim::DeviceIndex> device_of_;
  std::map<std::string, std::int32_t> modules_;
  std::vector<std::string> known_;  // paths of modules
  std::size_t known_letters_ = 0, compared_ = 0;
  std::map<std::string, sim::OpIndex> weights_;
  std::vector<std::pair<sim::OpIndex, sim::DeviceIndex>> single_;
};

}  // namespace

bool RecognisesDeviceMap(const std::string& content) {
  const auto first = content.find_first_not_of(" \t\r\n");
  return first != std::string::npos && content[first] == '{' && content.find(':') != std::string::npos &&
         content.find("\"format\"") == std::string::npos &&
         content.find_first_of("{[", first + 1) == std::string::npos;
}

sim::Placement ImportDeviceMap(const std::string& content, const std::string& source,
                               const sim::OpGraph& graph, const sim::Cluster& cluster) {
  const formats::Document document = formats::ParseJson(content, source);
  MapReader reader(graph, cluster);
  reader.Read(document);
  sim::Placement placement = reader.Finish(source);
  formats::CheckedAt(source, [&] { sim::CheckPlacement(graph, cluster, placement); });
  return placement;
}

}  // namespace stowplan::scenarios
