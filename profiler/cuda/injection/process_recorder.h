// What one recorded process leaves in the file that `stowplan-profile record` names.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "profiler/cuda/cupti_activity.h"
#include "profiler/traces/record_window.h"
#include "profiler/traces/recording_stream.h"

namespace stowplan::profiler::cuda {

// Records from its construction to Close(), while the window of the environment is open. Every buffer of CUPTI's is
// written when it is handed over, so memory is bounded by the buffers and what was taken survives a kill. Nothing here
// fails the process: what goes wrong is a part with its reason.
class ProcessRecorder {
 public:
  ProcessRecorder();

  // Looks at the clock, and has CUPTI hand over what is complete. Behind Close() nothing: CUPTI may be gone.
  void Tick();
  std::chrono::milliseconds UntilNextTick() const;
  void Close();  // once; later calls do nothing

 private:
  void Begin();
  void Write(ActivityTrace trace);  // the sink of CUPTI's buffers
  void WriteLast();
  Part LastPart();
  std::string Append(Part part);
  double Now() const;
  void SetFailure(std::string why);
  std::string Failure();

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const std::string process_, date_;
  std::unique_ptr<RecordingStream> stream_;  // null where nobody asked, or the file cannot be written
  std::optional<RecordWindow> window_;
  std::unique_ptr<CuptiActivity> recorder_;

  std::mutex ticking_;  // of done_, and so that nothing ticks behind Close()
  bool done_ = false;

  std::mutex mutex_;  // of all below
  bool closed_ = false, written_ = false;
  std::int64_t launches_seen_ = 0, unwritten_ = 0;
  std::string why_unwritten_;
  std::string failure_;  // why nothing is recorded, or nothing more
};

}  // namespace stowplan::profiler::cuda
