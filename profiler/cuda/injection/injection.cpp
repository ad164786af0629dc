// libstowplan_injection.so: what the CUDA driver calls in a process that `stowplan-profile record` started. Records until
// the process ends, also where a signal ends it that it does not handle itself.
#include <csignal>
#include <cstdlib>
#include <thread>

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "profiler/cuda/cupti_activity.h"
#include "profiler/cuda/injection/process_recorder.h"

namespace stowplan::profiler::cuda {
namespace {

ProcessRecorder* recorder = nullptr;  // not freed: the process may use CUDA until its last moment
// A process that is forked from it inherits all of this but the threads, and cannot use CUDA: it leaves nothing.
::pid_t recorded_process = 0;

void Leave() {
  if (::getpid() == recorded_process) recorder->Close();
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

// A process that a signal ends runs no atexit handlers: the thread does their part, and ends it as the signal would have.
// Between signals it lets the recorder look at the clock.
void LookAfter() {
  for (;;) {
    pollfd told{told_of_signals[0], POLLIN, 0};
    if (::poll(&told, 1, static_cast<int>(recorder->UntilNextTick().count())) <= 0) {
      recorder->Tick();
      continue;
    }
    char number = 0;
    if (::read(told_of_signals[0], &number, 1) != 1) return;
    Leave();
    std::signal(number, SIG_DFL);
    ::kill(::getpid(), number);
  }
}

void StartLookingAfter() {
  if (::pipe2(told_of_signals, O_CLOEXEC) != 0) return;
  std::thread(LookAfter).detach();
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
  recorder = new ProcessRecorder;
  std::atexit(Leave);
  StartLookingAfter();
  return 1;
}
