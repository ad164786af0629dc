#include "profiler/chrome.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "profiler/trace_text.h"
#include "sim/formats/json_text.h"

namespace berth::profiler {
namespace {

struct Slice {
  Nanos start;
  Nanos end;
  const char* category;
  std::string name;
  std::string args;       // members of a JSON object
  Id flow = 0;            // correlation of the arrow that is fastened here; 0 = none
  bool launches = false;  // the arrow begins here, else it ends here
};

// Slices of one thread or stream.
struct Group {
  std::string name;
  bool nests = false;
  std::vector<Slice> slices;
};

// Puts slices, given by start and the longer first, on the first track that can show them.
class Tracks {
 public:
  explicit Tracks(bool nests) : nests_(nests) {}

  std::size_t Place(const Slice& slice) {
    for (std::size_t track = 0; track < open_.size(); ++track) {
      std::vector<Nanos>& ends = open_[track];
      while (!ends.empty() && ends.back() <= slice.start) ends.pop_back();
      if (!ends.empty() && (!nests_ || ends.back() < slice.end)) continue;
      ends.push_back(slice.end);
      return track;
    }
    open_.push_back({slice.end});
    return open_.size() - 1;
  }
  std::size_t size() const { return open_.size(); }

 private:
  bool nests_;
  std::vector<std::vector<Nanos>>
      open_;  // of each track, the ends of the slices that are open, outermost first
};

class ChromePrinter {
 public:
  explicit ChromePrinter(const ActivityTrace& trace) : trace_(trace) {}

  std::string Print() {
    AddHost();
    AddDevices();
    int process = 0;
    for (auto& [key, groups] : processes_) {
      PrintProcess(++process, key);
      int thread = 0;
      for (auto& [unused, group] : groups) PrintGroup(process, thread, group);
      if (key.first == kDevice) PrintMemory(process, static_cast<std::int32_t>(key.second));
    }
    return fmt::format(
               "{{\"displayTimeUnit\": \"ms\",\n \"otherData\": {{\"producer\": \"berth\", \"base_ns\": {}, "
               "\"slices\": {}, \"without_time\": {}}},\n \"traceEvents\": [",
               trace_.base_ns, shown_, without_time_) +
           out_ + "]}\n";
  }

 private:
  enum Side { kHost, kDevice };
  using ProcessKey = std::pair<Side, Id>;    // process, or device
  using GroupKey = std::tuple<int, Id, Id>;  // order, context, thread or stream

  Group& GroupOf(ProcessKey process, GroupKey key, std::string name, bool nests) {
    Group& group = processes_[process][key];
    if (group.name.empty()) {
      group.name = std::move(name);
      group.nests = nests;
    }
    return group;
  }

  // What has no time, or a negative one, cannot be drawn.
  void Add(Group& group, Slice slice) {
    if (slice.start <= kNoStamp || slice.end < slice.start) {
      ++without_time_;
      return;
    }
    ++shown_;
    group.slices.push_back(std::move(slice));
  }

  Group& Thread(Id process, Id thread) {
    return GroupOf({kHost, process}, {0, 0, thread}, fmt::format("thread {}", thread), true);
  }

  void AddHost() {
    for (const Marker& marker : trace_.markers) {
      const char* const category = marker.what == Marker::What::kOp ? "op" : "annotation";
      Add(Thread(marker.process, marker.thread),
          {marker.start, marker.end, category, marker.name, "", 0, false});
    }
    for (const ApiCall& call : trace_.calls) {
      Add(Thread(call.process, call.thread),
          {call.start, call.end, "call", call.name, fmt::format("\"correlation\": {}", call.correlation),
           call.correlation, true});
    }
    for (const Overhead& overhead : trace_.overheads) {
      Group& group = GroupOf({kHost, overhead.process}, {1, 0, overhead.thread}, "recorder", true);
      Add(group, {overhead.start, overhead.end, "overhead", overhead.name, "", 0, false});
    }
    for (const Synchronisation& wait : trace_.synchronisations) {
      Group& group = GroupOf({kDevice, 0}, {1, 0, 0}, "waits", true);
      Add(group,
          {wait.start, wait.end, "wait",
           std::string(kSynchronisationNames[static_cast<std::size_t>(wait.what)]),
           fmt::format("\"stream\": {}, \"correlation\": {}", wait.stream, wait.correlation), 0, false});
    }
  }

  void AddDevices() {
    for (const KernelRecord& kernel : trace_.kernels) {
      AddWork(kernel, "kernel", kernel.name,
              fmt::format("\"grid\": [{}], \"block\": [{}]", fmt::join(kernel.grid, ", "),
                          fmt::join(kernel.block, ", ")));
    }
    for (const Copy& copy : trace_.copies) {
      AddWork(copy, "copy",
              fmt::format("{} to {}", kMemoryKindNames[static_cast<std::size_t>(copy.from)],
                          kMemoryKindNames[static_cast<std::size_t>(copy.to)]),
              fmt::format("\"bytes\": {}", copy.bytes));
    }
    for (const Memset& memset : trace_.memsets) {
      AddWork(memset, "memset", "memset", fmt::format("\"bytes\": {}", memset.bytes));
    }
  }

  void AddWork(const DeviceWork& work, const char* category, std::string name, std::string args) {
    Group& group = GroupOf({kDevice, work.device}, {0, work.context, work.stream},
                           fmt::format("stream {}", work.stream), false);
    args += fmt::format(", \"correlation\": {}", work.correlation);
    if (work.graph != 0) args += fmt::format(", \"graph\": {}", work.graph);
    Add(group, {work.start, work.end, category, std::move(name), std::move(args), work.correlation, false});
  }

  // ---- events ---------------------------------------------------------------------------------------------

  void PrintProcess(int process, ProcessKey key) {
    const std::string name = fmt::format("{} {}", key.first == kHost ? "process" : "device", key.second);
    Event(R"({{"ph": "M", "pid": {}, "name": "process_name", "args": {{"name": "{}"}}}})", process, name);
    Event(R"({{"ph": "M", "pid": {0}, "name": "process_sort_index", "args": {{"sort_index": {0}}}}})",
          process);
  }

  void PrintGroup(int process, int& threads, Group& group) {
    std::stable_sort(group.slices.begin(), group.slices.end(), [](const Slice& a, const Slice& b) {
      return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
    Tracks tracks(group.nests);
    const int first = threads + 1;
    for (const Slice& slice : group.slices) {
      const std::size_t before = tracks.size();
      const std::size_t track = tracks.Place(slice);
      const int thread = first + static_cast<int>(track);
      if (tracks.size() > before) PrintThread(process, thread, group.name, track);
      PrintSlice(process, thread, slice);
    }
    threads += static_cast<int>(tracks.size());
  }

  void PrintThread(int process, int thread, const std::string& group, std::size_t track) {
    const std::string name = track == 0 ? group : fmt::format("{} ({})", group, track + 1);
    Event(R"({{"ph": "M", "pid": {}, "tid": {}, "name": "thread_name", "args": {{"name": "{}"}}}})", process,
          thread, name);
    Event(
        R"({{"ph": "M", "pid": {0}, "tid": {1}, "name": "thread_sort_index", "args": {{"sort_index": {1}}}}})",
        process, thread);
  }

  void PrintSlice(int process, int thread, const Slice& slice) {
    Event(
        R"({{"ph": "X", "pid": {}, "tid": {}, "ts": {}, "dur": {}, "cat": "{}", "name": {}, "args": {{{}}}}})",
        process, thread, MicrosText(slice.start), MicrosText(slice.end - slice.start), slice.category,
        formats::JsonString(slice.name), slice.args);
    if (slice.flow == 0) return;
    Event(
        R"({{"ph": "{}", "bp": "e", "pid": {}, "tid": {}, "ts": {}, "id": {}, "cat": "launch", "name": "launch"}})",
        slice.launches ? "s" : "f", process, thread, MicrosText(slice.start), slice.flow);
  }

  // Live bytes of a device after each event.
  void PrintMemory(int process, std::int32_t device) {
    std::vector<const MemoryEvent*> events;
    for (const MemoryEvent& event : trace_.memory) {
      if (event.device == device && event.time > kNoStamp) events.push_back(&event);
    }
    std::stable_sort(events.begin(), events.end(),
                     [](const MemoryEvent* a, const MemoryEvent* b) { return a->time < b->time; });
    double live = 0;  // sums of damaged records may leave 64 bits
    for (const MemoryEvent* event : events) {
      const auto bytes = static_cast<double>(event->bytes);
      live += event->what == MemoryEvent::What::kAllocate ? bytes : -bytes;
      Event(R"({{"ph": "C", "pid": {}, "ts": {}, "name": "memory", "args": {{"live bytes": {:.0f}}}}})",
            process, MicrosText(event->time), live);
    }
  }

  template <typename... Args>
  void Event(fmt::format_string<Args...> format, Args&&... args) {
    out_ += std::exchange(separator_, ",\n  ");
    out_ += fmt::format(format, std::forward<Args>(args)...);
  }

  const ActivityTrace& trace_;
  std::map<ProcessKey, std::map<GroupKey, Group>> processes_;
  std::string out_;
  const char* separator_ = "\n  ";
  std::int64_t shown_ = 0;
  std::int64_t without_time_ = 0;
};

}  // namespace

std::string PrintChrome(const ActivityTrace& trace) {
  return ChromePrinter(trace).Print();
}

}  // namespace berth::profiler
