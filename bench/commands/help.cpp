// berth help: the reference that --help shows verb by verb, as a whole; docs/cli.md is its Markdown.
#include <cctype>
#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/commands/commands.h"

namespace berth::bench {
namespace {

std::string OptionLine(const CLI::Option& option) {
  std::string name = option.get_name(true, true);
  for (std::size_t comma = name.find(','); comma != std::string::npos; comma = name.find(',', comma + 2)) {
    name.replace(comma, 1, ", ");
  }
  // A positional is called by its text, an option by its name and the text of its value.
  const std::string text = option.get_type_size() == 0 ? "" : option.get_option_text();
  std::string line =
      fmt::format("- `{}`", option.nonpositional() ? name + (text.empty() ? "" : " " + text) : text);
  if (!option.get_description().empty()) line += ": " + option.get_description();
  if (option.get_required()) line += " (required)";
  if (!option.get_default_str().empty()) line += fmt::format(" (default `{}`)", option.get_default_str());
  return line + "\n";
}

std::string Capitalised(std::string sentence) {
  if (!sentence.empty())
    sentence[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence[0])));
  return sentence;
}

void PrintVerb(const CLI::App& app, const std::string& name, std::string& text) {
  text += fmt::format("\n## {}\n\n{}.\n", name, Capitalised(app.get_description()));
  const auto children = app.get_subcommands([](const CLI::App*) { return true; });
  if (children.empty() && app.get_options().size() > 1) {
    text += "\n";
    for (const CLI::Option* option : app.get_options()) {
      if (option != app.get_help_ptr()) text += OptionLine(*option);
    }
  }
  for (const CLI::App* child : children) PrintVerb(*child, name + " " + child->get_name(), text);
}

class HelpCommand : public Command {
 public:
  void Declare(CLI::App&) override {}
  void Run() override { fmt::print("{}", PrintCliReference()); }
};

}  // namespace

std::string PrintCliMarkdown(const CLI::App& app) {
  std::string text =
      "# The command line\n\n"
      "Printed by `berth help`; a test compares it with the program.\n\n"
      "Graphs, clusters, scenarios and placements are names from `berth list` or files. Exit status: 0 done, "
      "1 the job\n"
      "failed, 2 the input or the call is wrong (one sentence on standard error). With `--json -` standard "
      "output holds\n"
      "the JSON and nothing else; progress goes to standard error. Ctrl-C ends long work cleanly, with what "
      "is done saved\n"
      "and exit status 0; `run.json` of `berth place` then says that it was interrupted.\n";
  for (const CLI::App* child : app.get_subcommands([](const CLI::App*) { return true; })) {
    PrintVerb(*child, "berth " + child->get_name(), text);
  }
  return text;
}

std::unique_ptr<Command> MakeHelpCommand() {
  return std::make_unique<HelpCommand>();
}

}  // namespace berth::bench
