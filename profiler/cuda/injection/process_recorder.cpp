#include "profiler/cuda/injection/process_recorder.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <unistd.h>

#include "profiler/cuda/cupti_callbacks.h"
#include "profiler/host_machine.h"
#include "profiler/injection.h"
#include "profiler/traces/activity_merge.h"
#include "profiler/traces/correlation.h"
#include "profiler/traces/nvtx_ops.h"
#include "sim/base/error.h"

namespace stowplan::profiler::cuda {
namespace {

constexpr std::chrono::seconds kFlush(1);  // what a kill may cost

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A launch leaves its call; one whose call is not recorded leaves its kernel.
std::int64_t LaunchesSeen(const ActivityTrace& trace) {
  const auto calls = std::ranges::count_if(
      trace.calls, [](const ApiCall& call) { return IsKernelLaunch(call.name) || IsGraphLaunch(call.name); });
  return std::max<std::int64_t>(calls, static_cast<std::int64_t>(trace.kernels.size()));
}

// Empty where most launches were seen: some are always underway.
std::string WhyUnseen(std::int64_t seen, std::int64_t launches) {
  if (2 * seen >= launches) return "";
  return fmt::format(
      "CUPTI handed over {} of {} launches: the program profiles itself and takes CUPTI's records; switch "
      "its "
      "profiler off",
      seen, launches);
}

}  // namespace

ProcessRecorder::ProcessRecorder() : process_(std::to_string(::getpid())), date_(NowUtc()) {
  const std::string file = Variable(kInjectionFile);
  if (file.empty()) return;
  try {
    stream_ = std::make_unique<RecordingStream>(file);
    Begin();
  } catch (const std::exception& error) {
    SetFailure(error.what());
  }
}

void ProcessRecorder::SetFailure(std::string why) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(why);
}

std::string ProcessRecorder::Failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void ProcessRecorder::Begin() {
  window_.emplace(ParseWindowEdge("--after", Variable(kInjectionAfter)),
                  ParseWindowEdge("--for", Variable(kInjectionFor)), [this](bool opens) {
                    try {
                      opens ? recorder_->Start() : recorder_->Pause();
                    } catch (const std::exception& error) {
                      SetFailure(error.what());  // by the thread that launches
                    }
                  });
  ProgramWatch watch;
  watch.launched = [this] { window_->Launched(Now()); };
  if (window_->AsksRanges()) {
    watch.range_began = [this](std::string_view range) { window_->RangeBegan(range, Now()); };
    watch.range_ended = [this](std::string_view range) { window_->RangeEnded(range, Now()); };
  }
  Subscribe(std::move(watch));
  const std::int64_t mib = std::atoll(Variable(kInjectionBufferMib).c_str());
  recorder_ = std::make_unique<CuptiActivity>(mib > 0 ? mib << 20 : INT64_MAX,
                                              [this](ActivityTrace trace) { Write(std::move(trace)); });
  recorder_->Start();  // says now, not in an hour, what cannot be recorded
  recorder_->Pause();
  window_->Begin();
}

double ProcessRecorder::Now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void ProcessRecorder::Tick() {
  const std::lock_guard lock(ticking_);
  if (recorder_ == nullptr || done_) return;
  window_->At(Now());
  recorder_->Flush();
}

std::chrono::milliseconds ProcessRecorder::UntilNextTick() const {
  const std::optional<double> next = window_ ? window_->NextTime() : std::nullopt;
  if (!next) return kFlush;
  const std::chrono::milliseconds left(static_cast<std::int64_t>(std::clamp(*next - Now(), 0.0, 1.0) * 1e3));
  return std::min<std::chrono::milliseconds>(kFlush, left + std::chrono::milliseconds(1));
}

std::string ProcessRecorder::Append(Part part) {
  part.date = date_;
  Recording recording;
  recording.kind = kActivityKind;
  recording.software = {{"cupti", {CuptiActivity::Version()}}};
  recording.Put("process " + process_, std::move(part));
  return stream_->Append(recording);
}

void ProcessRecorder::Write(ActivityTrace trace) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  const std::int64_t records = RecordsIn(trace), lost = trace.lost_records;
  if (records == 0 && lost + trace.cut_records == 0) return;
  std::string why;
  try {
    launches_seen_ += LaunchesSeen(trace) + lost;
    TellNvtxOps(trace);
    Part part;
    part.incomplete = kNotClosed;
    part.activity = std::move(trace);
    part.activity->lost_records += unwritten_;
    why = Append(std::move(part));
  } catch (const std::exception& error) {  // no memory
    why = error.what();
  }
  if (why.empty()) {
    written_ = true;
    unwritten_ = 0;
  } else {
    unwritten_ += records + lost;
    why_unwritten_ = why;
  }
}

Part ProcessRecorder::LastPart() {
  Part part;
  part.activity.emplace();
  try {
    if (const std::string failure = Failure(); !failure.empty()) throw RunError(failure);
    cudaDeviceSynchronize();  // in a process that has closed CUDA already this fails, and there is nothing to wait for
    part.activity = recorder_->Stop();
  } catch (const std::exception& error) {
    part.incomplete = error.what();
  }
  const bool failed = !part.incomplete.empty();
  // Before the lock: a thread that opens the window waits for records that wait for the lock.
  const std::string never_open = failed ? "" : window_->WhyNeverOpen();
  const std::int64_t launches = failed ? 0 : window_->LaunchesWithin();
  const std::lock_guard lock(mutex_);
  closed_ = true;
  if (failed && !written_) {
    part.outcome = Part::Outcome::kFailed;
    part.reason = std::exchange(part.incomplete, {});
    part.activity.reset();
  }
  if (failed) return part;
  TellNvtxOps(*part.activity);
  launches_seen_ += LaunchesSeen(*part.activity);
  part.activity->lost_records += unwritten_;
  part.incomplete = !never_open.empty()       ? "nothing was recorded: " + never_open
                    : !why_unwritten_.empty() ? "records could not be written: " + why_unwritten_
                                              : WhyUnseen(launches_seen_, launches);
  return part;
}

void ProcessRecorder::WriteLast() {
  Part part = LastPart();
  std::string why = Append(part);
  if (!why.empty() && part.activity) {  // without its records it may have room
    const std::int64_t lost = part.activity->lost_records + RecordsIn(*part.activity);
    part.activity.emplace().lost_records = lost;
    part.incomplete = "records could not be written: " + why;
    why = Append(part);
  }
  if (!why.empty())
    fmt::print(stderr, "stowplan-profile: the last records of process {} could not be written: {}\n",
               process_, why);
}

void ProcessRecorder::Close() {
  static std::once_flag once;
  std::call_once(once, [this] {
    const std::lock_guard lock(ticking_);
    done_ = true;
    if (stream_ == nullptr) return;
    try {
      WriteLast();
    } catch (const std::exception&) {
      // No memory: the part stays as it is, not closed.
    }
  });
}

}  // namespace stowplan::profiler::cuda
