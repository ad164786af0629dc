#include <cstdlib>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "profiler/traces/kineto.h"
#include "profiler/traces/kineto_names.h"
#include "profiler/traces/trace_text.h"
#include "sim/formats/document/json_text.h"

namespace stowplan::profiler {
namespace {

using formats::JsonString;

// "HtoD": what the ends of a copy are, as its name says it.
std::string Direction(const Copy& copy) {
  if (copy.from_device >= 0 && copy.to_device >= 0 && copy.from_device != copy.to_device) return "PtoP";
  constexpr std::string_view kLetters = "?HHDAD";  // by MemoryKind
  return fmt::format("{}to{}", kLetters[static_cast<std::size_t>(copy.from)],
                     kLetters[static_cast<std::size_t>(copy.to)]);
}

std::string_view NameOf(MemoryKind kind) {
  return kineto::kMemoryNames[static_cast<std::size_t>(kind)];
}

class KinetoPrinter {
 public:
  explicit KinetoPrinter(const ActivityTrace& trace) : trace_(trace) {
    for (const ExternalCorrelation& link : trace.external) external_.emplace(link.correlation, link.external);
  }

  std::string Print() {
    out_ = fmt::format(
        "{{\"schemaVersion\": 1, \"baseTimeNanoseconds\": {}, \"displayTimeUnit\": \"ms\",\n"
        " \"stowplan\": {{\"buffers\": {}, \"lost_records\": {}, \"cut_records\": {}, \"refused\": [",
        trace_.base_ns, trace_.buffers, trace_.lost_records, trace_.cut_records);
    const char* separator = "";
    for (const std::string& reason : trace_.refused) {
      out_.append(std::exchange(separator, ", ")).append(JsonString(reason));
    }
    out_ += "]},\n \"traceEvents\": [";
    for (const Marker& marker : trace_.markers) PrintMarker(marker);
    for (const ApiCall& call : trace_.calls) PrintCall(call);
    for (const KernelRecord& kernel : trace_.kernels) PrintKernel(kernel);
    for (const Copy& copy : trace_.copies) PrintCopy(copy);
    for (const Memset& memset : trace_.memsets) PrintMemset(memset);
    for (const Synchronisation& wait : trace_.synchronisations) PrintSynchronisation(wait);
    for (const Overhead& overhead : trace_.overheads) {
      Slice("overhead", overhead.name, overhead.process, overhead.thread, overhead.start, overhead.end, "");
    }
    for (const MemoryEvent& event : trace_.memory) PrintMemory(event);
    PrintFlows();
    return std::move(out_) + "]}\n";
  }

 private:
  void Slice(std::string_view category, std::string_view name, Id process, Id thread, Nanos start, Nanos end,
             const std::string& args) {
    Begin();
    out_ += fmt::format(
        "{{\"ph\": \"X\", \"cat\": \"{}\", \"name\": {}, \"pid\": {}, \"tid\": {}, \"ts\": {}, \"dur\": {}, "
        "\"args\": {{{}}}}}",
        category, JsonString(name), process, thread, MicrosText(start), MicrosText(end - start), args);
  }
  void Begin() { out_ += std::exchange(separator_, ",\n  "); }

  // ", "External id": 5" for what was called as this correlation.
  std::string External(Id correlation) const {
    const auto found = external_.find(correlation);
    return found == external_.end() ? "" : fmt::format(", \"External id\": {}", found->second);
  }

  std::string Work(const DeviceWork& work) const {
    return fmt::format("\"device\": {}, \"context\": {}, \"stream\": {}, \"correlation\": {}{}", work.device,
                       work.context, work.stream, work.correlation, External(work.correlation)) +
           (work.graph == 0 && work.graph_node == 0
                ? ""
                : fmt::format(", \"graph id\": {}, \"graph node id\": {}", work.graph, work.graph_node));
  }

  void PrintWork(std::string_view category, std::string_view name, const DeviceWork& work,
                 const std::string& more) {
    Slice(category, name, work.device, work.stream, work.start, work.end, Work(work) + ", " + more);
  }

  void PrintKernel(const KernelRecord& kernel) {
    PrintWork(
        "kernel", kernel.name, kernel,
        fmt::format("\"grid\": [{}], \"block\": [{}], \"registers per thread\": {}, \"shared memory\": {}, "
                    "\"static shared memory\": {}",
                    fmt::join(kernel.grid, ", "), fmt::join(kernel.block, ", "), kernel.registers,
                    kernel.static_shared_bytes + kernel.dynamic_shared_bytes, kernel.static_shared_bytes));
  }
  void PrintCopy(const Copy& copy) {
    const Nanos time = copy.end - copy.start;
    const double rate = time > 0 ? static_cast<double>(copy.bytes) / static_cast<double>(time) : 0;
    PrintWork(
        "gpu_memcpy",
        fmt::format("Memcpy {} ({} -> {})", Direction(copy), NameOf(copy.from), NameOf(copy.to)), copy,
        fmt::format("\"bytes\": {}, \"memory bandwidth (GB/s)\": {}, \"fromDevice\": {}, \"toDevice\": {}",
                    copy.bytes, rate, copy.from_device, copy.to_device));
  }
  void PrintMemset(const Memset& memset) {
    PrintWork("gpu_memset", fmt::format("Memset ({})", NameOf(memset.kind)), memset,
              fmt::format("\"bytes\": {}", memset.bytes));
  }
  void PrintCall(const ApiCall& call) {
    Slice(call.level == ApiCall::Level::kRuntime ? "cuda_runtime" : "cuda_driver", call.name, call.process,
          call.thread, call.start, call.end,
          fmt::format("\"correlation\": {}{}", call.correlation, External(call.correlation)));
  }
  void PrintSynchronisation(const Synchronisation& wait) {
    Slice("cuda_sync", kineto::kSynchronisationNames[static_cast<std::size_t>(wait.what)], 0, wait.stream,
          wait.start, wait.end,
          fmt::format("\"context\": {}, \"stream\": {}, \"wait_on_cuda_event_id\": {}, \"correlation\": {}",
                      wait.context, wait.stream, wait.event, wait.correlation));
  }
  void PrintMemory(const MemoryEvent& event) {
    const bool frees = event.what == MemoryEvent::What::kFree;
    Begin();
    out_ += fmt::format(
        "{{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"{}\", \"pid\": 0, "
        "\"tid\": 0, "
        "\"ts\": {}, \"args\": {{\"Addr\": {}, \"Bytes\": {}, \"Device Type\": {}, \"Device Id\": {}, "
        "\"what\": \"{}\", \"kind\": \"{}\", \"correlation\": {}}}}}",
        kineto::kMemoryEvent, MicrosText(event.time), event.address, frees ? -event.bytes : event.bytes,
        event.device >= 0 ? 1 : 0, event.device, kMemoryEventNames[static_cast<std::size_t>(event.what)],
        kMemoryKindNames[static_cast<std::size_t>(event.kind)], event.correlation);
  }
  void PrintMarker(const Marker& marker) {
    std::string args;
    if (marker.external != 0) args = fmt::format("\"External id\": {}", marker.external);
    for (const auto& [key, value] : marker.attributes) {
      if (!args.empty()) args += ", ";
      args += JsonString(key) + ": ";
      formats::AppendJsonAttribute(args, value);
    }
    Slice(marker.what == Marker::What::kOp ? "cpu_op" : "user_annotation", marker.name, marker.process,
          marker.thread, marker.start, marker.end, args);
  }

  // Arrows from each call to what it launched.
  void PrintFlows() {
    std::unordered_map<Id, const ApiCall*> calls;
    for (const ApiCall& call : trace_.calls) {
      if (call.correlation != 0) calls.emplace(call.correlation, &call);
    }
    ForEachDeviceWork(trace_, [&](const DeviceWork& work) {
      const auto call = calls.find(work.correlation);
      if (call == calls.end()) return;
      const ApiCall& made = *call->second;
      Flow("s", work.correlation, made.process, made.thread, made.start);
      Flow("f", work.correlation, work.device, work.stream, work.start);
    });
  }
  void Flow(std::string_view phase, Id id, Id process, Id thread, Nanos time) {
    Begin();
    out_ += fmt::format(
        "{{\"ph\": \"{}\", \"cat\": \"ac2g\", \"name\": \"ac2g\", \"id\": {}, \"pid\": {}, \"tid\": {}, "
        "\"ts\": {}{}}}",
        phase, id, process, thread, MicrosText(time), phase == "f" ? ", \"bp\": \"e\"" : "");
  }

  const ActivityTrace& trace_;
  std::unordered_map<Id, Id> external_;  // by correlation
  std::string out_;
  const char* separator_ = "\n  ";
};

}  // namespace

std::string PrintKineto(const ActivityTrace& trace) {
  return KinetoPrinter(trace).Print();
}

}  // namespace stowplan::profiler
