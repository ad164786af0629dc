#include "profiler/host_machine.h"

#include <ctime>
#include <fstream>
#include <thread>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace berth::profiler {
namespace {

// An argument as a shell would need it.
std::string Quoted(const std::string& argument) {
  static const std::string kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,@%+";
  if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string::npos) return argument;
  std::string quoted = "'";
  for (const char c : argument) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

std::vector<int> AvailableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(static_cast<unsigned>(core), &set)) cores.push_back(core);
  return cores;
}

std::string CpuModel() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown CPU";
}

std::string HostText() {
  const unsigned cores = std::thread::hardware_concurrency();  // whatever this process is bound to
  std::string text = fmt::format("{}, {} core{}", CpuModel(), cores, cores == 1 ? "" : "s");
#if defined(__x86_64__)
  // As oneDNN and the screens ask.
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    return text + ", AVX-512";
  if (__builtin_cpu_supports("avx2")) return text + ", AVX2";
#endif
  return text;
}

sim::Attributes DescribeHost() {
  utsname names{};
  uname(&names);
  const std::int64_t memory = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  return {{"cpu", {CpuModel()}},
          {"cores", {static_cast<std::int64_t>(AvailableCores().size())}},
          {"memory_bytes", {memory}},
          {"kernel", {std::string(names.release)}}};
}

std::string ShellText(int argc, const char* const* argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) line += (i == 0 ? "" : " ") + Quoted(argv[i]);
  return line;
}

std::string NowUtc() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S+00:00}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace berth::profiler
