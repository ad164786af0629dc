#include "bench/validate/recording.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include <fmt/format.h>

#include "cost_models/cost_models.h"
#include "scenarios/scenarios.h"
#include "sim/error.h"
#include "sim/formats/formats.h"
#include "sim/formats/json_reader.h"
#include "sim/formats/json_text.h"

namespace berth::bench {
namespace {

using formats::Fields;
using formats::Value;

constexpr std::string_view kFormat = "berth.validation";
constexpr std::string_view kEnding = ".json.zst";
constexpr double kMost = 1e15;

// One character a device, in op order: 36 devices are enough for threads of one machine.
constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";

std::string DeviceText(const sim::Placement& placement) {
  std::string text;
  for (const sim::DeviceIndex device : placement.device) text += kDigits.at(static_cast<std::size_t>(device));
  return text;
}

sim::Placement ReadDevices(Value value, const sim::OpGraph& graph, const sim::Cluster& cluster) {
  sim::Placement placement;
  for (const char c : value.Text()) {
    const auto digit = kDigits.find(c);
    if (digit == std::string_view::npos || digit >= cluster.devices.size())
      value.Fail("must have one digit for each op, below the number of devices");
    placement.device.push_back(static_cast<sim::DeviceIndex>(digit));
  }
  if (placement.device.size() != graph.ops.size())
    value.Fail(fmt::format("must have {} digits, one for each op of the workload", graph.ops.size()));
  sim::CheckPlacement(graph, cluster, placement);
  return placement;
}

std::vector<sim::Bytes> ReadPeaks(Value value, const sim::Cluster& cluster) {
  std::vector<sim::Bytes> peaks;
  for (const Value peak : value.items()) peaks.push_back(peak.Int(0, sim::kMaxBytes));
  if (peaks.size() != cluster.devices.size()) value.Fail("must have one number for each device");
  return peaks;
}

MeasuredPlacement ReadPlacement(Value value, const sim::OpGraph& graph, const sim::Cluster& cluster) {
  static constexpr std::string_view kKeys[] = {"family", "device",     "steps_us",         "undisturbed",
                                               "run",    "peak_bytes", "least_peak_bytes", "most_peak_bytes"};
  const Fields fields(value, kKeys);
  MeasuredPlacement made;
  made.family = fields.Require("family").Name();
  made.placement = ReadDevices(fields.Require("device"), graph, cluster);
  for (const Value step : fields.Require("steps_us").items()) made.steps_us.push_back(step.Number(0, kMost));
  if (made.steps_us.empty()) fields.Require("steps_us").Fail("must have at least one step");
  made.undisturbed = static_cast<int>(fields.Int("undisturbed", 0, 0, 1'000'000));
  made.run = static_cast<int>(fields.Int("run", 0, 0, 1'000'000));
  made.peak_bytes = ReadPeaks(fields.Require("peak_bytes"), cluster);
  made.least_peak_bytes = ReadPeaks(fields.Require("least_peak_bytes"), cluster);
  made.most_peak_bytes = ReadPeaks(fields.Require("most_peak_bytes"), cluster);
  return made;
}

std::array<std::int64_t, 6> Numbers(Value value, std::size_t count, std::int64_t ops) {
  std::array<std::int64_t, 6> numbers{};
  if (value.size() != count) value.Fail(fmt::format("must have {} numbers", count));
  std::size_t i = 0;
  for (const Value number : value.items()) numbers.at(i++) = number.Int(-1);
  if (numbers[0] < 0 || numbers[0] >= ops) value.Fail("must begin with the number of an op");
  return numbers;
}

void ReadTraced(Value value, const sim::OpGraph& graph, Recording* recording) {
  static constexpr std::string_view kKeys[] = {"placement", "ns", "ops", "copies"};
  const Fields fields(value, kKeys);
  recording->traced_placement = static_cast<int>(
      fields.Require("placement").Int(0, static_cast<std::int64_t>(recording->placements.size()) - 1));
  recording->traced.ns = fields.Require("ns").Int(0);
  for (const Value op : fields.Require("ops").items()) {
    const auto n = Numbers(op, 4, graph.size());
    recording->traced.ops.push_back(
        {static_cast<sim::OpIndex>(n[0]), static_cast<sim::DeviceIndex>(n[1]), n[2], n[3]});
  }
  for (const Value copy : fields.Require("copies").items()) {
    const auto n = Numbers(copy, 6, graph.size());
    const auto output = static_cast<std::int32_t>(n[1]);
    const auto& outputs = graph.ops[static_cast<std::size_t>(n[0])].outputs;
    if (n[1] >= static_cast<std::int64_t>(outputs.size())) copy.Fail("must name an output of the op");
    recording->traced.copies.push_back({{static_cast<sim::OpIndex>(n[0]), output},
                                        static_cast<sim::DeviceIndex>(n[2]),
                                        static_cast<sim::DeviceIndex>(n[3]),
                                        output < 0 ? 0 : outputs[static_cast<std::size_t>(output)].bytes,
                                        n[4],
                                        n[5]});
  }
}

std::string TracedText(const Recording& recording) {
  std::string out = fmt::format("{{\"placement\": {}, \"ns\": {},\n  \"ops\": [", recording.traced_placement,
                                recording.traced.ns);
  std::string_view comma;
  for (const profiler::OpSpan& op : recording.traced.ops) {
    out += fmt::format("{}[{},{},{},{}]", comma, op.op, op.device, op.start_ns, op.end_ns);
    comma = ",";
  }
  out += "],\n  \"copies\": [";
  comma = {};
  for (const profiler::CopySpan& copy : recording.traced.copies) {
    out += fmt::format("{}[{},{},{},{},{},{}]", comma, copy.tensor.op, copy.tensor.output, copy.from, copy.to,
                       copy.start_ns, copy.end_ns);
    comma = ",";
  }
  return out + "]}";
}

}  // namespace

sim::OpGraph LoadMeasuredGraph(const std::string& workload) {
  sim::OpGraph graph = scenarios::LoadGraph(workload);
  for (sim::Op& op : graph.ops) {
    op.cost_us.reset();
    op.cost_us_by_kind.clear();
  }
  return graph;
}

std::string FileStem(const std::string& workload) {
  std::string stem;
  for (const char c : workload.substr(workload.find_last_of('/') + 1)) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '=';
    stem += plain ? c : '-';
  }
  while (stem.ends_with('-')) stem.pop_back();
  return stem;
}

std::vector<std::string> FindRecordings(const std::string& folder) {
  namespace fs = std::filesystem;
  if (!fs::is_directory(folder))
    throw InputError(folder + ": is no folder of recordings; `berth validate --record --out " + folder +
                     "` makes one");
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().string().ends_with(kEnding)) paths.push_back(entry.path().string());
  if (paths.empty()) throw InputError(folder + ": holds no recording, which are files NAME.json.zst");
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string CostsBeside(const std::string& path) {
  return path.substr(0, path.size() - kEnding.size()) + ".cost_model.json";
}

Recording ReadValidation(const std::string& path) {
  const formats::Document document = formats::ParseJson(formats::ReadFile(path), path);
  formats::CheckFormat(document, kFormat, 1);
  static constexpr std::string_view kKeys[] = {"format",    "version",      "workload", "provenance",
                                               "load",      "wanted_steps", "pace_ns",  "cluster",
                                               "stand_ins", "placements",   "traced"};
  const Fields top(document.root(), kKeys);
  Recording recording;
  recording.workload = top.Require("workload").Name();
  static constexpr std::string_view kOrigin[] = {"machine", "date", "commit", "dirty", "command"};
  const Fields origin(top.Require("provenance"), kOrigin);
  recording.provenance.machine = origin.Require("machine").Name();
  recording.provenance.date = origin.Require("date").Name();
  recording.provenance.revision = origin.Require("commit").Name();
  recording.provenance.dirty = origin.Bool("dirty", false);
  recording.provenance.command = origin.Require("command").Name();
  static constexpr std::string_view kLoad[] = {"before", "after"};
  const Fields load(top.Require("load"), kLoad);
  recording.load_before = load.Number("before", 0, 0, kMost);
  recording.load_after = load.Number("after", 0, 0, kMost);
  recording.wanted_steps = static_cast<int>(top.Int("wanted_steps", 0, 0, 1'000'000));
  recording.pace_ns = top.Int("pace_ns", 0, 0, 1'000'000'000);
  recording.cluster = top.Require("cluster").Text();
  for (const Value type : top.Require("stand_ins").items()) recording.stand_ins.push_back(type.Name());
  const sim::OpGraph graph = LoadMeasuredGraph(recording.workload);
  const sim::Cluster cluster =
      formats::ParseCluster(recording.cluster, path, cost_models::BuiltinCatalogue());
  for (const Value placement : top.Require("placements").items())
    recording.placements.push_back(ReadPlacement(placement, graph, cluster));
  if (const auto traced = top.Find("traced")) ReadTraced(*traced, graph, &recording);
  return recording;
}

std::string PrintValidation(const Recording& recording) {
  using formats::JsonString;
  const Provenance& origin = recording.provenance;
  std::string out = fmt::format(
      "{{\"format\": \"{}\", \"version\": 1, \"workload\": {},\n \"provenance\": {{\"machine\": {}, "
      "\"date\": {}, "
      "\"commit\": {}, \"dirty\": {}, \"command\": {}}},\n \"load\": {{\"before\": {}, \"after\": {}}}, "
      "\"wanted_steps\": {}, \"pace_ns\": {},\n \"cluster\": {},\n \"stand_ins\": [",
      kFormat, JsonString(recording.workload), JsonString(origin.machine), JsonString(origin.date),
      JsonString(origin.revision), origin.dirty, JsonString(origin.command), recording.load_before,
      recording.load_after, recording.wanted_steps, recording.pace_ns, JsonString(recording.cluster));
  std::string_view comma;
  for (const std::string& type : recording.stand_ins) {
    out += fmt::format("{}{}", comma, JsonString(type));
    comma = ", ";
  }
  out += "],\n \"placements\": [";
  comma = "\n  ";
  for (const MeasuredPlacement& placement : recording.placements) {
    std::string steps;
    for (const double us : placement.steps_us) steps += fmt::format("{}{:.3f}", steps.empty() ? "" : ",", us);
    out += fmt::format(
        "{}{{\"family\": {}, \"device\": \"{}\",\n   \"steps_us\": [{}],\n   \"undisturbed\": {}, \"run\": "
        "{}, "
        "\"peak_bytes\": [{}], \"least_peak_bytes\": [{}], \"most_peak_bytes\": [{}]}}",
        comma, JsonString(placement.family), DeviceText(placement.placement), steps, placement.undisturbed,
        placement.run, fmt::join(placement.peak_bytes, ","), fmt::join(placement.least_peak_bytes, ","),
        fmt::join(placement.most_peak_bytes, ","));
    comma = ",\n  ";
  }
  out += "]";
  if (recording.traced_placement >= 0) out += ",\n \"traced\": " + TracedText(recording);
  return out + "}\n";
}

}  // namespace berth::bench
