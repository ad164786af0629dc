#include <array>

#include <fmt/format.h>

#include "profiler/statistics.h"
#include "profiler/step_recording.h"
#include "sim/base/error.h"
#include "sim/formats/document/json_reader.h"
#include "sim/formats/document/json_text.h"
#include "sim/formats/formats.h"

namespace stowplan::profiler {
namespace {

using formats::Fields;
using formats::Value;

constexpr std::string_view kFormat = "stowplan.validation";
constexpr std::int64_t kVersion = 2;
constexpr double kMost = 1e15;
constexpr std::int64_t kMostNanos = 1'000'000'000'000'000;

// One character a device, in op order: 36 devices are enough for one machine.
constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";

constexpr std::string_view kOutOfMemoryKeys[] = {"device",         "op",       "what", "needed_bytes",
                                                 "capacity_bytes", "exhausted"};
constexpr std::string_view kWhat[] = {"persistent", "output", "copy"};

std::string DeviceText(const sim::Placement& placement) {
  std::string text;
  for (const sim::DeviceIndex device : placement.device) text += kDigits.at(static_cast<std::size_t>(device));
  return text;
}

std::vector<sim::DeviceIndex> ReadDevices(Value value, const sim::OpGraph& graph,
                                          const sim::Cluster& cluster) {
  std::vector<sim::DeviceIndex> devices;
  for (const char c : value.Text()) {
    const auto digit = kDigits.find(c);
    if (digit == std::string_view::npos || digit >= cluster.devices.size())
      value.Fail("must have one digit for each op, below the number of devices");
    devices.push_back(static_cast<sim::DeviceIndex>(digit));
  }
  if (devices.size() != graph.ops.size())
    value.Fail(fmt::format("must have {} digits, one for each op of the workload", graph.ops.size()));
  return devices;
}

sim::OutOfMemory ReadOutOfMemory(Value value, const sim::OpGraph& graph, const sim::Cluster& cluster) {
  const Fields fields(value, kOutOfMemoryKeys);
  return {.device = static_cast<sim::DeviceIndex>(fields.Require("device").Int(0, cluster.size() - 1)),
          .op = static_cast<sim::OpIndex>(fields.Require("op").Int(0, graph.size() - 1)),
          .what = static_cast<sim::OutOfMemory::What>(fields.Require("what").Choice(kWhat)),
          .needed = fields.Require("needed_bytes").Int(0, sim::kMaxBytes),
          .capacity = fields.Require("capacity_bytes").Int(0, sim::kMaxBytes)};
}

std::vector<sim::Bytes> ReadPeaks(Value value, const sim::Cluster& cluster) {
  std::vector<sim::Bytes> peaks;
  for (const Value peak : value.items()) peaks.push_back(peak.Int(0, sim::kMaxBytes));
  if (peaks.size() != cluster.devices.size()) value.Fail("must have one number for each device");
  return peaks;
}

MeasuredPlacement ReadPlacement(Value value, std::int64_t version, const sim::OpGraph& graph,
                                const sim::Cluster& cluster) {
  static constexpr std::string_view kKeys[] = {
      "family", "device",     "priority",         "order",           "steps_us", "undisturbed",
      "run",    "peak_bytes", "least_peak_bytes", "most_peak_bytes", "oom"};
  const Fields fields(value, kKeys);
  MeasuredPlacement made;
  made.family = fields.Require("family").Name();
  made.placement.device = ReadDevices(fields.Require("device"), graph, cluster);
  if (const auto priority = fields.Find("priority")) {
    for (const Value number : priority->items()) made.placement.priority.push_back(number.Number());
    if (made.placement.priority.size() != graph.ops.size())
      priority->Fail(fmt::format("must have {} numbers, one for each op of the workload", graph.ops.size()));
  }
  if (const auto order = fields.Find("order")) {
    for (const Value op : order->items())
      made.placement.order.push_back(static_cast<sim::OpIndex>(op.Int(0, graph.size() - 1)));
  }
  sim::CheckPlacement(graph, cluster, made.placement);
  for (const Value step : fields.Require("steps_us").items()) made.steps_us.push_back(step.Number(0, kMost));
  if (const auto oom = fields.Find("oom")) {
    made.oom = ReadOutOfMemory(*oom, graph, cluster);
    made.exhausted = Fields(*oom, kOutOfMemoryKeys).Bool("exhausted", false);
    if (!made.steps_us.empty()) fields.Require("steps_us").Fail("must be empty where there is an \"oom\"");
  } else if (made.steps_us.empty()) {
    fields.Require("steps_us").Fail("must have at least one step");
  }
  made.undisturbed = static_cast<int>(fields.Int("undisturbed", 0, 0, 1'000'000));
  made.run = static_cast<int>(fields.Int("run", 0, 0, 1'000'000));
  made.peak_bytes = ReadPeaks(fields.Require("peak_bytes"), cluster);
  const auto peaks = [&](const char* key) {
    const bool left_out = version < kVersion && !fields.Find(key);
    return left_out ? made.peak_bytes : ReadPeaks(fields.Require(key), cluster);
  };
  made.least_peak_bytes = peaks("least_peak_bytes");
  made.most_peak_bytes = peaks("most_peak_bytes");
  for (std::size_t d = 0; d < made.peak_bytes.size(); ++d) {
    if (made.least_peak_bytes[d] > made.peak_bytes[d] || made.peak_bytes[d] > made.most_peak_bytes[d])
      fields.Require("peak_bytes").Fail("must lie between least_peak_bytes and most_peak_bytes");
  }
  return made;
}

// From `least` to `most` of them; what is not there is 0.
std::array<std::int64_t, 6> Numbers(Value value, std::size_t least, std::size_t most, std::int64_t ops) {
  std::array<std::int64_t, 6> numbers{};
  if (value.size() < least || value.size() > most)
    value.Fail(least == most ? fmt::format("must have {} numbers", least)
                             : fmt::format("must have {} or {} numbers", least, most));
  std::size_t i = 0;
  for (const Value number : value.items()) numbers.at(i++) = number.Int(-1, kMostNanos);
  if (numbers[0] < 0 || numbers[0] >= ops) value.Fail("must begin with the number of an op");
  return numbers;
}

sim::DeviceIndex DeviceOf(Value value, std::int64_t number, const sim::Cluster& cluster) {
  if (number < 0 || number >= cluster.size()) value.Fail("must name devices of the cluster");
  return static_cast<sim::DeviceIndex>(number);
}

void CheckSpan(Value value, std::int64_t start, std::int64_t end) {
  if (start < 0 || end < start) value.Fail("must end with a start and an end that is no earlier, from 0 ns");
}

void ReadTraced(Value value, const sim::OpGraph& graph, const sim::Cluster& cluster,
                std::vector<MeasuredPlacement>* placements) {
  static constexpr std::string_view kKeys[] = {"placement", "ns", "ops", "copies"};
  const Fields fields(value, kKeys);
  const std::int64_t of =
      fields.Require("placement").Int(0, static_cast<std::int64_t>(placements->size()) - 1);
  ExecutedStep traced;
  traced.ns = fields.Require("ns").Int(1, kMostNanos);
  const sim::Placement& placement = (*placements)[static_cast<std::size_t>(of)].placement;
  std::vector<bool> seen(graph.ops.size());
  for (const Value op : fields.Require("ops").items()) {
    const auto n = Numbers(op, 4, 5, graph.size());
    const auto index = static_cast<std::size_t>(n[0]);
    if (n[1] != placement.device[index]) op.Fail("must name the op's device in the placement");
    if (seen[index]) op.Fail("names an op that ran before");
    seen[index] = true;
    CheckSpan(op, n[2], n[3]);
    if (n[4] < 0 || n[4] > n[3] - n[2])
      op.Fail("must end with a part of the span that begins with its start");
    traced.ops.push_back({static_cast<sim::OpIndex>(n[0]), placement.device[index], n[2], n[3], n[4]});
  }
  for (const Value copy : fields.Require("copies").items()) {
    const auto n = Numbers(copy, 6, 6, graph.size());
    const auto output = static_cast<std::int32_t>(n[1]);
    const auto& outputs = graph.ops[static_cast<std::size_t>(n[0])].outputs;
    if (n[1] >= static_cast<std::int64_t>(outputs.size())) copy.Fail("must name an output of the op");
    CheckSpan(copy, n[4], n[5]);
    traced.copies.push_back({{static_cast<sim::OpIndex>(n[0]), output},
                             DeviceOf(copy, n[2], cluster),
                             DeviceOf(copy, n[3], cluster),
                             output < 0 ? 0 : outputs[static_cast<std::size_t>(output)].bytes,
                             n[4],
                             n[5]});
  }
  (*placements)[static_cast<std::size_t>(of)].traced = std::move(traced);
}

std::string TracedText(std::size_t placement, const ExecutedStep& traced) {
  std::string out = fmt::format("{{\"placement\": {}, \"ns\": {},\n  \"ops\": [", placement, traced.ns);
  std::string_view comma;
  for (const OpSpan& op : traced.ops) {
    out += fmt::format("{}[{},{},{},{}", comma, op.op, op.device, op.start_ns, op.end_ns);
    if (op.enqueuing_ns > 0) out += fmt::format(",{}", op.enqueuing_ns);
    out += ']';
    comma = ",";
  }
  out += "],\n  \"copies\": [";
  comma = {};
  for (const CopySpan& copy : traced.copies) {
    out += fmt::format("{}[{},{},{},{},{},{}]", comma, copy.tensor.op, copy.tensor.output, copy.from, copy.to,
                       copy.start_ns, copy.end_ns);
    comma = ",";
  }
  return out + "]}";
}

std::string PlacementText(const MeasuredPlacement& measured) {
  std::string out = fmt::format("{{\"family\": {}, \"device\": \"{}\"", formats::JsonString(measured.family),
                                DeviceText(measured.placement));
  if (!measured.placement.priority.empty()) {
    out += ", \"priority\": [";
    std::string_view comma;
    for (const double priority : measured.placement.priority) {
      out += comma;
      formats::AppendJsonNumber(out, priority);
      comma = ",";
    }
    out += "]";
  }
  if (!measured.placement.order.empty())
    out += fmt::format(", \"order\": [{}]", fmt::join(measured.placement.order, ","));
  std::string steps;
  for (const double us : measured.steps_us) steps += fmt::format("{}{:.3f}", steps.empty() ? "" : ",", us);
  out += fmt::format(
      ",\n   \"steps_us\": [{}],\n   \"undisturbed\": {}, \"run\": {}, \"peak_bytes\": [{}], "
      "\"least_peak_bytes\": [{}], \"most_peak_bytes\": [{}]",
      steps, measured.undisturbed, measured.run, fmt::join(measured.peak_bytes, ","),
      fmt::join(measured.least_peak_bytes, ","), fmt::join(measured.most_peak_bytes, ","));
  if (measured.oom) {
    out += fmt::format(
        ",\n   \"oom\": {{\"device\": {}, \"op\": {}, \"what\": \"{}\", \"needed_bytes\": {}, "
        "\"capacity_bytes\": {}{}}}",
        measured.oom->device, measured.oom->op, kWhat[static_cast<std::size_t>(measured.oom->what)],
        measured.oom->needed, measured.oom->capacity, measured.exhausted ? ", \"exhausted\": true" : "");
  }
  return out + "}";
}

sim::Attributes ReadFacts(Value value) {
  if (!value.IsObject()) value.Fail("must be an object of facts");
  return std::get<sim::Attributes>(value.Free().value);
}

StepOrigin ReadOrigin(Value value) {
  static constexpr std::string_view kKeys[] = {"machine", "date", "commit", "dirty", "command", "software"};
  const Fields fields(value, kKeys);
  StepOrigin origin{.machine = fields.Require("machine").Name(),
                    .date = fields.Require("date").Name(),
                    .commit = fields.Require("commit").Name(),
                    .dirty = fields.Bool("dirty", false),
                    .command = fields.Require("command").Name(),
                    .software = {}};
  if (const auto software = fields.Find("software")) origin.software = ReadFacts(*software);
  return origin;
}

}  // namespace

StepRecording ReadStepRecording(const std::string& path, const LoadWorkload& load,
                                const sim::HardwareCatalogue& catalogue) {
  return ParseStepRecording(formats::ReadFile(path), path, load, catalogue);
}

StepRecording ParseStepRecording(std::string_view json, const std::string& source, const LoadWorkload& load,
                                 const sim::HardwareCatalogue& catalogue) {
  const formats::Document document = formats::ParseJson(json, source);
  const std::int64_t version = formats::CheckFormat(document, kFormat, kVersion);
  static constexpr std::string_view kKeys[] = {
      "format",    "version",    "workload", "provenance", "load",      "wanted_steps", "cluster",
      "stand_ins", "placements", "traced",   "pace_ns",    "execution", "clocks"};
  const Fields top(document.root(), kKeys);
  StepRecording recording;
  recording.workload = top.Require("workload").Name();
  recording.origin = ReadOrigin(top.Require("provenance"));
  static constexpr std::string_view kLoad[] = {"before", "after"};
  const Fields machine_load(top.Require("load"), kLoad);
  recording.load_before = machine_load.Number("before", 0, 0, kMost);
  recording.load_after = machine_load.Number("after", 0, 0, kMost);
  recording.wanted_steps = static_cast<int>(top.Int("wanted_steps", 0, 0, 1'000'000));
  recording.pace_ns = top.Int("pace_ns", 0, 0, 1'000'000'000);
  recording.cluster = top.Require("cluster").Text();
  for (const Value type : top.Require("stand_ins").items()) recording.stand_ins.push_back(type.Name());
  if (const auto execution = top.Find("execution")) recording.execution = ReadFacts(*execution);
  if (const auto clocks = top.Find("clocks")) {
    static constexpr std::string_view kReading[] = {"before", "clocks"};
    for (const Value one : clocks->items()) {
      const Fields reading(one, kReading);
      recording.clocks.push_back(
          {static_cast<int>(reading.Int("before", 0, 0, 1'000'000)), reading.Require("clocks").Free()});
    }
  }
  const sim::OpGraph graph = load(recording.workload);
  const sim::Cluster cluster = formats::ParseCluster(recording.cluster, source, catalogue);
  for (const Value placement : top.Require("placements").items())
    recording.placements.push_back(ReadPlacement(placement, version, graph, cluster));
  if (const auto traced = top.Find("traced")) {
    if (traced->IsObject()) {
      ReadTraced(*traced, graph, cluster, &recording.placements);
    } else {
      for (const Value one : traced->items()) ReadTraced(one, graph, cluster, &recording.placements);
    }
  }
  return recording;
}

std::string PrintStepRecording(const StepRecording& recording) {
  using formats::JsonString;
  const StepOrigin& origin = recording.origin;
  std::string out = fmt::format(
      "{{\"format\": \"{}\", \"version\": {}, \"workload\": {},\n \"provenance\": {{\"machine\": {}, "
      "\"date\": {}, \"commit\": {}, \"dirty\": {}, \"command\": {}",
      kFormat, kVersion, JsonString(recording.workload), JsonString(origin.machine), JsonString(origin.date),
      JsonString(origin.commit), origin.dirty, JsonString(origin.command));
  if (!origin.software.empty()) {
    out += ", \"software\": ";
    formats::AppendJsonAttributes(out, origin.software);
  }
  out += fmt::format(
      "}},\n \"load\": {{\"before\": {}, \"after\": {}}}, \"wanted_steps\": {}, \"pace_ns\": {},\n "
      "\"cluster\": {},\n \"stand_ins\": [",
      recording.load_before, recording.load_after, recording.wanted_steps, recording.pace_ns,
      JsonString(recording.cluster));
  std::string_view comma;
  for (const std::string& type : recording.stand_ins) {
    out += fmt::format("{}{}", comma, JsonString(type));
    comma = ", ";
  }
  out += "]";
  if (!recording.execution.empty()) {
    out += ",\n \"execution\": ";
    formats::AppendJsonAttributes(out, recording.execution);
  }
  comma = ",\n \"clocks\": [";
  for (const ClocksReading& reading : recording.clocks) {
    out += fmt::format("{}{{\"before\": {}, \"clocks\": ", comma, reading.before);
    formats::AppendJsonAttribute(out, reading.clocks);
    out += '}';
    comma = ",\n  ";
  }
  if (!recording.clocks.empty()) out += "]";
  out += ",\n \"placements\": [";
  comma = "\n  ";
  for (const MeasuredPlacement& placement : recording.placements) {
    out.append(comma) += PlacementText(placement);
    comma = ",\n  ";
  }
  out += "]";
  std::vector<std::string> traced;
  for (std::size_t i = 0; i < recording.placements.size(); ++i) {
    if (recording.placements[i].traced) traced.push_back(TracedText(i, *recording.placements[i].traced));
  }
  if (!traced.empty()) {
    out += traced.size() == 1 ? ",\n \"traced\": " + traced[0]
                              : fmt::format(",\n \"traced\": [{}]", fmt::join(traced, ",\n  "));
  }
  return out + "}\n";
}

}  // namespace stowplan::profiler
