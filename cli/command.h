// What a verb of the program is. One file per verb in commands/, one row in registry.cpp; help, manual pages,
// completion and docs/cli.md are made from what the verbs declare (reference.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace stowplan::cli {

// Contract:
//  - Declare() binds options to members of the command and starts nothing; the command outlives the parse. It gives
//    examples (AddExamples) and every number its range (problem/options.h);
//  - Run() is called once, after a parse that succeeded; it throws InputError for what the user got wrong, RunError for
//    what could not be done and Interrupted where the user stopped it; legitimate outcomes (out of memory, nothing
//    feasible) are results, status 0;
//  - with `--json -` standard output holds the JSON and nothing else; progress and logs go to standard error.
class Command {
 public:
  virtual ~Command() = default;
  virtual void Declare(CLI::App& app) = 0;
  virtual void Run() = 0;
};

struct CommandRow {
  const char* name;
  const char* what;                    // one line
  std::unique_ptr<Command> (*make)();  // null where there are verbs within
  bool shares_work = false;            // under mpirun all ranks run it together; else the first one alone
  const std::vector<CommandRow>& (*within)() = nullptr;
};
template <typename Verb>
std::unique_ptr<Command> Make() {
  return std::make_unique<Verb>();
}
const std::vector<CommandRow>& Commands();

}  // namespace stowplan::cli
