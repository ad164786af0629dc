#include "scenarios/importers/trace/timeline.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "scenarios/importers/trace/kernel_classes.h"

namespace stowplan::scenarios::trace {
namespace {

using profiler::kNobody;
using profiler::Nanos;

constexpr Nanos kStampError = 1'000;  // two clocks of one trace may differ by so much
// From kernel to kernel, and from a launch to its kernel, devices take 1 to 10 us; what takes longer waits for something.
constexpr Nanos kLongestGap = 20'000;
// Kernels of one op further apart than this are issued one by one.
constexpr Nanos kCloseKernels = 5'000;

struct Work {
  Nanos start = 0, end = 0;
  Nanos takes = 0;  // without what ran beside it on its stream
  std::int32_t stream = 0;
  bool is_launched = false;
  bool host_waits = false;
  Nanos call = 0, returned = 0;  // of its launch
};

struct HostWait {
  Nanos call = 0, returned = 0;
  std::vector<std::size_t> after;  // works
};

bool IsWaitingCall(std::string_view call) {
  return profiler::NameContains(call, "Synchronize");
}

class TimelineReader {
 public:
  TimelineReader(const profiler::ActivityTrace& trace, const profiler::Correlation& correlation,
                 std::span<const std::ptrdiff_t> owner)
      : trace_(trace), owner_(owner) {
    ReadWorks(correlation);
    FindLatency();
    ReadWaits();
  }

  Timeline Read() {
    Timeline& timeline = timeline_;
    const Nanos begin = works_.front().start;
    clock_ = reached_ = last_start_ = begin;
    Nanos end = begin;
    std::size_t wait = 0;
    for (std::size_t i = 0; i < works_.size(); ++i) {
      for (; wait < waits_.size() && waits_[wait].returned <= works_[i].start; ++wait) AddWait(waits_[wait]);
      if (Continues(i)) {
        Continue(i);
      } else {
        AddWork(i);
      }
      end = std::max(end, works_[i].end);
      timeline.unlaunched += works_[i].is_launched ? 0 : 1;
    }
    timeline.streams = static_cast<std::int32_t>(streams_.size());
    timeline.step_us = Micros(end - begin);
    for (const Issue& issue : timeline.issues) timeline.gap_us += issue.gap_us;
    return std::move(timeline_);
  }

 private:
  // What has run on a stream so far.
  struct Stream {
    std::vector<std::size_t> works;         // in their order
    std::optional<std::size_t> last_issue;  // so far
    Nanos free = 0;                         // as replayed
  };
  using StreamKey =
      std::tuple<std::int32_t, profiler::Id, profiler::Id, int>;  // device, context, stream, lane

  // ---- what was recorded

  void ReadWorks(const profiler::Correlation& correlation) {
    std::map<StreamKey, std::int32_t> numbers;
    for (const profiler::LinkedWork& linked : correlation.work) {
      const profiler::DeviceWork& record = profiler::WorkAt(trace_, linked.work);
      Work work{.start = record.start, .end = record.end, .takes = linked.device_time};
      // Nodes of one CUDA graph may run side by side on what is told as one stream.
      for (int lane = 0;; ++lane) {
        const auto [number, is_new] =
            numbers.try_emplace({record.device, record.context, record.stream, lane}, streams_.size());
        if (is_new) streams_.emplace_back();
        work.stream = number->second;
        const std::vector<std::size_t>& before = StreamOf(work).works;
        if (record.graph == 0 || before.empty() || works_[before.back()].end <= record.start + kStampError)
          break;
      }
      if (linked.call != kNobody) {
        const profiler::ApiCall& call = trace_.calls[static_cast<std::size_t>(linked.call)];
        work.is_launched = true;
        work.call = call.start;
        work.returned = call.end;
        work.host_waits = profiler::NameContains(call.name, "Memcpy") && call.end + kStampError >= work.end;
      }
      StreamOf(work).works.push_back(works_.size());
      works_.push_back(work);
    }
  }

  // Of a kernel that finds its stream empty, from the end of the call.
  void FindLatency() {
    std::vector<Nanos> found;
    for (const Stream& stream : streams_) {
      Nanos free = INT64_MIN;
      for (const std::size_t i : stream.works) {
        const Work& work = works_[i];
        if (work.is_launched && !work.host_waits && free <= work.call)
          found.push_back(work.start - work.returned);
        free = std::max(free, work.end);
      }
    }
    if (found.empty()) return;
    const auto middle = found.begin() + static_cast<std::ptrdiff_t>(found.size() / 2);
    std::nth_element(found.begin(), middle, found.end());
    latency_ = std::clamp<Nanos>(*middle, 0, kLongestGap);
  }

  // The last of a stream's that was asked for before `call` and has ended when it returned.
  std::optional<std::size_t> LastDone(const Stream& stream, Nanos call, Nanos returned) const {
    auto next = std::ranges::upper_bound(stream.works, returned + kStampError, {},
                                         [&](std::size_t i) { return works_[i].end; });
    while (next != stream.works.begin()) {
      const Work& work = works_[*--next];
      if (!work.is_launched || work.call <= call) return *next;
    }
    return std::nullopt;
  }

  // Of which stream or event, recorders of today tell in records of their own and others do not: it is then what ended last.
  void ReadWaits() {
    std::unordered_map<profiler::Id, const profiler::Synchronisation*> told;
    for (const profiler::Synchronisation& wait : trace_.synchronisations)
      told.emplace(wait.correlation, &wait);
    for (const profiler::ApiCall& call : trace_.calls) {
      if (!IsWaitingCall(call.name)) continue;
      const bool all = profiler::NameContains(call.name, "DeviceSynchronize") ||
                       profiler::NameContains(call.name, "CtxSynchronize");
      HostWait wait;
      wait.call = call.start;
      wait.returned = call.end;
      for (const Stream& stream : streams_) {
        const auto last = LastDone(stream, call.start, call.end);
        if (!last || (!all && works_[*last].end <= call.start)) continue;
        if (!all && !wait.after.empty()) {
          if (works_[wait.after.front()].end >= works_[*last].end) continue;
          wait.after.clear();
        }
        wait.after.push_back(*last);
      }
      if (wait.after.empty()) continue;
      for (const std::size_t work : wait.after)
        wait.returned = std::max(wait.returned, works_[work].start + 1);
      waits_.push_back(std::move(wait));
    }
    std::ranges::stable_sort(waits_, {}, &HostWait::returned);
  }

  // ---- the replay

  Stream& StreamOf(const Work& work) { return streams_[static_cast<std::size_t>(work.stream)]; }

  // When the host reaches what it reached at `at`; returns its time before that.
  double Advance(Nanos at) {
    reached_ = std::max(reached_, at);
    const Nanos takes = std::max<Nanos>(reached_ - clock_, 0);
    clock_ += takes;
    return Micros(takes);
  }

  // Of the same owner, right behind what was issued last.
  bool Continues(std::size_t i) const {
    if (i == 0 || owner_[i] == kNobody || owner_[i] != owner_[i - 1] || !may_continue_) return false;
    const Work &before = works_[i - 1], &work = works_[i];
    return before.stream == work.stream && !before.host_waits && !work.host_waits &&
           work.start - before.end <= kCloseKernels;
  }
  void Continue(std::size_t i) {
    const Work& work = works_[i];
    Stream& stream = StreamOf(work);
    const Nanos takes = std::max<Nanos>(work.start - stream.free, 0) + work.takes;
    stream.free += takes;
    Issue& issue = timeline_.issues.back();
    issue.work.push_back(i);
    issue.cost_us += Micros(takes);
    reached_ = std::max(reached_, HostReaches(work));
    issue_of_.push_back(timeline_.issues.size() - 1);
    ends_.push_back(stream.free);
  }

  Nanos HostReaches(const Work& work) const {
    if (!work.is_launched) return reached_;
    return std::min(work.host_waits ? work.call : work.returned + latency_, work.start);
  }

  void AddWork(std::size_t i) {
    const Work& work = works_[i];
    Stream& stream = StreamOf(work);
    Issue issue;
    issue.work = {i};
    issue.start = work.start;
    issue.stream = work.stream;
    issue.host_waits = work.host_waits;
    if (stream.last_issue) issue.after.push_back(*stream.last_issue);
    Nanos ready = std::max(stream.free, last_start_), host = HostReaches(work);
    if (const auto cause = Unrecorded(work, std::max(ready, host))) {
      issue.after.push_back(issue_of_[*cause]);
      ready = std::max(ready, ends_[*cause]);
    }
    // How long a launch takes to arrive varies; where nothing else is waited for, that is the host's.
    if (work.is_launched && host >= ready && work.start - host <= kLongestGap) host = work.start;
    issue.host_us = Advance(host);
    const Nanos start = std::max(ready, clock_);
    const Nanos gap = std::max<Nanos>(work.start - start, 0);
    if (gap > kLongestGap) issue.gap_us = Micros(gap);
    issue.cost_us = Micros(gap + work.takes);
    stream.free = start + gap + work.takes;
    stream.last_issue = timeline_.issues.size();
    last_start_ = start;
    if (work.host_waits) clock_ = std::max(clock_, stream.free);
    issue_of_.push_back(timeline_.issues.size());
    ends_.push_back(stream.free);
    AddIssue(std::move(issue));
    may_continue_ = true;
  }

  void AddIssue(Issue issue) {
    std::ranges::sort(issue.after);
    issue.after.erase(std::unique(issue.after.begin(), issue.after.end()), issue.after.end());
    timeline_.issues.push_back(std::move(issue));
  }

  // Events between streams are in few traces. Where a stream stood still for long, what ended just then on another one, and
  // was asked for before, is what it waited for.
  std::optional<std::size_t> Unrecorded(const Work& work, Nanos ready) const {
    if (work.start - ready <= kLongestGap) return std::nullopt;
    std::optional<std::size_t> cause;
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      if (static_cast<std::int32_t>(s) == work.stream) continue;
      const auto last = LastDone(streams_[s], work.is_launched ? work.call : INT64_MAX, work.start);
      if (!last || *last >= issue_of_.size() || work.start - works_[*last].end > kLongestGap) continue;
      if (!cause || works_[*cause].end < works_[*last].end) cause = last;
    }
    return cause;
  }

  void AddWait(const HostWait& wait) {
    if (wait.returned <= works_.front().start) return;
    Issue issue;
    issue.host_waits = true;
    issue.start = wait.returned;
    issue.host_us = Advance(std::min(wait.call + latency_, wait.returned));
    Nanos ready = std::max(clock_, last_start_);
    for (const std::size_t work : wait.after) {
      issue.after.push_back(issue_of_[work]);
      ready = std::max(ready, ends_[work]);
    }
    clock_ = last_start_ = ready;
    AddIssue(std::move(issue));
    may_continue_ = false;
  }

  const profiler::ActivityTrace& trace_;
  const std::span<const std::ptrdiff_t> owner_;
  std::vector<Work> works_;  // as in the correlation
  std::vector<Stream> streams_;
  std::vector<HostWait> waits_;  // by return
  Nanos latency_ = 0;            // from the end of a launch to its start

  Timeline timeline_;
  std::vector<std::size_t> issue_of_;  // by work, of those so far
  std::vector<Nanos> ends_;            // likewise, as replayed
  Nanos clock_ = 0;                    // of the host, as replayed
  Nanos reached_ = 0;                  // as traced, `latency_` later
  Nanos last_start_ = 0;               // as replayed
  bool may_continue_ = false;
};

}  // namespace

StepShares SharesOf(const profiler::ActivityTrace& trace) {
  struct Edge {
    Nanos time;
    bool computes;
    int change;
  };
  std::vector<Edge> edges;
  const auto add = [&](const profiler::DeviceWork& work, bool computes) {
    edges.push_back({work.start, computes, 1});
    edges.push_back({work.end, computes, -1});
  };
  for (const auto& kernel : trace.kernels) add(kernel, KernelClass(kernel.name) != "Collective");
  for (const auto& copy : trace.copies) add(copy, false);
  for (const auto& memset : trace.memsets) add(memset, false);
  std::ranges::stable_sort(edges, {}, &Edge::time);
  std::array<Nanos, 3> spent{};
  int computing = 0, running = 0;
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    running += edges[i].change;
    computing += edges[i].computes ? edges[i].change : 0;
    spent[computing > 0 ? 0 : running > 0 ? 1 : 2] += edges[i + 1].time - edges[i].time;
  }
  const auto all = static_cast<double>(std::max<Nanos>(spent[0] + spent[1] + spent[2], 1));
  return {static_cast<double>(spent[0]) / all, static_cast<double>(spent[1]) / all,
          static_cast<double>(spent[2]) / all};
}

std::int64_t StreamsFor(const Timeline& timeline) {
  const bool waits =
      std::ranges::any_of(timeline.issues, [](const Issue& issue) { return issue.work.empty(); });
  return timeline.streams + (timeline.streams > 1 && waits ? 1 : 0);
}

Timeline ReadTimeline(const profiler::ActivityTrace& trace, const profiler::Correlation& correlation,
                      std::span<const std::ptrdiff_t> owner) {
  return TimelineReader(trace, correlation, owner).Read();
}

}  // namespace stowplan::scenarios::trace
