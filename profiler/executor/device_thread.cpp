// What makes a thread a device: its cores, its slices of time, its arithmetic.
#include <cerrno>
#include <cstring>
#include <string>

#include <dlfcn.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/executor/executor.h"
#include "sim/error.h"

namespace berth::profiler {
namespace {

// The kernel's sched_attr, version 0; glibc has no wrapper.
struct ScheduleAttributes {
  std::uint32_t size = sizeof(ScheduleAttributes);
  std::uint32_t policy = 0;  // SCHED_OTHER
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;  // of SCHED_OTHER: the length of a slice, since Linux 6.12
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
};

// A longer slice gives no more time than a fair share, in fewer and longer pieces. Older kernels refuse or
// ignore it, which does no harm.
void AskForLongSlices() {
  constexpr std::uint64_t kLongest = 100'000'000;
  ScheduleAttributes attributes;
  attributes.nice = ::getpriority(PRIO_PROCESS, 0);
  attributes.runtime_ns = kLongest;
  ::syscall(SYS_sched_setattr, 0, &attributes, 0);
}

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
  AskForLongSlices();
  SetThreadsOfOps(static_cast<int>(cores.size()));
#if defined(__SSE2__)
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040U);  // flush to zero, denormals are zero
#endif
}

std::vector<int> AvailableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(static_cast<unsigned>(core), &set)) cores.push_back(core);
  return cores;
}

std::int64_t Preemptions() {
  rusage use{};
  ::getrusage(RUSAGE_THREAD, &use);
  return use.ru_nivcsw + use.ru_nvcsw;
}

}  // namespace berth::profiler
