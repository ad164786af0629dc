#include "scenarios/importers/msr.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "sim/base/error.h"
#include "sim/formats/document/json_reader.h"
#include "sim/formats/document/source.h"

namespace stowplan::scenarios {
namespace {

using formats::Fields;
using formats::Value;
using formats::ValueKind;

constexpr double kMicrosPerMilli = 1000;
constexpr double kMaxMillis = sim::kMaxMicros / kMicrosPerMilli;
constexpr std::string_view kIdAttribute = "msr_id";

sim::Bytes RoundUp(Value value) {
  return static_cast<sim::Bytes>(std::ceil(value.Number(0, static_cast<double>(sim::kMaxBytes))));
}

// Written as true, false, 1 or 0.
bool Flag(Value value) {
  return value.kind() == ValueKind::kBool ? value.Bool() : value.Int(0, 1) == 1;
}

class Importer {
 public:
  explicit Importer(const formats::Document& document) : document_(document) {}

  sim::OpGraph Import() {
    static constexpr std::string_view kKeys[] = {"maxSizePerFPGA", "maxFPGAs", "maxCPUs", "nodes", "edges"};
    const Fields top(document_.root(), kKeys);
    // The importer is not told the name of the model; the file's is as good as any.
    const std::string& source = document_.source();
    const std::string file = source.substr(source.find_last_of('/') + 1);
    graph_.name = file.substr(0, file.find('.'));
    graph_.attributes = {{"max_accelerators", {top.Require("maxFPGAs").Int(0)}},
                         {"accelerator_bytes", {std::int64_t{RoundUp(top.Require("maxSizePerFPGA"))}}},
                         {"max_cpus", {top.Require("maxCPUs").Int(0)}}};
    for (const Value node : top.Require("nodes").items()) AddNode(node);
    for (const Value edge : top.Require("edges").items()) AddEdge(edge);
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) SettleMemory(graph_.ops[i], sizes_[i]);
    formats::CheckedAt(source, [&] { graph_.Finish(); });
    return std::move(graph_);
  }

 private:
  void AddNode(Value node) {
    static constexpr std::string_view kKeys[] = {"name",       "id",          "supportedOnFpga",
                                                 "cpuLatency", "fpgaLatency", "isBackwardNode",
                                                 "colorClass", "size",        "layerId"};
    const Fields fields(node, kKeys);
    const std::int64_t id = fields.Require("id").Int(0);
    if (!op_of_.emplace(id, static_cast<sim::OpIndex>(graph_.ops.size())).second) {
      fields.Require("id").Fail("repeats id " + std::to_string(id) + "; ids must be unique");
    }
    sim::Op op;
    // Their README calls names and layers "other debug information", which need not be there.
    const auto name = fields.Find("name");
    op.name = name ? name->Name() : "node" + std::to_string(id);
    if (sim::EndsLikeAnOutput(op.name) || !names_.insert(op.name).second) {
      op.name.append("#").append(std::to_string(id));
      names_.insert(op.name);
    }
    op.type = "Profiled";
    op.phase = Flag(fields.Require("isBackwardNode")) ? "backward" : "forward";
    op.attributes = {{std::string(kIdAttribute), {id}}};
    if (const auto layer = fields.Find("layerId"); layer && layer->kind() == ValueKind::kInteger)
      op.attributes.emplace_back("msr_layer", sim::Attribute{layer->Int()});
    op.cost_us_by_kind = {{"cpu", fields.Require("cpuLatency").Number(0, kMaxMillis) * kMicrosPerMilli}};
    const double accelerator = fields.Require("fpgaLatency").Number(0, kMaxMillis) * kMicrosPerMilli;
    if (Flag(fields.Require("supportedOnFpga"))) op.cost_us_by_kind.emplace_back("gpu", accelerator);
    if (const auto color = fields.Find("colorClass"); color && !color->IsNull()) {
      op.colocate.append("color").append(std::to_string(color->Int()));
    }
    sizes_.push_back(RoundUp(fields.Require("size")));
    graph_.ops.push_back(std::move(op));
  }

  sim::OpIndex Resolve(Value id) const {
    const auto found = op_of_.find(id.Int());
    if (found == op_of_.end()) id.Fail("is " + std::to_string(id.Int()) + ", but no node has that id");
    return found->second;
  }

  void AddEdge(Value edge) {
    static constexpr std::string_view kKeys[] = {"sourceId", "destId", "cost", "size"};
    const Fields fields(edge, kKeys);
    const sim::OpIndex from = Resolve(fields.Require("sourceId"));
    const sim::OpIndex to = Resolve(fields.Require("destId"));
    if (!pairs_.emplace(from, to).second) edge.Fail("repeats an edge; two nodes have one edge at most");
    if (fields.Has("cost")) fields.Require("cost").Number(0);
    const sim::Bytes bytes = RoundUp(fields.Require("size"));
    auto& outputs = graph_.ops[static_cast<std::size_t>(from)].outputs;
    const auto [output, fresh] =
        output_of_.emplace(std::pair(from, bytes), static_cast<std::int32_t>(outputs.size()));
    if (fresh) outputs.emplace_back().bytes = bytes;
    graph_.ops[static_cast<std::size_t>(to)].inputs.push_back({from, output->second});
  }

  static void SettleMemory(sim::Op& op, sim::Bytes size) {
    sim::Bytes largest = 0;
    for (const sim::Output& output : op.outputs) largest = std::max(largest, output.bytes);
    op.persistent_bytes = std::max<sim::Bytes>(0, size - largest);
  }

  const formats::Document& document_;
  sim::OpGraph graph_;
  std::vector<sim::Bytes> sizes_;  // by op
  std::unordered_map<std::int64_t, sim::OpIndex> op_of_;
  std::unordered_set<std::string> names_;
  std::set<std::pair<sim::OpIndex, sim::OpIndex>> pairs_;
  std::map<std::pair<sim::OpIndex, sim::Bytes>, std::int32_t>
      output_of_;  // edges of one size share an output
};

// A file that says which stowplan format it is, is none of theirs, whatever names stand in it.
bool Mentions(const std::string& content, std::string_view a, std::string_view b) {
  if (content.find("\"stowplan.") != std::string::npos) return false;
  const auto first =
      std::find_if(content.begin(), content.end(), [](unsigned char c) { return std::isspace(c) == 0; });
  return first != content.end() && *first == '{' && content.find(a) != std::string::npos &&
         content.find(b) != std::string::npos;
}

std::unordered_map<std::int64_t, sim::OpIndex> OpsById(const sim::OpGraph& graph, const std::string& source) {
  std::unordered_map<std::int64_t, sim::OpIndex> ops;
  for (sim::OpIndex i = 0; i < graph.size(); ++i) {
    // An id of an import is a whole number: another one would not fit into 64 bits.
    const sim::Attribute* const found =
        sim::FindAttribute(graph.ops[static_cast<std::size_t>(i)].attributes, std::string(kIdAttribute));
    const auto* const id = found != nullptr ? std::get_if<std::int64_t>(&found->value) : nullptr;
    if (id == nullptr) {
      throw InputError(source + ": this split names nodes by the ids of an imported msr graph, but op '" +
                       graph.ops[static_cast<std::size_t>(i)].name + "' of graph '" + graph.name +
                       "' has none");
    }
    ops.emplace(*id, i);
  }
  return ops;
}

std::vector<sim::DeviceIndex> DevicesOf(const sim::Cluster& cluster, sim::DeviceClass device_class) {
  std::vector<sim::DeviceIndex> devices;
  for (sim::DeviceIndex d = 0; d < cluster.size(); ++d) {
    if (cluster.devices[static_cast<std::size_t>(d)].device_class == device_class) devices.push_back(d);
  }
  return devices;
}

class Split {
 public:
  Split(const sim::OpGraph& graph, const std::string& source)
      : ops_(OpsById(graph, source)), device_(graph.ops.size(), -1) {}

  void Place(Value parts, const std::vector<sim::DeviceIndex>& devices, const std::string& what) {
    std::size_t next = 0;
    for (const Value part : parts.items()) {
      static constexpr std::string_view kKeys[] = {"load", "nodes"};
      const Value nodes = Fields(part, kKeys).Require("nodes");
      const std::size_t number = next++;
      if (nodes.size() == 0) continue;
      if (number >= devices.size()) {
        part.Fail("is for " + what + " number " + std::to_string(number + 1) + ", but the cluster has " +
                  std::to_string(devices.size()) + " of them");
      }
      for (const Value id : nodes.items()) PlaceNode(id, devices[number]);
    }
  }

  const std::vector<sim::DeviceIndex>& devices() const { return device_; }

 private:
  void PlaceNode(Value id, sim::DeviceIndex device) {
    const auto op = ops_.find(id.Int());
    if (op == ops_.end())
      id.Fail("is " + std::to_string(id.Int()) + ", but no node of the graph has that id");
    sim::DeviceIndex& place = device_[static_cast<std::size_t>(op->second)];
    if (place >= 0) id.Fail("is " + std::to_string(id.Int()) + ", which has a place already; a node has one");
    place = device;
  }

  std::unordered_map<std::int64_t, sim::OpIndex> ops_;
  std::vector<sim::DeviceIndex> device_;
};

}  // namespace

bool RecognisesMsrGraph(const std::string& content) {
  return Mentions(content, "\"fpgaLatency\"", "\"maxFPGAs\"");
}

sim::OpGraph ImportMsrGraph(const std::string& content, const std::string& source) {
  const formats::Document document = formats::ParseJson(content, source);
  return Importer(document).Import();
}

bool RecognisesMsrSplit(const std::string& content) {
  return Mentions(content, "\"fpgas\"", "\"cpus\"");
}

sim::Placement ImportMsrSplit(const std::string& content, const std::string& source,
                              const sim::OpGraph& graph, const sim::Cluster& cluster) {
  const formats::Document document = formats::ParseJson(content, source);
  static constexpr std::string_view kKeys[] = {"fpgas", "cpus", "maxLoad"};
  const Fields top(document.root(), kKeys);
  Split split(graph, source);
  split.Place(top.Require("fpgas"), DevicesOf(cluster, sim::DeviceClass::kGpu), "accelerator");
  split.Place(top.Require("cpus"), DevicesOf(cluster, sim::DeviceClass::kCpu), "CPU");
  const auto& devices = split.devices();
  if (const auto missing = std::find(devices.begin(), devices.end(), -1); missing != devices.end()) {
    const auto& op = graph.ops[static_cast<std::size_t>(missing - devices.begin())];
    throw InputError(source + ": node '" + op.name +
                     "' is in no part of the split; every node must be in one");
  }
  sim::Placement placement{.device = devices, .priority = {}, .order = {}};
  formats::CheckedAt(source, [&] { sim::CheckPlacement(graph, cluster, placement); });
  return placement;
}

}  // namespace stowplan::scenarios
