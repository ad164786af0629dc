#include "cost_models/calibration/observations.h"

#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "profiler/probes.h"
#include "profiler/statistics.h"
#include "sim/base/error.h"
#include "sim/formats/document/json_text.h"
#include "sim/formats/formats.h"

namespace stowplan::cost_models {
namespace {

using profiler::Part;
using profiler::Recording;

constexpr std::string_view kProbeKinds[] = {profiler::kProbesKind, "pytorch.copies", "pytorch.launch",
                                            "pytorch.ops"};

// What parts are called: by stowplan-profile, by profiler/pytorch.
const std::map<std::string_view, CopyPath>& CopyParts() {
  static const std::map<std::string_view, CopyPath> parts = {
      {"copy_h2d_pinned", CopyPath::kPinnedToDevice},
      {"pinned_h2d", CopyPath::kPinnedToDevice},
      {"copy_d2h_pinned", CopyPath::kPinnedToHost},
      {"pinned_d2h", CopyPath::kPinnedToHost},
      {"copy_h2d_pageable", CopyPath::kPageableToDevice},
      {"pageable_h2d", CopyPath::kPageableToDevice},
      {"copy_d2h_pageable", CopyPath::kPageableToHost},
      {"pageable_d2h", CopyPath::kPageableToHost},
      {"copy_on_device", CopyPath::kOnDevice},
      {"on_device", CopyPath::kOnDevice},
      {"copy_peer_there", CopyPath::kPeerThere},
      {"copy_peer_back", CopyPath::kPeerBack},
  };
  return parts;
}

const std::map<std::string_view, CopyPath>& BusyParts() {
  static const std::map<std::string_view, CopyPath> parts = {
      {"both_pinned_h2d", CopyPath::kPinnedToDevice},
      {"both_pinned_d2h", CopyPath::kPinnedToHost},
      {"both_pageable_h2d", CopyPath::kPageableToDevice},
      {"both_pageable_d2h", CopyPath::kPageableToHost},
  };
  return parts;
}

std::string Format(const Facts& row) {
  static const std::map<std::string_view, std::string> names = {
      {"f32", "f32"},     {"float32", "f32"}, {"tf32", "tf32"},    {"f16", "f16"},
      {"float16", "f16"}, {"bf16", "bf16"},   {"bfloat16", "bf16"}};
  const Facts format = row.Require("format");
  const auto found = names.find(format.Text());
  if (found == names.end()) format.Fail("must be a number format: f32, tf32, f16 or bf16");
  return found->second;
}

// A dimension that is a list ("kernel": [3, 3]) is two: kernel_h, kernel_w.
std::vector<std::pair<std::string, std::int64_t>> Shape(const Facts& facts) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  std::vector<std::pair<std::string, std::int64_t>> shape;
  for (const auto& [name, value] : facts.Members()) {
    if (name != "kernel") {
      shape.emplace_back(name, value.Int(1, kMost));
      continue;
    }
    const std::vector<Facts> sides = value.Items();
    if (sides.size() != 2) value.Fail("must be [height, width]");
    shape.emplace_back("kernel_h", sides[0].Int(1, kMost));
    shape.emplace_back("kernel_w", sides[1].Int(1, kMost));
  }
  return shape;
}

class ObservationReader {
 public:
  Observations Read(std::vector<NamedRecording> recordings) {
    std::ranges::sort(recordings, {}, [](const NamedRecording& one) {
      return std::tuple(one.recording.kind, one.recording.device, one.source);
    });
    for (const NamedRecording& one : recordings) ReadRecording(one);
    for (auto& copies : made_.copies) std::ranges::sort(copies, {}, &ObservedCopy::bytes);
    std::ranges::sort(made_.accelerator.nodes, {}, &ObservedNodes::nodes);
    std::ranges::stable_sort(made_.ops, {}, [](const ObservedOp& op) {
      return std::tie(op.device_class, op.op, op.phase, op.format, op.shape, op.workload, op.hot.median_us);
    });
    AddBusy();
    return std::move(made_);
  }

 private:
  void ReadRecording(const NamedRecording& one) {
    const Recording& recording = one.recording;
    if (std::ranges::find(kProbeKinds, recording.kind) == std::end(kProbeKinds)) {
      throw InputError(
          fmt::format("{}: holds '{}', but parameters come from isolated probes alone: recordings of "
                      "`stowplan-profile run`, or "
                      "copies, launch and ops of profiler/pytorch/record.py",
                      one.source, recording.kind));
    }
    if (recording.quick) {
      throw InputError(one.source +
                       ": is a quick run, which has too few repeats to measure; record without --quick");
    }
    ReadTf32(recording);
    for (const auto& [name, part] : recording.parts) {
      if (part.outcome != Part::Outcome::kMeasured) {
        const char* const outcome = part.outcome == Part::Outcome::kSkipped ? "skipped" : "failed";
        made_.left_out.push_back(fmt::format("{}: {} was {}: {}", one.source, name, outcome, part.reason));
        continue;
      }
      const auto [old, fresh] = sources_.emplace(recording.device + " " + name, one.source);
      if (!fresh) {
        throw InputError(fmt::format("{} and {} both hold the part '{}'; give one of them", old->second,
                                     one.source, name));
      }
      if (!part.incomplete.empty())
        made_.left_out.push_back(fmt::format("{}: {} is incomplete: {}", one.source, name, part.incomplete));
      if (!ReadPart(recording, name, Facts(part.result, one.source + ": " + name)))
        made_.left_out.push_back(
            fmt::format("{}: {} is no probe that parameters are made of", one.source, name));
    }
  }

  // record.py says what the framework was found to do.
  void ReadTf32(const Recording& recording) {
    const sim::Attribute* found = sim::FindAttribute(recording.software, "allow_tf32");
    const auto* allowed = found != nullptr ? std::get_if<sim::Attributes>(&found->value) : nullptr;
    if (allowed == nullptr) return;
    const auto allows = [&](const char* library) {
      const sim::Attribute* says = sim::FindAttribute(*allowed, library);
      const auto* yes = says != nullptr ? std::get_if<bool>(&says->value) : nullptr;
      return yes != nullptr && *yes;
    };
    made_.tf32 = allows("cudnn") ? Convolutions() : Tf32Classes();
    if (allows("matmul")) made_.tf32 |= AllContractions() & ~Convolutions();
  }

  // False for what nothing is made of.
  bool ReadPart(const Recording& recording, const std::string& name, const Facts& result) {
    const bool host = recording.device == "cpu" || name.starts_with("host_");
    const auto rows = result.Find("rows");
    if (rows && IsOps(*rows)) {
      if (rows->Items().front().Find("graph")) {
        ReadGraphOps(*rows, host ? sim::DeviceClass::kCpu : sim::DeviceClass::kGpu);
        return true;
      }
      if (recording.kind == profiler::kProbesKind && profiler::FindProbe(name) == nullptr)
        made_.left_out.push_back(fmt::format(
            "{}: is no probe of this version; its rows of ops are used as any others", rows->place()));
      ReadOps(*rows, host ? sim::DeviceClass::kCpu : sim::DeviceClass::kGpu);
      return true;
    }
    if (host) return recording.device == "cpu" && ReadCpuPart(name, result);
    if (const auto path = CopyParts().find(name); path != CopyParts().end()) {
      ReadCopies(result.Require("rows"), path->second);
    } else if (const auto both = BusyParts().find(name); both != BusyParts().end()) {
      for (const Facts& row : result.Require("rows").Items()) ReadBusy(row, both->second);
    } else if (name == "copy_both_pinned") {
      ReadBothWays(result.Require("rows"),
                   {{"h2d", CopyPath::kPinnedToDevice}, {"d2h", CopyPath::kPinnedToHost}});
    } else if (name == "copy_both_peer") {
      ReadBothWays(result.Require("rows"), {{"there", CopyPath::kPeerThere}, {"back", CopyPath::kPeerBack}});
    } else if (name == "launch") {
      made_.accelerator.dispatch = made_.accelerator.kernel_launch = ReadRepeats(result.Require("call"));
      made_.event_pair = ReadRepeats(result.Require("event_pair"));
      made_.queued_kernel = ReadRepeats(result.Require("queued"));
    } else if (name == "empty") {
      made_.accelerator.kernel_launch = ReadRepeats(result.Require("call"));
      made_.queued_kernel = ReadRepeats(result.Require("queued"));
    } else if (name == "empty_kernel") {
      made_.empty_kernel = ReadRepeats(result.Require("device"));
    } else if (name == "add") {
      made_.accelerator.dispatch = ReadRepeats(result.Require("call"));
    } else if (name == "event_pair") {
      made_.event_pair = ReadRepeats(result.Require("device"));
    } else if (name == "kernel_gap" || (name == "traced" && recording.kind == "pytorch.launch")) {
      made_.accelerator.kernel_gap = ReadRepeats(result.Require("gap_queued"));
      made_.accelerator.launch_to_start = ReadRepeats(result.Require("launch_to_start"));
    } else if (name == "graph_node" || name == "graph") {
      ReadNodes(result.Require("rows"));
    } else if (name == "streams") {
      ReadPairs(result.Require("rows"), &made_.accelerator.pairs);
    } else {
      return false;
    }
    return true;
  }

  bool ReadCpuPart(const std::string& name, const Facts& result) {
    if (const auto disturbed = result.Find("disturbed"); disturbed && disturbed->Is(true))
      made_.left_out.push_back(
          result.place() +
          " was measured in disturbed steps, since too few others were: measure it again on "
          "a quiet machine");
    if (name == "copy_host") {
      ReadHostCopies(result.Require("rows"));
    } else if (name == "copy_cores") {
      ReadCopies(result.Require("rows"), CopyPath::kBetweenCpus);
    } else if (name == "dispatch") {
      // One that was stopped has no number yet, only no rows.
      if (!result.Find("rows")) made_.cpu.dispatch = ReadRepeats(result.Require("gap"));
    } else if (name == "overlap") {
      ReadPairs(result.Require("rows"), &made_.cpu.pairs);
    } else {
      return false;
    }
    return true;
  }

  static bool IsOps(const Facts& rows) {
    const std::vector<Facts> items = rows.Items();
    return !items.empty() && items.front().Find("op").has_value();
  }

  void ReadOps(const Facts& rows, sim::DeviceClass device_class) {
    std::map<std::string, int> unavailable;
    for (const Facts& row : rows.Items()) {
      ObservedOp op{.device_class = device_class,
                    .op = row.Require("op").Text(),
                    .phase = row.Require("phase").Text(),
                    .format = Format(row),
                    .shape = Shape(row.Require("shape"))};
      if (const auto workload = row.Find("workload")) op.workload = workload->Text();
      if (row.Find("unavailable")) {
        ++unavailable[op.op + " in " + op.format];
        continue;
      }
      op.hot = ReadRepeats(row.Require("hot"));
      if (const auto cold = row.Find("cold")) op.cold = ReadRepeats(*cold);
      made_.ops.push_back(std::move(op));
    }
    for (const auto& [what, count] : unavailable) {
      made_.left_out.push_back(
          fmt::format("{}: {} of {} could not be run by the library", rows.place(), count, what));
    }
  }

  void ReadGraphOps(const Facts& rows, sim::DeviceClass device_class) {
    for (const Facts& row : rows.Items()) {
      if (const auto reason = row.Find("unavailable")) {
        made_.left_out.push_back(fmt::format("{}: {} was not measured: {}", row.place(),
                                             row.Require("op").Text(), reason->Text()));
        continue;
      }
      const Facts graph = row.Require("graph");
      std::string json;
      formats::AppendJsonAttribute(json, graph.value());
      ObservedGraphOp op{.device_class = device_class,
                         .graph = std::make_shared<sim::OpGraph>(formats::ParseGraph(json, graph.place())),
                         .count = row.Require("count").Int(1, std::numeric_limits<std::int32_t>::max()),
                         .hot = ReadRepeats(row.Require("hot"))};
      if (const auto stand_in = row.Find("stand_in")) op.stand_in = stand_in->Is(true);
      if (const auto cold = row.Find("cold")) op.cold = ReadRepeats(*cold);
      made_.graph_ops.push_back(std::move(op));
    }
  }

  void ReadCopies(const Facts& rows, CopyPath path) {
    for (const Facts& row : rows.Items()) {
      ObservedCopy copy;
      copy.bytes = row.Require("bytes").Int(0, sim::kMaxBytes);
      const auto device = row.Find("device");
      copy.events = device.has_value();
      copy.alone = ReadRepeats(device ? *device : row.Require("host"));
      if (device) {
        if (const auto host = row.Find("host")) copy.host = ReadRepeats(*host);
        if (const auto call = row.Find("call")) copy.call = ReadRepeats(*call);
      }
      if (const auto host = row.Find("through_host")) made_.peers_through_host |= host->Is(true);
      if (const auto queued = row.Find("queued")) copy.queued = ReadRepeats(*queued);
      made_.copies[static_cast<std::size_t>(path)].push_back(copy);
    }
  }

  // A copy within the host's memory is an op of a CPU that moves data.
  void ReadHostCopies(const Facts& rows) {
    for (const Facts& row : rows.Items()) {
      const std::int64_t elements = row.Require("bytes").Int(0, sim::kMaxBytes) / 4;
      if (elements == 0) continue;
      ObservedOp op{.device_class = sim::DeviceClass::kCpu,
                    .op = "copy",
                    .phase = "forward",
                    .format = "f32",
                    .shape = {{"elements", elements}},
                    .hot = ReadRepeats(row.Require("host"))};
      if (const auto cold = row.Find("cold")) op.cold = ReadRepeats(*cold);
      made_.ops.push_back(std::move(op));
    }
  }

  void ReadBothWays(const Facts& rows, const std::map<std::string, CopyPath>& paths) {
    for (const Facts& row : rows.Items()) {
      const Facts direction = row.Require("direction");
      const auto path = paths.find(direction.Text());
      if (path == paths.end())
        direction.Fail(fmt::format("must be {} or {}", paths.begin()->first, paths.rbegin()->first));
      ReadBusy(row, path->second);
    }
  }

  void ReadBusy(const Facts& row, CopyPath path) {
    const auto covered = row.Find("covered");
    if (covered && covered->Is(false)) return;  // the other direction ended first
    busy_[{path, row.Require("bytes").Int(0, sim::kMaxBytes)}] = ReadRepeats(row.Require("busy"));
  }

  void AddBusy() {
    for (int path = 0; path < kCopyPaths; ++path) {
      for (ObservedCopy& copy : made_.copies[path]) {
        const auto found = busy_.find({static_cast<CopyPath>(path), copy.bytes});
        if (found != busy_.end()) copy.busy = found->second;
      }
    }
  }

  void ReadNodes(const Facts& rows) {
    for (const Facts& row : rows.Items()) {
      made_.accelerator.nodes.push_back(
          {row.Require("nodes").Int(1, 1 << 30), ReadRepeats(row.Require("replay"))});
    }
  }

  static void ReadPairs(const Facts& rows, std::vector<ObservedPair>* pairs) {
    for (const Facts& row : rows.Items()) {
      ObservedPair pair;
      pair.name = row.Require("pair").Text();
      pair.calls = row.Require("calls").Int(1, 1 << 30);
      pair.with_copy = pair.name.find("| copy") != std::string::npos;
      if (const auto end = row.Find("end"))
        pair.end = end->Text() == "receiver" ? ObservedPair::End::kReceiver : ObservedPair::End::kSender;
      pair.first = ReadRepeats(row.Require("first"));
      pair.second = ReadRepeats(row.Require("second"));
      pair.both = ReadRepeats(row.Require("both"));
      pairs->push_back(std::move(pair));
    }
  }

  Observations made_;
  std::map<std::string, std::string> sources_;  // of each device and part
  std::map<std::pair<CopyPath, sim::Bytes>, Repeats> busy_;
};

}  // namespace

const char* ToString(CopyPath path) {
  static constexpr const char* kNames[kCopyPaths] = {"pinned h2d",   "pinned d2h",  "pageable h2d",
                                                     "pageable d2h", "on device",   "peer there",
                                                     "peer back",    "between CPUs"};
  return kNames[static_cast<std::size_t>(path)];
}

std::string LabelOf(const ObservedOp& op) {
  std::string label = op.op;
  if (!op.format.empty()) label += " " + op.format;
  if (op.phase != "forward") label += " " + op.phase;
  for (const auto& [name, size] : op.shape) label += fmt::format(" {}={}", name, size);
  return label;
}

Repeats RepeatsOf(const std::vector<double>& samples_us) {
  return ReadRepeats(Facts(sim::Attribute{profiler::Summarise(samples_us)}, "samples"));
}

double ExcessOfEvents(const Observations& observed) {
  if (observed.empty_kernel && observed.queued_kernel)
    return observed.empty_kernel->median_us - observed.queued_kernel->median_us;
  return observed.event_pair ? observed.event_pair->median_us : 0;
}

bool IsOfSteps(const profiler::Recording& recording) {
  return recording.kind == profiler::kActivityKind || !recording.model.empty();
}

Observations Observe(std::vector<NamedRecording> recordings) {
  Observations observations = ObservationReader().Read(std::move(recordings));
  const bool copies =
      std::ranges::any_of(observations.copies, [](const auto& list) { return !list.empty(); });
  const auto none = [](const IssueProbes& issue) { return !issue.dispatch && issue.pairs.empty(); };
  if (observations.ops.empty() && observations.graph_ops.empty() && !copies &&
      none(observations.accelerator) && none(observations.cpu)) {
    throw InputError("the recordings hold no probe that was measured" +
                     (observations.left_out.empty() ? "" : "; " + observations.left_out.front()));
  }
  return observations;
}

}  // namespace stowplan::cost_models
