#include "cost_models/ops/host_costs.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cost_models/cost_models.h"
#include "cost_models/embedded_data.h"
#include "cost_models/ops/op_types.h"
#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/formats/document/yaml_reader.h"

namespace stowplan::cost_models {
namespace {

using formats::Fields;
using formats::Value;
using Mode = sim::Dispatch::Mode;

constexpr std::string_view kModes[] = {"eager", "graph", "flat", "traced"};
constexpr char kHostMicros[] = "host_us";
constexpr double kTickMicros = 0.01;  // what times of a trace are counted in, where they fit
constexpr std::string_view kPhases[] = {"forward", "backward", "update"};
constexpr std::string_view kOptimizers[] = {"adam-fused",
                                            "adam-single"};  // of stowplan.capture, beside the op types

bool IsKnown(std::string_view name) {
  return name == ToString(OpClass::kNothing) || OpClassNamed(name) || FindOpType(name) != nullptr ||
         std::ranges::find(kOptimizers, name) != std::end(kOptimizers);
}

void ReadRow(Value row, std::map<std::string, std::array<std::int32_t, 3>, std::less<>>& micros) {
  static constexpr std::string_view kKeys[] = {"of", "forward", "backward", "update", "source"};
  constexpr std::int32_t kMost = 1'000'000;
  const Fields fields(row, kKeys);
  fields.Require("source").Name();
  std::array<std::int32_t, 3> times;
  times.fill(static_cast<std::int32_t>(fields.Require("forward").Int(0, kMost)));
  for (std::size_t phase = 1; phase < times.size(); ++phase) {
    if (const auto value = fields.Find(kPhases[phase]))
      times[phase] = static_cast<std::int32_t>(value->Int(0, kMost));
  }
  for (const Value name : fields.Require("of").items()) {
    if (!IsKnown(name.Text())) name.Fail("is no op type, class or optimizer");
    if (!micros.emplace(name.Text(), times).second) name.Fail("has a row already");
  }
}

const HostTable& BuiltinHostTable() {
  static const HostTable table = ParseHostTable(EmbeddedHost(), "cost_models/data/host.yaml");
  return table;
}

std::size_t PhaseOf(const sim::Op& op) {
  const auto* const found = std::ranges::find(kPhases, op.phase);
  return found == std::end(kPhases) ? 0 : static_cast<std::size_t>(found - std::begin(kPhases));
}

bool IsMeasuredOnCpusAlone(const sim::Op& op, const sim::Cluster& cluster) {
  return !op.cost_us && !op.cost_us_by_kind.empty() &&
         std::ranges::all_of(op.cost_us_by_kind, [&](const auto& entry) {
           return entry.first == "cpu" ||
                  std::ranges::any_of(cluster.devices, [&](const sim::Device& device) {
                    return device.kind == entry.first && device.device_class == sim::DeviceClass::kCpu;
                  });
         });
}

bool HasHostTimes(const sim::OpGraph& graph) {
  return std::ranges::any_of(
      graph.ops, [](const sim::Op& op) { return sim::FindNumber(op.attributes, kHostMicros).has_value(); });
}

// What a trace recorded. An op without a time is issued within that of the next one that has one.
void ChargeTraced(sim::Dispatch& dispatch, sim::OpGraph& graph) {
  if (!HasHostTimes(graph))
    throw InputError(
        "host mode traced: no op of the graph has the attribute host_us, which traces have; eager, graph and "
        "flat need none.");
  const auto micros_of = [](const sim::Op& op) {
    return std::max(sim::FindNumber(op.attributes, kHostMicros).value_or(0), 0.0);
  };
  const double longest = micros_of(*std::ranges::max_element(graph.ops, {}, micros_of));
  constexpr double kLongestTick = 1e6;
  double tick = kTickMicros;
  while (longest / tick > double{INT32_MAX} && tick < kLongestTick) tick *= 10;
  dispatch.cost = sim::FromMicros(tick);
  for (sim::Op& op : graph.ops)
    op.host_units = static_cast<std::int32_t>(std::lround(std::min(micros_of(op) / tick, double{INT32_MAX})));
}

bool IsOfPyTorch(const sim::OpGraph& graph) {
  return std::ranges::any_of(
      graph.ops, [](const sim::Op& op) { return sim::FindAttribute(op.attributes, "torch_op") != nullptr; });
}

// How much longer this host takes than the table's: as its launches were measured against the catalogue's.
double SlownessOf(const sim::Cluster& cluster) {
  for (const sim::Device& device : cluster.devices) {
    const DeviceSheet* const sheet = BuiltinCatalogue().FindSheet(device.kind);
    if (device.device_class == sim::DeviceClass::kCpu || sheet == nullptr) continue;
    if (sheet->kind.launch_cost > 0 && device.launch_cost > 0)
      return static_cast<double>(device.launch_cost) / static_cast<double>(sheet->kind.launch_cost);
  }
  return 1;
}

}  // namespace

HostTable ParseHostTable(std::string_view yaml, const std::string& source) {
  const formats::Document document = formats::ParseYaml(yaml, source);
  formats::CheckFormat(document, "stowplan.host", 1);
  static constexpr std::string_view kTop[] = {"format", "version", "eager", "graph"};
  const Fields top(document.root(), kTop);
  HostTable table;
  for (std::size_t mode = 0; mode < table.micros.size(); ++mode) {
    const Value rows = top.Require(kModes[mode]);
    for (const Value row : rows.items()) ReadRow(row, table.micros[mode]);
    for (int c = 0; c <= kOpClasses; ++c) {
      const char* const op_class = ToString(static_cast<OpClass>(c));
      if (!table.micros[mode].contains(op_class))
        rows.Fail(fmt::format("says nothing of the class '{}'", op_class));
    }
  }
  return table;
}

void ChargeHost(sim::Cluster& cluster, sim::OpGraph& graph, const std::string& mode) {
  sim::Dispatch& dispatch = cluster.dispatch;
  if (!mode.empty()) {
    const auto* const found = std::ranges::find(kModes, mode);
    if (found == std::end(kModes)) {
      throw InputError(
          fmt::format("--host {}: there is no such mode{}; there are eager, graph, flat and traced.", mode,
                      DidYouMean(mode, {"eager", "graph", "flat", "traced"})));
    }
    dispatch.mode = static_cast<Mode>(found - std::begin(kModes));
    dispatch.automatic_mode = false;
  } else if (dispatch.automatic_mode && (IsOfPyTorch(graph) || HasHostTimes(graph))) {
    dispatch.mode = HasHostTimes(graph) ? Mode::kTraced : Mode::kEager;
    dispatch.automatic_mode = false;
  }
  if (dispatch.mode == Mode::kFlat) {
    for (sim::Op& op : graph.ops) op.host_units.reset();
    return;
  }
  dispatch.automatic = false;
  if (dispatch.mode == Mode::kTraced) return ChargeTraced(dispatch, graph);
  dispatch.cost = sim::FromMicros(SlownessOf(cluster));
  const auto& micros = BuiltinHostTable().micros[static_cast<std::size_t>(dispatch.mode)];
  const std::string optimizer(sim::FindString(graph.attributes, "optimizer").value_or(""));
  for (sim::Op& op : graph.ops) {
    const OpClass op_class = ClassOf(op);
    auto row = op_class == OpClass::kOptimizer ? micros.find(optimizer) : micros.end();
    if (row == micros.end()) row = micros.find(op.type);
    if (row == micros.end()) row = micros.find(ToString(op_class));
    const bool is_timed = dispatch.mode == Mode::kEager && IsMeasuredOnCpusAlone(op, cluster);
    const std::int64_t units = is_timed ? 0 : std::int64_t{op.framework_ops} * row->second[PhaseOf(op)];
    op.host_units = static_cast<std::int32_t>(std::min<std::int64_t>(units, INT32_MAX));
  }
}

}  // namespace stowplan::cost_models
