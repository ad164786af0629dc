// Where a result comes from: what was typed, which revision, which machine, when.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace stowplan::problem {

struct Provenance {
  std::string command;  // as typed, but for the program's path
  std::string version;
  std::string revision;  // git commit the program was built from, "unknown" outside a repository
  bool dirty = false;    // built from a tree with changes that are in no commit
  std::string machine;   // "AMD EPYC 9B45, 2 cores, AVX-512"
  std::string date;      // UTC, "2026-11-21T00:12:33Z"

  std::string RevisionText() const;  // "1b41fda24c99 (with changes)"
};

// Remembers the command line; called once by main().
void RememberCommandLine(int argc, const char* const* argv, const std::string& program = "stowplan");

// The provenance of what is made now.
Provenance CurrentProvenance();

// The same for a page or report: command, revision, machine, date.
std::vector<std::pair<std::string, std::string>> ProvenanceFacts();

// In its document: adds command, revision, dirty, machine and date.
void AddProvenance(nlohmann::ordered_json& json);

}  // namespace stowplan::problem
