// stowplan help: the reference that --help shows verb by verb, as a whole; docs/cli.md is its Markdown.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands/commands.h"
#include "cli/program.h"
#include "cli/reference.h"

namespace stowplan::cli {
namespace {

class HelpCommand : public Command {
 public:
  void Declare(CLI::App& app) override { AddExamples(app, {"stowplan help > cli.md"}); }
  void Run() override { fmt::print("{}", PrintCliReference()); }
};

}  // namespace

std::unique_ptr<Command> MakeHelpCommand() {
  return std::make_unique<HelpCommand>();
}

}  // namespace stowplan::cli
