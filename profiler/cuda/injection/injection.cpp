// libstowplan_injection.so: what the CUDA driver calls in a process that `stowplan-profile record` started: records until the process ends, and
// leaves one file, also where a signal ends it that it does not handle itself. Nothing here may fail the process: what goes wrong is a failed part with its reason.
#include "profiler/injection.h"

#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include "profiler/backend.h"
#include "profiler/cuda/cupti_activity.h"
#include "profiler/host_machine.h"
#include "profiler/traces/nvtx_ops.h"
#include "profiler/traces/recording.h"

namespace stowplan::profiler::cuda {
namespace {

// Neither is freed: the process may use CUDA until its last moment.
CuptiActivity* recorder = nullptr;
std::string* start_failure = nullptr;
// A process that is forked from it inherits all of this but the threads, and cannot use CUDA: it leaves nothing.
::pid_t recorded_process = 0;

Part Finished() {
  Part part;
  part.date = NowUtc();
  part.outcome = Part::Outcome::kFailed;
  if (start_failure != nullptr) {
    part.reason = *start_failure;
    return part;
  }
  try {
    cudaDeviceSynchronize();  // in a process that has closed CUDA already this fails, and there is nothing to wait for
    part.activity = recorder->Stop();
    TellNvtxOps(*part.activity);
    part.outcome = Part::Outcome::kMeasured;
  } catch (const std::exception& error) {
    part.reason = error.what();
  }
  return part;
}

void Leave() {
  if (::getpid() != recorded_process) return;
  const char* const folder = std::getenv(kInjectionFolder);
  if (folder == nullptr) return;
  try {
    const std::string process = std::to_string(::getpid());
    Recording recording;
    recording.kind = kActivityKind;
    recording.software = {{"cupti", {CuptiActivity::Version()}}};
    recording.Put("process " + process, Finished());
    WriteRecording(std::string(folder) + "/" + process + ".json", recording);
  } catch (const std::exception&) {
    // The folder is gone, or full: stowplan-profile says that nothing was recorded.
  }
}

int told_of_signals[2] = {-1, -1};  // a pipe: a signal's handler may do no more than write to it

void Tell(int number) {
  if (::getpid() != recorded_process) {  // its parent's pipe: the signal is this process's alone
    std::signal(number, SIG_DFL);
    ::raise(number);
    return;
  }
  const auto byte = static_cast<char>(number);
  (void)!::write(told_of_signals[1], &byte, 1);
}

// A process that a signal ends runs no atexit handlers: a thread does their part, and ends it as the signal would have.
void LeaveOnSignals() {
  if (::pipe2(told_of_signals, O_CLOEXEC) != 0) return;
  std::thread([] {
    char number = 0;
    if (::read(told_of_signals[0], &number, 1) != 1) return;
    Leave();
    std::signal(number, SIG_DFL);
    ::kill(::getpid(), number);
  }).detach();
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction now {};
    if (::sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) std::signal(number, Tell);
  }
}

// CUPTI records ranges where NVTX opens CUPTI itself; it opens this library, which passes the call on.
int PassToCupti(const char* function, void* get_export_table) {
  void* const library = CuptiActivity::Library();
  if (library == nullptr) return 0;
  const auto initialize = reinterpret_cast<int (*)(void*)>(::dlsym(library, function));
  return initialize == nullptr ? 0 : initialize(get_export_table);
}

}  // namespace
}  // namespace stowplan::profiler::cuda

extern "C" {
__attribute__((visibility("default"))) int InitializeInjection();  // by the driver
__attribute__((visibility("default"))) int InitializeInjectionNvtx(
    void* get_export_table);  // by NVTX 1 and 2
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(void* get_export_table);  // by NVTX 3
}

int InitializeInjectionNvtx(void* get_export_table) {
  return stowplan::profiler::cuda::PassToCupti("InitializeInjectionNvtx", get_export_table);
}
int InitializeInjectionNvtx2(void* get_export_table) {
  return stowplan::profiler::cuda::PassToCupti("InitializeInjectionNvtx2", get_export_table);
}

int InitializeInjection() {
  using namespace stowplan::profiler::cuda;
  recorded_process = ::getpid();
  try {
    recorder = new CuptiActivity;
    recorder->Start();
  } catch (const std::exception& error) {
    start_failure = new std::string(error.what());
  }
  std::atexit(Leave);
  LeaveOnSignals();
  return 1;
}
