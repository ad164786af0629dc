#include "profiler/host_machine.h"

#include <ctime>
#include <fstream>
#include <thread>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "sim/base/processor.h"

namespace stowplan::profiler {
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
  const char* const vectors = sim::HasAvx512() ? ", AVX-512" : sim::HasAvx2() ? ", AVX2" : "";
  return fmt::format("{}, {} core{}{}", CpuModel(), cores, cores == 1 ? "" : "s", vectors);
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

}  // namespace stowplan::profiler
