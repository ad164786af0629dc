// berth help: the reference that --help shows verb by verb, as a whole; docs/cli.md is its Markdown.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "bench/commands/commands.h"

namespace berth::bench {
namespace {

std::string OptionLine(const CLI::Option& option) {
  std::string name = option.get_name(true, true);
  for (std::size_t comma = name.find(','); comma != std::string::npos; comma = name.find(',', comma + 2)) {
    name.replace(comma, 1, ", ");
  }
  const std::string value = option.get_type_size() == 0 ? "" : " " + option.get_type_name();
  std::string line = fmt::format("- `{}{}`", name, value);
  if (!option.get_description().empty()) line += ": " + option.get_description();
  if (option.get_required()) line += " (required)";
  if (!option.get_default_str().empty()) line += fmt::format(" (default `{}`)", option.get_default_str());
  return line + "\n";
}

void PrintVerb(const CLI::App& app, const std::string& name, std::string& text) {
  text += fmt::format("\n## {}\n\n{}.\n", name, app.get_description());
  const auto children = app.get_subcommands([](const CLI::App*) { return true; });
  if (children.empty()) {
    text += "\n";
    for (const CLI::Option* option : app.get_options()) {
      if (option != app.get_help_ptr()) text += OptionLine(*option);
    }
  }
  for (const CLI::App* child : children) PrintVerb(*child, name + " " + child->get_name(), text);
  if (children.empty() && !app.get_footer().empty()) text += "\n" + app.get_footer() + "\n";
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
      "Graphs, clusters, scenarios and placements are names from `berth list` or files. Exit status: 0 done, 1 the job\n"
      "failed, 2 the input or the call is wrong (one sentence on standard error). With `--json -` standard output holds\n"
      "the JSON and nothing else; progress goes to standard error. Ctrl-C ends long work cleanly, with what is done saved.\n";
  for (const CLI::App* child : app.get_subcommands([](const CLI::App*) { return true; })) {
    PrintVerb(*child, "berth " + child->get_name(), text);
  }
  return text;
}

std::unique_ptr<Command> MakeHelpCommand() { return std::make_unique<HelpCommand>(); }

}  // namespace berth::bench
