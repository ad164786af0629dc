// The whole program: its verbs parsed and run, and described for whoever prints them.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace stowplan::cli {

struct ExitStatus {
  int status;
  const char* what;
};
// All that there are.
const std::vector<ExitStatus>& ExitStatuses();

// The whole program: parses, runs the verb, turns failures into one sentence on standard error. Returns the
// exit status.
int RunProgram(int argc, const char* const* argv);

// "0.2.0 (0123456789ab, with changes)"
std::string Version();

// All verbs declared, for whoever prints or searches them.
void WithProgram(const std::function<void(const CLI::App& program)>& use);

}  // namespace stowplan::cli
