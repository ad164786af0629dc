#include "bench/provenance.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <fstream>
#include <thread>

#include "berth_revision.h"

namespace berth::bench {
namespace {

std::string& CommandLine() {
  static std::string line = "berth";
  return line;
}

// An argument as a shell would need it.
std::string Quoted(const std::string& argument) {
  static const std::string kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,@%+";
  if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string::npos) return argument;
  std::string quoted = "'";
  for (const char c : argument) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
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

}  // namespace

void RememberCommandLine(int argc, const char* const* argv) {
  std::string line = "berth";
  for (int i = 1; i < argc; ++i) line += " " + Quoted(argv[i]);
  CommandLine() = line;
}

Provenance CurrentProvenance() {
  const unsigned cores = std::thread::hardware_concurrency();
  Provenance provenance;
  provenance.command = CommandLine();
  provenance.version = BERTH_VERSION;
  provenance.revision = BERTH_REVISION;
  provenance.dirty = BERTH_DIRTY;
  provenance.machine = fmt::format("{}, {} core{}", CpuModel(), cores, cores == 1 ? "" : "s");
  provenance.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  return provenance;
}

}  // namespace berth::bench
