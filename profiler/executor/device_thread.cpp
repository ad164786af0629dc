// What makes a thread a device: its cores, its arithmetic.
#include "profiler/executor/device_thread.h"

#include <cerrno>
#include <cstring>
#include <exception>
#include <string>
#include <thread>

#include <dlfcn.h>
#include <sched.h>
#include <sys/resource.h>

#include "sim/base/error.h"

namespace stowplan::profiler {
namespace {

// How many threads oneDNN's parallel regions have when this thread opens them. Asked of the OpenMP runtime that
// oneDNN has brought along, whichever it is.
void SetThreadsOfOps(int threads) {
  using Setter = void (*)(int);
  if (const auto set = reinterpret_cast<Setter>(::dlsym(RTLD_DEFAULT, "omp_set_num_threads"))) set(threads);
}

}  // namespace

void BecomeDevice(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::string names;
  for (const int core : cores) {
    if (core < 0 || core >= CPU_SETSIZE)
      throw InputError("core " + std::to_string(core) + " cannot be there");
    CPU_SET(static_cast<unsigned>(core), &set);
    names += (names.empty() ? "" : ", ") + std::to_string(core);
  }
  if (::sched_setaffinity(0, sizeof(set), &set) != 0)
    throw RunError("a thread cannot be pinned to core " + names + ": " + std::strerror(errno));
  SetThreadsOfOps(static_cast<int>(cores.size()));
#if defined(__SSE2__)
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040U);  // flush to zero, denormals are zero
#endif
}

void OnDevice(const std::vector<int>& cores, const std::function<void()>& work) {
  std::exception_ptr failure;
  std::thread([&] {
    try {
      BecomeDevice(cores);
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure != nullptr) std::rethrow_exception(failure);
}

std::int64_t Preemptions() {
  rusage use{};
  ::getrusage(RUSAGE_THREAD, &use);
  return use.ru_nivcsw;
}

}  // namespace stowplan::profiler
