#include "cost_models/calibration/step_ops.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "cost_models/calibration/framework_ops.h"
#include "profiler/probes.h"
#include "profiler/traces/correlation.h"
#include "sim/base/error.h"
#include "sim/base/statistics.h"

namespace stowplan::cost_models {
namespace {

using profiler::ActivityTrace;
using profiler::LinkedWork;

// What one call of an op ran on the device, copies to and from elsewhere left out.
struct Call {
  double us = 0;
  std::int64_t records = 0;
  std::vector<std::string_view> kernels;
};

bool IsHost(profiler::MemoryKind kind) {
  return kind == profiler::MemoryKind::kPageable || kind == profiler::MemoryKind::kPinned;
}

constexpr char kCopies[] = "copies";
constexpr char kCollectives[] = "collectives";

// A copy that leaves the device.
bool IsTransfer(const profiler::Copy& copy) {
  return IsHost(copy.from) || IsHost(copy.to) || copy.from_device != copy.to_device;
}

// Names may be mangled: "_Z39ncclDevKernel_AllReduce…".
bool IsCollective(std::string_view kernel) {
  if (kernel.starts_with("_Z"))
    kernel.remove_prefix(std::min(kernel.find_first_not_of("0123456789", 2), kernel.size()));
  return kernel.starts_with("nccl") || kernel.starts_with("rccl");
}

// The ranges in which PyTorch says what a collective of its op moves, by thread; they do not nest.
class CollectiveRanges {
 public:
  explicit CollectiveRanges(const ActivityTrace& trace) {
    for (const profiler::Marker& marker : trace.markers)
      if (marker.name.starts_with("nccl:")) ranges_[{marker.process, marker.thread}].push_back(&marker);
    for (auto& [thread, ranges] : ranges_) std::ranges::stable_sort(ranges, {}, &profiler::Marker::start);
  }
  // Null where there is none.
  const profiler::Marker* Within(const profiler::Marker& op) const {
    const auto thread = ranges_.find({op.process, op.thread});
    if (thread == ranges_.end()) return nullptr;
    const auto first = std::ranges::lower_bound(thread->second, op.start, {}, &profiler::Marker::start);
    return first != thread->second.end() && (*first)->end <= op.end ? *first : nullptr;
  }

 private:
  std::map<std::pair<profiler::Id, profiler::Id>, std::vector<const profiler::Marker*>> ranges_;
};

class StepReader {
 public:
  StepReader(const ActivityTrace& trace, double transition_us)
      : trace_(trace), collectives_(trace), transition_us_(transition_us) {}

  void Read(StepOps* into) {
    for (const LinkedWork& linked : profiler::Correlate(trace_).work) Add(linked);
    for (const auto& [marker, call] : calls_) Tell(trace_.markers[marker], call);
    into->copies_us = transfers_[kCopies];
    into->collectives_us = transfers_[kCollectives];
    into->told_us = told_us_ + into->copies_us + into->collectives_us;
    into->unshaped_us = unshaped_us_;
    into->device_us = into->told_us;
    for (auto& [why, time] : untold_) {
      into->device_us += time.us;
      into->untold.push_back({why, time.us, time.records});
    }
    std::ranges::stable_sort(into->untold, std::ranges::greater{}, &UntoldTime::us);
    for (auto& [key, one] : ops_) into->ops.push_back(Finished(std::move(one)));
    for (StepOp& one : into->ops) one.op.workload = into->workload;
  }

 private:
  using Key =
      std::tuple<std::string, std::string, std::string, std::vector<std::pair<std::string, std::int64_t>>>;
  struct Calls {
    std::vector<ObservedOp> ops;
    std::vector<double> times_us;
  };

  void Add(const LinkedWork& linked) {
    const double us = static_cast<double>(linked.device_time) / 1e3;
    if (linked.work.list == profiler::WorkRef::List::kCopies) {
      const profiler::Copy& copy = trace_.copies[linked.work.index];
      if (IsTransfer(copy)) return AddTransfer(kCopies, CopyOf(copy, linked.op), us);
    }
    if (linked.work.list == profiler::WorkRef::List::kKernels &&
        IsCollective(trace_.kernels[linked.work.index].name))
      return AddTransfer(kCollectives, CollectiveOf(linked.op), us);
    if (linked.op == profiler::kNobody) return Leave("within no op", us, 1);
    Call& call = calls_[static_cast<std::size_t>(linked.op)];
    call.us += us;
    ++call.records;
    if (linked.work.list == profiler::WorkRef::List::kKernels)
      call.kernels.push_back(trace_.kernels[linked.work.index].name);
  }

  // ROCm says no bytes; the op that copies has shapes.
  std::optional<ObservedOp> CopyOf(const profiler::Copy& copy, std::ptrdiff_t op) const {
    sim::Bytes bytes = copy.bytes;
    if (bytes == 0 && op != profiler::kNobody) {
      const ToldOp told = TellOp(trace_.markers[static_cast<std::size_t>(op)], {});
      if (told.ops.size() == 1 && told.ops[0].op == "copy")
        bytes = told.ops[0].shape[0].second * profiler::BytesOf(told.ops[0].format);
    }
    if (bytes <= 0) return std::nullopt;
    const auto memory = [](profiler::MemoryKind kind) {
      return profiler::kMemoryKindNames[static_cast<std::size_t>(kind)];
    };
    return ObservedOp{.op = fmt::format("copy {} to {}", memory(copy.from), memory(copy.to)),
                      .phase = "forward",
                      .shape = {{"bytes", bytes}}};
  }

  std::optional<ObservedOp> CollectiveOf(std::ptrdiff_t op) const {
    if (op == profiler::kNobody) return std::nullopt;
    const profiler::Marker& marker = trace_.markers[static_cast<std::size_t>(op)];
    const profiler::Marker* const range = collectives_.Within(marker);
    const auto told = TellCollective(marker);
    return told || range == nullptr ? told : TellCollective(*range);
  }

  void AddTransfer(const char* what, std::optional<ObservedOp> told, double us) {
    if (!told) return Leave(fmt::format("{} without bytes", what), us, 1);
    transfers_[what] += us;
    Calls& calls = ops_[{told->op, told->phase, told->format, told->shape}];
    calls.times_us.push_back(us);
    calls.ops = {std::move(*told)};
  }

  void Leave(const std::string& why, double us, std::int64_t records) {
    UntoldTime& time = untold_[why];
    time.us += us;
    time.records += records;
  }

  void Tell(const profiler::Marker& marker, const Call& call) {
    ToldOp told = TellOp(marker, call.kernels);
    if (told.ops.empty()) {
      if (told.why_not.ends_with(kUnshaped)) unshaped_us_ += call.us;
      return Leave(told.why_not, call.us, call.records);
    }
    told_us_ += call.us;
    if (call.us <= 0) return;
    const ObservedOp& first = told.ops.front();
    // One call that does two ops is another thing than the first of them alone.
    const std::string op = first.op + (told.ops.size() > 1 ? " and " + told.ops[1].phase : "");
    Calls& calls = ops_[{op, first.phase, first.format, first.shape}];
    calls.times_us.push_back(call.us + transition_us_ * static_cast<double>(call.records));
    calls.ops = std::move(told.ops);
  }

  static StepOp Finished(Calls calls) {
    StepOp one{.op = std::move(calls.ops.front()), .second = std::nullopt};
    if (calls.ops.size() > 1) one.second = std::move(calls.ops[1]);
    const double median = Quantile(calls.times_us, 0.5);
    std::vector<double> distances;
    for (const double time : calls.times_us) distances.push_back(std::abs(time - median));
    one.op.hot = {.count = static_cast<std::int64_t>(calls.times_us.size()),
                  .median_us = median,
                  .mad_us = Quantile(distances, 0.5),
                  .low_us = Quantile(calls.times_us, 0.05),
                  .high_us = Quantile(calls.times_us, 0.95)};
    return one;
  }

  const ActivityTrace& trace_;
  const CollectiveRanges collectives_;
  const double transition_us_;
  std::map<std::size_t, Call> calls_;  // by marker
  std::map<Key, Calls> ops_;
  std::map<std::string, UntoldTime> untold_;
  std::map<std::string, double> transfers_;
  double told_us_ = 0, unshaped_us_ = 0;
};

}  // namespace

StepOps OpsOfSteps(const std::string& source, const ActivityTrace& trace, double transition_us) {
  const profiler::SanitisedTrace clean = profiler::Sanitise(trace);
  if (clean.verdict == profiler::SanitisedTrace::Verdict::kRefused)
    throw InputError(source + ": " + clean.sentence);
  StepOps made;
  made.workload = std::filesystem::path(source).filename().string();
  made.workload = made.workload.substr(0, made.workload.find('.'));
  made.verdict = clean.sentence;
  StepReader(clean.trace, transition_us).Read(&made);
  if (made.device_us <= 0)
    throw InputError(source +
                     ": holds no work of a GPU; record with the device's activities "
                     "(torch.profiler: ProfilerActivity.CUDA)");
  return made;
}

std::string AccountOf(const StepOps& steps) {
  constexpr std::size_t kNamed = 5;
  const auto share = [&](double us) { return fmt::format("{:.1f} %", 100 * us / steps.device_us); };
  std::string text = share(steps.told_us) + " told";
  double others = 0;
  for (std::size_t i = 0; i < steps.untold.size(); ++i) {
    const UntoldTime& time = steps.untold[i];
    if (i < kNamed) {
      text += fmt::format("; {} {}", time.why, share(time.us));
    } else {
      others += time.us;
    }
  }
  if (steps.untold.size() > kNamed)
    text += fmt::format("; {} others {}", steps.untold.size() - kNamed, share(others));
  return text;
}

}  // namespace stowplan::cost_models
