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

}  // namespace

ProcessRecorder::ProcessRecorder() : process_(std::to_string(::getpid())), date_(NowUtc()) {
  const std::string file = Variable(kInjectionFile);
  if (file.empty()) return;
  try {
    stream_ = std::make_unique<RecordingStream>(file);
    Begin();
  } catch (const std::exception& error) {
    failure_ = error.what();
  }
}

void ProcessRecorder::Begin() {
  window_.emplace(ParseWindowEdge("--after", Variable(kInjectionAfter)),
                  ParseWindowEdge("--for", Variable(kInjectionFor)), [this](bool opens) {
                    try {
                      opens ? recorder_->Start() : recorder_->Pause();
                    } catch (const std::exception& error) {
                      failure_ = error.what();
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
  if (recorder_ == nullptr) return;
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
  const std::int64_t records = RecordsIn(trace);
  if (records == 0 && trace.lost_records + trace.cut_records == 0) return;
  try {
    launches_seen_ += LaunchesSeen(trace) + trace.lost_records;
    TellNvtxOps(trace);
    Part part;
    part.incomplete = kNotClosed;
    part.activity = std::move(trace);
    part.activity->lost_records += std::exchange(unwritten_, 0);
    const std::int64_t counted = part.activity->lost_records;
    const std::string why = Append(std::move(part));
    written_ = written_ || why.empty();
    if (why.empty()) return;
    unwritten_ = counted + records;
    why_unwritten_ = why;
  } catch (const std::exception& error) {  // no memory
    unwritten_ += records;
    why_unwritten_ = error.what();
  }
}

Part ProcessRecorder::LastPart() {
  Part part;
  part.activity.emplace();
  try {
    if (!failure_.empty()) throw RunError(failure_);
    cudaDeviceSynchronize();  // in a process that has closed CUDA already this fails, and there is nothing to wait for
    part.activity = recorder_->Stop();
  } catch (const std::exception& error) {
    part.incomplete = error.what();
  }
  const std::lock_guard lock(mutex_);
  closed_ = true;
  if (!part.incomplete.empty()) {
    if (written_) return part;
    Part failed;
    failed.outcome = Part::Outcome::kFailed;
    failed.reason = part.incomplete;
    return failed;
  }
  TellNvtxOps(*part.activity);
  launches_seen_ += LaunchesSeen(*part.activity);
  part.activity->lost_records += unwritten_;
  part.incomplete = WhyIncomplete();
  return part;
}

std::string ProcessRecorder::WhyIncomplete() const {
  if (const std::string why = window_->WhyNeverOpen(); !why.empty()) return "nothing was recorded: " + why;
  if (!why_unwritten_.empty()) return "records could not be written: " + why_unwritten_;
  const std::int64_t launches = window_->LaunchesWithin();
  if (2 * launches_seen_ >= launches) return "";
  return fmt::format(
      "CUPTI handed over {} of {} launches: the program profiles itself and takes CUPTI's records; switch "
      "its "
      "profiler off",
      launches_seen_, launches);
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
    if (stream_ == nullptr) return;
    try {
      WriteLast();
    } catch (const std::exception&) {
      // No memory: the part stays as it is, not closed.
    }
  });
}

}  // namespace stowplan::profiler::cuda
