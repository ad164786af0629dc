// The verbs of stowplan-profile. Each declares its options on its own part of the command line and says what to run
// after the parse; it throws InputError (status 2), RunError and Unavailable (status 1), or returns its status.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "profiler/backend.h"

namespace CLI {
class App;
}

namespace stowplan::profiler {

using RunVerb = std::function<int()>;

RunVerb DeclareList(CLI::App& app);
RunVerb DeclareRun(CLI::App& app);
RunVerb DeclareGraph(CLI::App& app);
RunVerb DeclareRecord(CLI::App& app);

// What every part of a recording says of its making.
const std::string& CommandLine();
std::string Revision();  // "0123456789ab", "-dirty" behind it where the tree had changes

// True once somebody pressed Ctrl-C: no further measurement is to start. Installs the handler at the first call.
bool Interrupted();

}  // namespace stowplan::profiler
