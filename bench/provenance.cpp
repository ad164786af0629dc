#include "bench/provenance.h"

#include <ctime>

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

}  // namespace

void RememberCommandLine(int argc, const char* const* argv, const std::string& program) {
  CommandLine() = argc > 1 ? program + " " + profiler::ShellText(argc - 1, argv + 1) : program;
}

Provenance CurrentProvenance() {
  Provenance provenance;
  provenance.command = CommandLine();
  provenance.version = BERTH_VERSION;
  provenance.revision = BERTH_REVISION;
  provenance.dirty = BERTH_DIRTY;
  provenance.machine = profiler::HostText();
  provenance.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  return provenance;
}

std::string Provenance::RevisionText() const {
  return revision + (dirty ? " (with changes)" : "");
}

std::vector<std::pair<std::string, std::string>> ProvenanceFacts() {
  const Provenance now = CurrentProvenance();
  return {{"command", now.command},
          {"revision", now.RevisionText()},
          {"machine", now.machine},
          {"date", now.date}};
}

}  // namespace berth::bench
