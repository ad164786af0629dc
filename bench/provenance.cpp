#include "bench/provenance.h"

#include <ctime>
#include <thread>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "berth_revision.h"
#include "profiler/host_machine.h"

namespace berth::bench {
namespace {

std::string& CommandLine() {
  static std::string line = "berth";
  return line;
}

// What libtorch's products, so a learner's draws, depend on, with the comma before it; of other processors nothing.
std::string Vectors() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return ", AVX-512";
  if (__builtin_cpu_supports("avx2")) return ", AVX2";
#endif
  return "";
}

}  // namespace

void RememberCommandLine(int argc, const char* const* argv, const std::string& program) {
  CommandLine() = argc > 1 ? program + " " + profiler::ShellText(argc - 1, argv + 1) : program;
}

Provenance CurrentProvenance() {
  const unsigned cores = std::thread::hardware_concurrency();
  Provenance provenance;
  provenance.command = CommandLine();
  provenance.version = BERTH_VERSION;
  provenance.revision = BERTH_REVISION;
  provenance.dirty = BERTH_DIRTY;
  provenance.machine =
      fmt::format("{}, {} core{}{}", profiler::CpuModel(), cores, cores == 1 ? "" : "s", Vectors());
  provenance.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  return provenance;
}

std::vector<std::pair<std::string, std::string>> ProvenanceFacts() {
  const Provenance now = CurrentProvenance();
  return {{"command", now.command},
          {"revision", now.revision + (now.dirty ? " (with changes)" : "")},
          {"machine", now.machine},
          {"date", now.date}};
}

}  // namespace berth::bench
