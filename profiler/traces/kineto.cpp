#include "profiler/traces/kineto.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "profiler/traces/kineto_events.h"
#include "profiler/traces/kineto_names.h"
#include "profiler/traces/loose_json.h"
#include "sim/base/error.h"
#include "sim/formats/document/document.h"
#include "sim/formats/document/json_reader.h"
#include "sim/formats/document/source.h"
#include "sim/formats/formats.h"

namespace stowplan::profiler {
namespace {

using formats::Value;

// Of an op, what nobody asks for: it would take most of the memory of a long trace.
constexpr std::string_view kDropped[] = {"Input Strides",    "Ev Idx",           "Call stack",
                                         "Sequence number",  "Fwd thread id",    "Python id",
                                         "Python parent id", "Python module id", "Python thread id"};

constexpr double kFarthestMicros = 2e15;  // 63 years

enum class EventCategory : std::uint8_t {
  kKernel,
  kCopy,
  kMemset,
  kRuntime,
  kDriver,
  kSynchronisation,
  kOverhead,
  kOp,
  kAnnotation,
  kMemory,
  kUnknown
};

// Categories of all versions, in lower case. Builds without Kineto write none; their ops are of "CPU functions".
EventCategory CategoryOf(std::string_view phase, std::string category, std::string_view name) {
  static const std::map<std::string, EventCategory, std::less<>> kCategories = {
      {"kernel", EventCategory::kKernel},     {"gpu_memcpy", EventCategory::kCopy},
      {"memcpy", EventCategory::kCopy},       {"gpu_memset", EventCategory::kMemset},
      {"memset", EventCategory::kMemset},     {"cuda_runtime", EventCategory::kRuntime},
      {"runtime", EventCategory::kRuntime},   {"cuda_driver", EventCategory::kDriver},
      {"driver", EventCategory::kDriver},     {"cuda_sync", EventCategory::kSynchronisation},
      {"overhead", EventCategory::kOverhead}, {"cpu_op", EventCategory::kOp},
      {"operator", EventCategory::kOp},       {"user_annotation", EventCategory::kAnnotation},
  };
  if (phase == "i" && name == kineto::kMemoryEvent) return EventCategory::kMemory;
  if (phase != "X") return EventCategory::kUnknown;
  if (category == "python_function" && name.starts_with("nn.Module: ")) return EventCategory::kAnnotation;
  std::transform(category.begin(), category.end(), category.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto found = kCategories.find(category);
  return found == kCategories.end() ? EventCategory::kUnknown : found->second;
}

MemoryKind MemoryNamed(std::string_view name) {
  if (name.starts_with("Host")) return MemoryKind::kPageable;  // of ROCm, which does not tell pinned memory
  for (std::size_t i = 0; i < std::size(kineto::kMemoryNames); ++i) {
    if (name.starts_with(kineto::kMemoryNames[i])) return static_cast<MemoryKind>(i);  // "Device Static"
  }
  return MemoryKind::kUnknown;
}

// "Memcpy HtoD (Pageable -> Device)": what stands in the parentheses.
std::pair<MemoryKind, MemoryKind> EndsOf(std::string_view name) {
  const auto open = name.find('('), arrow = name.find(" -> ");
  if (open == std::string_view::npos) return {};
  const MemoryKind from = MemoryNamed(name.substr(open + 1));
  return {from, arrow == std::string_view::npos ? from : MemoryNamed(name.substr(arrow + 4))};
}

class Reader {
 public:
  explicit Reader(KinetoTrace& result) : result_(result) {}

  // A whole document.
  void Read(Value root) {
    if (root.IsList()) {
      ReadEvents(root);
    } else {
      const auto events = Loose(root).Find("traceEvents");
      if (!events || !events->IsList()) root.Fail("has no list \"traceEvents\", so it is no Kineto trace");
      ReadTop(root);
      ReadEvents(*events);
    }
    Finish(root);
  }

  // One whose events were cut out of it: the rest of it, then they one by one.
  void Read(const EventTexts& texts, const std::string& source) {
    const formats::Document rest = formats::ParseJson(texts.rest, source);
    ReadTop(rest.root());
    constexpr std::size_t kAtOnce = std::size_t{1} << 20;  // [bytes]
    std::string some = "[";
    for (const std::string_view event : texts.events) {
      if (IsDrawing(event)) continue;
      if (some.size() > 1) some += ',';
      some += event;
      if (some.size() > kAtOnce) ReadSome(some, source);
    }
    ReadSome(some, source);
    Finish(rest.root());
    result_.cut = texts.cut;
  }

 private:
  void ReadTop(Value root) {
    const Loose top(root);
    has_base_ = top.Find("baseTimeNanoseconds").has_value();
    trace().base_ns = std::max<std::int64_t>(top.Int("baseTimeNanoseconds"), 0);
    is_own_ = top.Find("stowplan").has_value();
    const Loose own(top.Find("stowplan"));
    trace().buffers = own.Int("buffers");
    trace().lost_records = own.Int("lost_records");
    trace().cut_records = own.Int("cut_records");
    if (const auto refused = own.Find("refused"); refused && refused->IsList()) {
      for (const Value item : refused->items()) trace().refused.emplace_back(item.Text());
    }
  }
  // Events behind a bracket, which is what is left of them.
  void ReadSome(std::string& events, const std::string& source) {
    events += ']';
    const formats::Document document = formats::ParseJson(events, source);
    ReadEvents(document.root());
    events = "[";
  }
  void Finish(Value root) {
    if (!has_base_) MoveAboveZero();
    if (const auto devices = Loose(root).Find("deviceProperties")) FindName(*devices);
  }

  struct Event {
    std::string name;
    Loose fields;
    Loose args;
    Nanos start;
    Nanos duration;
    Nanos end() const { return start + duration; }
    Id process() const { return fields.Int("pid"); }
    Id thread() const { return fields.Int("tid"); }
  };

  ActivityTrace& trace() { return result_.trace; }

  void ReadEvents(Value events) {
    for (const Value event : events.items()) ReadEvent(event);
  }

  void ReadEvent(Value value) {
    if (!value.IsObject()) value.Fail("must be an event: an object with \"ph\" and \"name\"");
    const Loose fields(value);
    const std::string phase = fields.Text("ph"), category = fields.Text("cat");
    std::string name = fields.Text("name");
    EventCategory kind = CategoryOf(phase, category, name);
    if (phase == "X" && category.empty() && fields.Text("pid") == "CPU functions") kind = EventCategory::kOp;
    if (kind == EventCategory::kUnknown) {
      if (phase != "M" && phase != "s" && phase != "t" && phase != "f")
        ++result_.ignored[phase + " " + category];
      return;
    }
    Event event{std::move(name), fields, Loose(fields.Find("args")), NanosAt(fields, "ts"),
                NanosAt(fields, "dur")};
    Add(kind, event);
  }

  Nanos NanosAt(const Loose& fields, std::string_view key) const {
    const auto value = fields.Find(key);
    if (!value) return 0;
    return std::llround(value->Number(-kFarthestMicros, kFarthestMicros) * 1e3);
  }

  void Add(EventCategory kind, const Event& event) {
    switch (kind) {
      case EventCategory::kKernel:
        return AddKernel(event);
      case EventCategory::kCopy:
        return AddCopy(event);
      case EventCategory::kMemset:
        return AddMemset(event);
      case EventCategory::kRuntime:
        return AddCall(event, ApiCall::Level::kRuntime);
      case EventCategory::kDriver:
        return AddCall(event, ApiCall::Level::kDriver);
      case EventCategory::kSynchronisation:
        return AddSynchronisation(event);
      case EventCategory::kOverhead:
        trace().overheads.push_back({event.name, event.start, event.end(), event.process(), event.thread()});
        return;
      case EventCategory::kMemory:
        return AddMemory(event);
      default:
        return AddMarker(event, kind == EventCategory::kOp ? Marker::What::kOp : Marker::What::kAnnotation);
    }
  }

  // Of the device with the most records.
  void FindName(Value devices) {
    if (!devices.IsList()) return;
    std::map<std::int64_t, std::int64_t> records;
    ForEachDeviceWork(trace(), [&](const DeviceWork& work) { ++records[work.device]; });
    std::int64_t most = -1;
    for (const Value one : devices.items()) {
      const Loose device(one);
      const std::int64_t count = records[device.Int("id")];
      if (count > most) result_.gpu = device.Text("name");
      most = std::max(most, count);
    }
  }

  void FillWork(const Event& event, DeviceWork& work) {
    const Loose& args = event.args;
    // What has no stamp stands at 0, or at minus the base.
    const bool stamped = event.start != 0 && event.start > -trace().base_ns;
    work.start = stamped ? event.start : kNoStamp;
    work.end = work.start + event.duration;
    work.device = args.Small("device");
    work.context = args.Int("context");
    work.stream = args.Int("stream");
    work.correlation = args.Int("correlation");
    work.graph = args.Int("graph id");
    work.graph_node = args.Int("graph node id");
    AddExternal(args, work.correlation);
  }

  static Id ExternalOf(const Loose& args) { return args.Int("External id", args.Int("external id")); }

  void AddExternal(const Loose& args, Id correlation) {
    const Id external = ExternalOf(args);
    // Where no op is known, and in old versions always, what stands there is the correlation itself.
    if (external == correlation && !is_own_) return;
    if (external == 0 || correlation == 0 || !external_.emplace(external, correlation).second) return;
    trace().external.push_back({external, correlation});
  }

  void AddKernel(const Event& event) {
    KernelRecord& kernel = trace().kernels.emplace_back();
    FillWork(event, kernel);
    kernel.name = event.name;
    kernel.grid = event.args.Three("grid");
    kernel.block = event.args.Three("block");
    kernel.registers = event.args.Small("registers per thread");
    kernel.static_shared_bytes = event.args.Int("static shared memory");
    kernel.dynamic_shared_bytes = event.args.Int("shared memory") - kernel.static_shared_bytes;
  }

  void AddCopy(const Event& event) {
    Copy& copy = trace().copies.emplace_back();
    FillWork(event, copy);
    std::tie(copy.from, copy.to) = EndsOf(event.name);
    copy.bytes = event.args.Int("bytes");
    copy.from_device = event.args.Small("fromDevice", -1);
    copy.to_device = event.args.Small("toDevice", -1);
  }

  void AddMemset(const Event& event) {
    Memset& memset = trace().memsets.emplace_back();
    FillWork(event, memset);
    memset.kind = EndsOf(event.name).first;
    memset.bytes = event.args.Int("bytes");
  }

  void AddCall(const Event& event, ApiCall::Level level) {
    const Id correlation = event.args.Int("correlation");
    trace().calls.push_back(
        {event.name, event.start, event.end(), level, event.process(), event.thread(), correlation});
    AddExternal(event.args, correlation);
  }

  void AddSynchronisation(const Event& event) {
    const auto found = std::find(std::begin(kineto::kSynchronisationNames),
                                 std::end(kineto::kSynchronisationNames), event.name);
    Synchronisation wait;
    if (found != std::end(kineto::kSynchronisationNames)) {
      wait.what = static_cast<Synchronisation::What>(found - std::begin(kineto::kSynchronisationNames));
    }
    wait.start = event.start;
    wait.end = event.end();
    wait.context = event.args.Int("context");
    wait.stream = event.args.Int("stream");
    wait.event = event.args.Int("wait_on_cuda_event_id");
    wait.correlation = event.args.Int("correlation");
    trace().synchronisations.push_back(wait);
  }

  // The framework's allocator: blocks of its pool, not calls of the driver.
  void AddMemory(const Event& event) {
    const Loose& args = event.args;
    const std::int64_t bytes = args.Int("Bytes");
    MemoryEvent memory;
    memory.time = event.start;
    memory.what =
        bytes < 0 || args.Text("what") == "free" ? MemoryEvent::What::kFree : MemoryEvent::What::kAllocate;
    memory.bytes = std::abs(std::clamp<std::int64_t>(bytes, -INT64_MAX, INT64_MAX));
    const bool on_device = args.Int("Device Type") != 0;
    memory.kind = args.Find("kind") ? static_cast<MemoryKind>(args.Choice("kind", kMemoryKindNames))
                  : on_device       ? MemoryKind::kDevice
                                    : MemoryKind::kPageable;
    memory.device = args.Small("Device Id", -1);
    memory.address = args.Int("Addr");
    memory.correlation = args.Int("correlation");
    trace().memory.push_back(memory);
  }

  void AddMarker(const Event& event, Marker::What what) {
    Marker marker{event.name, event.start, event.end(), what, event.process(), event.thread(), 0, {}};
    marker.external = ExternalOf(event.args);
    for (const auto& [key, value] : event.args.members()) {
      const bool is_external = key == "External id" || key == "external id";
      const bool is_dropped = !is_own_ && std::ranges::find(kDropped, key) != std::end(kDropped);
      if (!is_external && !is_dropped) marker.attributes.emplace_back(key, value.Free());
    }
    marker.attributes.shrink_to_fit();
    trace().markers.push_back(std::move(marker));
  }

  // Traces that count from their own beginning may begin at 0, which is no stamp here.
  void MoveAboveZero() {
    Nanos first = kNoStamp + 1;
    for (const Marker& marker : trace().markers) first = std::min(first, marker.start);
    for (const ApiCall& call : trace().calls) first = std::min(first, call.start);
    const Nanos shift = 1 - first;
    if (shift <= 0) return;
    const auto move = [&](auto& records) {
      for (auto& record : records) record.start += shift, record.end += shift;
    };
    move(trace().markers);
    move(trace().calls);
    move(trace().synchronisations);
    move(trace().overheads);
    for (MemoryEvent& event : trace().memory) event.time += shift;
    ForEachDeviceWork(trace(), [&](DeviceWork& work) {
      if (work.start != kNoStamp) work.start += shift, work.end += shift;
    });
  }

  KinetoTrace& result_;
  std::set<std::pair<Id, Id>> external_;
  bool has_base_ = false;
  bool is_own_ = false;  // PrintKineto() wrote it
};

// Escapes quotes inside of names, which some versions forget: a name ends where the event's next key follows.
std::string EscapeNames(std::string_view text) {
  constexpr std::string_view kOpen = "\"name\": \"", kClose = "\", \"pid\"";
  std::string mended;
  std::size_t done = 0, end = 0, line = 0;
  for (;;) {
    const auto open = text.find(kOpen, done);
    if (open == std::string_view::npos) break;
    const auto begin = open + kOpen.size();
    // What was found for an earlier name holds for all before it, so that the text is searched once.
    if (end < begin) end = text.find(kClose, begin);
    if (line < begin) line = text.find('\n', begin);
    mended.append(text.substr(done, begin - done));
    done = begin;
    if (end == std::string_view::npos || end > line) continue;
    for (; done < end; ++done) {
      if (text[done] == '"' && (done == begin || text[done - 1] != '\\')) mended += '\\';
      mended += text[done];
    }
  }
  return mended.append(text.substr(done));
}

}  // namespace

KinetoTrace ParseKineto(std::string_view json, const std::string& source) {
  KinetoTrace result;
  const auto read = [&](std::string_view text) {
    const formats::Document document = formats::ParseJson(text, source);
    Reader(result).Read(document.root());
  };
  if (const auto texts = FindEvents(json)) {
    try {
      Reader(result).Read(*texts, source);
      return result;
    } catch (const InputError&) {  // the whole text tells where, or is mended
      result = {};
    }
  }
  std::optional<std::string> first_error;
  try {
    read(json);
  } catch (const InputError& error) {
    first_error = error.what();
  }
  if (!first_error) return result;
  const std::string mended = EscapeNames(json);
  if (mended == json) throw InputError(*first_error);
  result = {};
  read(mended);
  result.mended = true;
  return result;
}

KinetoTrace ReadKineto(const std::string& path) {
  return ParseKineto(formats::ReadFile(path), formats::SourceOf(path));
}

}  // namespace stowplan::profiler
