#include "profiler/traces/sanitiser.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "profiler/traces/correlation.h"
#include "profiler/traces/launch_census.h"

namespace stowplan::profiler {
namespace {

constexpr std::string_view kFaultNames[kFaults] = {
    "zero stamp",   "foreign clock", "corrupt duration", "overlap",    "before launch",       "lost records",
    "hidden graph", "graph nodes",   "no device",        "host clock", "no synchronisations", "empty"};

std::string Counted(std::int64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}
std::string Counted(std::int64_t count, std::string_view what) {
  return Counted(count, what, std::string(what) + (what.ends_with("ch") ? "es" : "s"));
}

// The host's own recorded time: what device work is held against.
struct Window {
  Nanos begin = 0;
  Nanos end = 0;
};

class Sanitiser {
 public:
  Sanitiser(ActivityTrace trace, const SanitiserLimits& limits) : limits_(limits) {
    result_.trace = std::move(trace);
  }

  SanitisedTrace Run() {
    census_ = CountLaunches(trace());
    CountLost();
    LeaveOutHostFaults();
    LeaveOutImpossibleTimes();
    LeaveOutOverlaps();
    CountBeforeLaunch();
    NoteWhatIsNotRecorded();
    Decide();
    return std::move(result_);
  }

 private:
  ActivityTrace& trace() { return result_.trace; }

  // ---- what is missing: counted before anything is left out ---------------------------------------------

  void CountLost() {
    if (census_.device_records == 0) return;  // that is a fault of its own
    lost_ = trace().lost_records + trace().cut_records + census_.launches_without_work;
    std::vector<std::string> parts;
    const auto add = [&](std::int64_t count, std::string_view what) {
      if (count > 0) parts.push_back(fmt::format("{} {}", count, what));
    };
    add(trace().lost_records, "dropped by the recorder");
    add(trace().cut_records, "cut at the end of a buffer");
    add(census_.launches_without_work, "launched but never seen on a device");
    add(census_.without_call, "seen on a device without the call that launched them");
    if (parts.empty()) return;
    Add(Fault::kLostRecords, lost_ + census_.without_call, 0,
        fmt::format("records are missing: {}", fmt::join(parts, ", ")));
  }

  // ---- what cannot be true --------------------------------------------------------------------------------

  // Annotations with which a recorder pads its trace have no stamp; work and calls always do.
  void LeaveOutHostFaults() {
    std::int64_t count = 0;
    const auto clean = [&](auto& records) {
      count += static_cast<std::int64_t>(std::erase_if(
          records, [](const auto& record) { return record.start <= kNoStamp || record.end < record.start; }));
    };
    clean(trace().calls);
    clean(trace().markers);
    clean(trace().synchronisations);
    clean(trace().overheads);
    if (count > 0) {
      Add(Fault::kHostClock, count, count,
          fmt::format("{} of the host {} no time stamp or end before they start", Counted(count, "record"),
                      count == 1 ? "has" : "have"));
    }
  }

  std::optional<Window> HostWindow() {
    std::optional<Window> window;
    const auto add = [&](const auto& records) {
      for (const auto& record : records) {
        if (!window) window = Window{record.start, record.end};
        window->begin = std::min(window->begin, record.start);
        window->end = std::max(window->end, record.end);
      }
    };
    add(trace().calls);
    add(trace().markers);
    add(trace().synchronisations);
    return window;
  }

  // Without records of the host the middle of the device's own stands in, with an hour's room: the known fault
  // is off by more.
  Window AllowedWindow() {
    constexpr Nanos kHour = Nanos{3600} * 1'000'000'000;
    if (const auto host = HostWindow()) {
      const Nanos slack = limits_.clock_slack + (host->end - host->begin);
      return {host->begin - slack, host->end + slack};
    }
    std::vector<Nanos> starts;
    ForEachDeviceWork(trace(), [&](const DeviceWork& work) {
      if (work.start != kNoStamp) starts.push_back(work.start);
    });
    if (starts.empty()) return {};
    std::nth_element(starts.begin(), starts.begin() + static_cast<std::ptrdiff_t>(starts.size() / 2),
                     starts.end());
    const Nanos middle = starts[starts.size() / 2];
    return {middle - kHour, middle + kHour};
  }

  void LeaveOutImpossibleTimes() {
    const Window allowed = AllowedWindow();
    LeaveOut(Fault::kZeroStamp, "without a time stamp",
             [](const DeviceWork& work) { return work.start == kNoStamp || work.end == kNoStamp; });
    LeaveOut(Fault::kForeignClock, "on another clock than the host",
             [&](const DeviceWork& work) { return work.start < allowed.begin || work.start > allowed.end; });
    LeaveOut(Fault::kCorruptDuration, "with an impossible duration",
             [&](const DeviceWork& work) { return work.end < work.start || work.end > allowed.end; });
  }

  // On a stream one thing runs at a time, but for parallel nodes of one CUDA graph. A record that covers its
  // successor has a corrupt duration; one that runs into it is doubtful itself. Equal stamps say nothing.
  void LeaveOutOverlaps() {
    for (const ApiCall& call : trace().calls)
      if (NameContains(call.name, "LaunchKernelEx")) early_.insert(call.correlation);
    std::map<std::tuple<std::int32_t, Id, Id>, std::vector<WorkRef>> streams;
    std::vector<WorkRef> corrupt, overlapping;
    for (const WorkRef ref : WorkByStart(trace())) {
      const DeviceWork& work = WorkAt(trace(), ref);
      auto& kept = streams[{work.device, work.context, work.stream}];
      while (!kept.empty() && Overlaps(WorkAt(trace(), kept.back()), work)) {
        const bool covers = WorkAt(trace(), kept.back()).end >= work.end;
        (covers ? corrupt : overlapping).push_back(kept.back());
        kept.pop_back();
      }
      kept.push_back(ref);
    }
    Report(Fault::kCorruptDuration, "with an impossible duration", corrupt);
    Report(Fault::kOverlap, "running into the next of its stream", overlapping);
    corrupt.insert(corrupt.end(), overlapping.begin(), overlapping.end());
    EraseAll(corrupt);
  }

  bool Overlaps(const DeviceWork& first, const DeviceWork& second) const {
    if (first.start == second.start) return false;
    if (first.graph != 0 && first.graph == second.graph) return false;
    // Programmatic dependent launch: the second begins while the first's last blocks run, and ends behind it.
    if (early_.contains(second.correlation) && second.end >= first.end) return false;
    return first.end > second.start + limits_.overlap;
  }

  // ---- what is kept, but must be known --------------------------------------------------------------------

  void CountBeforeLaunch() {
    std::int64_t count = 0;
    Nanos worst = 0;
    for (const LinkedWork& linked : Correlate(trace()).work) {
      if (linked.call == kNobody) continue;
      ++with_launch_;
      const Nanos early =
          trace().calls[static_cast<std::size_t>(linked.call)].start - WorkAt(trace(), linked.work).start;
      if (early <= 0) continue;
      ++count;
      worst = std::max(worst, early);
    }
    before_launch_ = count;
    if (count == 0) return;
    Add(Fault::kBeforeLaunch, count, 0,
        fmt::format("{} started before the call that launched it, by up to {:.1f} us; launch delays of those "
                    "are not used",
                    Counted(count, "device record"), static_cast<double>(worst) / 1e3));
  }

  void NoteWhatIsNotRecorded() {
    if (census_.graph_launches_without_work > 0) {
      Add(Fault::kHiddenGraph, census_.graph_launches_without_work, 0,
          fmt::format("{} of a CUDA graph left no record of its nodes; record at node level",
                      Counted(census_.graph_launches_without_work, "launch")));
    }
    if (census_.graph_records > 0) {
      Add(Fault::kGraphNodes, census_.graph_records, 0,
          fmt::format("{} belong to {} of CUDA graphs and have no launch of their own",
                      Counted(census_.graph_records, "device record"),
                      Counted(census_.graph_launches, "launch")));
    }
    if (census_.device_records == 0 && census_.launches + census_.graph_launches > 0) {
      const std::string reason = trace().refused.empty()
                                     ? "no permission for the device's records, or they were switched off"
                                     : trace().refused.front();
      Add(Fault::kNoDevice, census_.launches + census_.graph_launches, 0,
          fmt::format("{} made, but no record of any device: {}",
                      Counted(census_.launches + census_.graph_launches, "launch was", "launches were"),
                      reason));
    }
    const bool waits = std::any_of(trace().calls.begin(), trace().calls.end(), [](const ApiCall& call) {
      return NameContains(call.name, "Synchronize");
    });
    if (waits && trace().synchronisations.empty()) {
      Add(Fault::kNoSynchronisations, 1, 0, "the program waited for the device, but waits were not recorded");
    }
    const bool empty = census_.device_records == 0 && trace().calls.empty() && trace().markers.empty();
    if (empty && result_.findings.empty()) Add(Fault::kEmpty, 1, 0, "there is no record of any kind");
  }

  // ---- the verdict ----------------------------------------------------------------------------------------

  void Decide() {
    std::stable_sort(result_.findings.begin(), result_.findings.end(),
                     [](const Finding& a, const Finding& b) { return a.fault < b.fault; });
    std::int64_t left_out = 0;
    std::vector<std::string> what;
    for (const Finding& finding : result_.findings) {
      if (finding.fault == Fault::kHostClock) continue;
      left_out += finding.left_out;
      if (finding.left_out > 0)
        what.push_back(fmt::format("{} {}", finding.left_out, ToString(finding.fault)));
    }
    for (const Fault fatal : {Fault::kEmpty, Fault::kNoDevice, Fault::kHiddenGraph}) {
      if (const Finding* const finding = result_.Find(fatal)) return Refuse(finding->sentence);
    }
    if (lost_ > 0) what.push_back(fmt::format("{} lost", lost_));
    const std::int64_t all = census_.device_records + lost_;
    const double share = all == 0 ? 0 : static_cast<double>(left_out + lost_) / static_cast<double>(all);
    if (share > limits_.most_left_out) {
      return Refuse(fmt::format(
          "{} of {} device records ({:.1f} %) are false or missing, more than {:g} %: {}", left_out + lost_,
          all, 100 * share, 100 * limits_.most_left_out, fmt::join(what, ", ")));
    }
    if (static_cast<double>(before_launch_) >
        limits_.most_before_launch * static_cast<double>(with_launch_)) {
      return Refuse(result_.Find(Fault::kBeforeLaunch)->sentence +
                    ", and they are too many to trust the clock");
    }
    const Finding* const host = result_.Find(Fault::kHostClock);
    const std::int64_t host_left_out = host == nullptr ? 0 : host->left_out;
    if (host_left_out > 0) what.push_back(fmt::format("{} of the host", host_left_out));
    if (left_out + lost_ + host_left_out + before_launch_ == 0) {
      result_.sentence =
          fmt::format("usable: {}, nothing left out", Counted(census_.device_records, "device record"));
      return;
    }
    result_.verdict = SanitisedTrace::Verdict::kRepaired;
    result_.sentence = fmt::format("usable after repair: {} of {} left out", left_out,
                                   Counted(census_.device_records, "device record"));
    if (!what.empty()) result_.sentence += fmt::format(" ({})", fmt::join(what, ", "));
    if (before_launch_ > 0) result_.sentence += fmt::format(", {} without a launch delay", before_launch_);
  }

  void Refuse(const std::string& reason) {
    result_.verdict = SanitisedTrace::Verdict::kRefused;
    result_.sentence = "refused: " + reason;
  }

  // ---- helpers --------------------------------------------------------------------------------------------

  void Add(Fault fault, std::int64_t count, std::int64_t left_out, std::string sentence) {
    for (Finding& finding : result_.findings) {
      if (finding.fault != fault) continue;
      finding.count += count;
      finding.left_out += left_out;
      return;
    }
    result_.findings.push_back({fault, count, left_out, std::move(sentence)});
  }

  template <typename Predicate>
  void LeaveOut(Fault fault, std::string_view what, const Predicate& is_false) {
    std::vector<WorkRef> refs;
    for (const WorkRef ref : WorkByStart(trace())) {
      if (is_false(WorkAt(trace(), ref))) refs.push_back(ref);
    }
    Report(fault, what, refs);
    EraseAll(refs);
  }

  void Report(Fault fault, std::string_view what, const std::vector<WorkRef>& refs) {
    if (refs.empty()) return;
    const auto count = static_cast<std::int64_t>(refs.size());
    const WorkRef first = refs.front();
    Add(fault, count, count,
        fmt::format("{} {} (first: {} of stream {})", Counted(count, "device record"), what, NameOf(first),
                    WorkAt(trace(), first).stream));
  }

  void EraseAll(const std::vector<WorkRef>& refs) {
    Erase(trace().kernels, WorkRef::List::kKernels, refs);
    Erase(trace().copies, WorkRef::List::kCopies, refs);
    Erase(trace().memsets, WorkRef::List::kMemsets, refs);
  }

  template <typename Record>
  static void Erase(std::vector<Record>& records, WorkRef::List list, const std::vector<WorkRef>& refs) {
    std::vector<bool> goes(records.size());
    for (const WorkRef ref : refs) {
      if (ref.list == list) goes[ref.index] = true;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (goes[i]) continue;
      if (kept != i) records[kept] = std::move(records[i]);
      ++kept;
    }
    records.resize(kept);
  }

  std::string NameOf(WorkRef ref) {
    if (ref.list == WorkRef::List::kKernels) return "kernel " + trace().kernels[ref.index].name;
    return ref.list == WorkRef::List::kCopies ? "a copy" : "a memset";
  }

  const SanitiserLimits limits_;
  SanitisedTrace result_;
  LaunchCensus census_;
  std::unordered_set<Id> early_;  // correlations of launches that may begin before their predecessor's end
  std::int64_t lost_ = 0;
  std::int64_t with_launch_ = 0;
  std::int64_t before_launch_ = 0;
};

}  // namespace

std::string_view ToString(Fault fault) {
  return kFaultNames[static_cast<std::size_t>(fault)];
}

const Finding* SanitisedTrace::Find(Fault fault) const {
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [&](const Finding& finding) { return finding.fault == fault; });
  return found == findings.end() ? nullptr : &*found;
}

SanitisedTrace Sanitise(ActivityTrace trace, const SanitiserLimits& limits) {
  return Sanitiser(std::move(trace), limits).Run();
}

}  // namespace stowplan::profiler
