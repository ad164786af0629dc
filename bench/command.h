// What a verb of the program is. One file per verb in commands/, one row in commands.cpp; the help and
// docs/cli.md are printed from what the verbs declare.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace berth::bench {

// Contract:
//  - Declare() binds options to members of the command and starts nothing; the command outlives the parse;
//  - Run() is called once, after a parse that succeeded; it throws InputError for what the user got wrong and
//  RunError
//    for what could not be done; legitimate outcomes (out of memory, nothing feasible) are results, status 0;
//  - with `--json -` standard output holds the JSON and nothing else; progress and logs go to standard error.
class Command {
 public:
  virtual ~Command() = default;
  virtual void Declare(CLI::App& app) = 0;
  virtual void Run() = 0;
};

struct CommandRow {
  const char* name;
  const char* what;  // one line
  std::unique_ptr<Command> (*make)();
  bool shares_work = false;  // under mpirun all ranks run it together; else the first one alone
};
const std::vector<CommandRow>& Commands();

// The whole program: parses, runs the verb, turns failures into one sentence on standard error. Returns the
// exit status: 0 done, 1 the job failed, 2 the input or the call is wrong.
int RunProgram(int argc, const char* const* argv);

// The command line as docs/cli.md shows it: every verb, its options and defaults, in Markdown.
std::string PrintCliReference();

}  // namespace berth::bench
