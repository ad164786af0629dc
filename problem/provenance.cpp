#include "problem/provenance.h"

#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "profiler/host_machine.h"
#include "stowplan_revision.h"

namespace stowplan::problem {
namespace {

std::string& CommandLine() {
  static std::string line = "stowplan";
  return line;
}

}  // namespace

void RememberCommandLine(int argc, const char* const* argv, const std::string& program) {
  CommandLine() = argc > 1 ? program + " " + profiler::ShellText(argc - 1, argv + 1) : program;
}

Provenance CurrentProvenance() {
  Provenance provenance;
  provenance.command = CommandLine();
  provenance.version = STOWPLAN_VERSION;
  provenance.revision = STOWPLAN_REVISION;
  provenance.dirty = STOWPLAN_DIRTY;
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

void AddProvenance(nlohmann::ordered_json& json) {
  const Provenance now = CurrentProvenance();
  json["command"] = now.command;
  json["revision"] = now.revision;
  json["dirty"] = now.dirty;
  json["machine"] = now.machine;
  json["date"] = now.date;
}

}  // namespace stowplan::problem
