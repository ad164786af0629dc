// stowplan completion SHELL: what lets a shell complete verbs, options and names.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands/commands.h"
#include "cli/commands/completions.h"
#include "cli/program.h"
#include "cli/reference.h"

namespace stowplan::cli {
namespace {

// Instead of a shell: the scripts ask with it.
constexpr const char* kWords = "words";

class CompletionCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("shell", shell_, "whose script to print")->required()->option_text("bash|zsh|fish");
    app.add_option(
           "typed", typed_,
           "of `stowplan completion words -- WORD...`, with which the scripts ask: what is typed behind "
           "stowplan so far")
        ->option_text("WORD...");
    AddExamples(app, {"source <(stowplan completion bash)", "stowplan completion zsh > ~/.zfunc/_stowplan",
                      "stowplan completion fish > ~/.config/fish/completions/stowplan.fish"});
  }

  void Run() override {
    if (shell_ != kWords) {
      fmt::print("{}", CompletionScript(shell_));
      return;
    }
    WithProgram([&](const CLI::App& program) {
      for (const std::string& word : Completions(program, typed_)) fmt::print("{}\n", word);
    });
  }

 private:
  std::string shell_;
  std::vector<std::string> typed_;
};

}  // namespace

std::unique_ptr<Command> MakeCompletionCommand() {
  return std::make_unique<CompletionCommand>();
}

}  // namespace stowplan::cli
