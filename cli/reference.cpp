#include "cli/reference.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/program.h"

namespace stowplan::cli {
namespace {

constexpr std::string_view kExamples = "Examples:";

OptionText Describe(const CLI::Option& option) {
  std::string name = option.get_name(false, true);
  for (std::size_t comma = name.find(','); comma != std::string::npos; comma = name.find(',', comma + 2)) {
    name.replace(comma, 1, ", ");
  }
  // A positional is called by its text, an option by its name and the text of its value.
  const std::string text = option.get_type_size() == 0 ? "" : option.get_option_text();
  OptionText described;
  described.head = option.nonpositional() ? name + (text.empty() ? "" : " " + text) : text;
  described.what = option.get_description();
  if (option.get_required()) described.what += " (required)";
  if (!option.get_default_str().empty())
    described.what += fmt::format(" (default `{}`)", option.get_default_str());
  return described;
}

std::vector<std::string> ExamplesOf(const CLI::App& app) {
  std::istringstream footer(app.get_footer());
  std::vector<std::string> examples;
  std::string line;
  while (std::getline(footer, line)) {
    if (line.starts_with("  ")) examples.push_back(line.substr(2));
  }
  return examples;
}

std::vector<const CLI::App*> Within(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

void Describe(const CLI::App& app, const std::string& name, std::vector<VerbText>& verbs) {
  VerbText& verb = verbs.emplace_back(VerbText{name, app.get_description(), {}, {}});
  const std::vector<const CLI::App*> within = Within(app);
  if (within.empty()) {
    for (const CLI::Option* option : app.get_options()) {
      if (option != app.get_help_ptr()) verb.options.push_back(Describe(*option));
    }
    verb.examples = ExamplesOf(app);
  }
  for (const CLI::App* part : within) Describe(*part, name + " " + part->get_name(), verbs);
}

std::string Capitalised(std::string sentence) {
  if (!sentence.empty())
    sentence[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence[0])));
  return sentence;
}

// ---- manual pages -----------------------------------------------------------------------------------------

// A text as roff takes it: its own signs escaped, Markdown's code signs in bold.
std::string Roff(std::string_view text) {
  std::string out;
  bool code = false;
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '`':
        code = !code;
        out += code ? "\\fB" : "\\fR";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '.':
        out += out.empty() || out.back() == '\n' ? "\\&." : ".";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string Hyphened(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

void PrintVerb(const VerbText& verb, std::string& text) {
  for (const OptionText& option : verb.options)
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", Roff(option.head), Roff(Capitalised(option.what) + "."));
  if (verb.examples.empty()) return;
  text += ".PP\nExamples:\n.PP\n.nf\n.RS\n";
  for (const std::string& example : verb.examples) text += Roff(example) + "\n";
  text += ".RE\n.fi\n";
}

std::string PageHead(const std::string& name, const std::string& what) {
  return fmt::format(".TH {} 1 \"\" \"stowplan {}\" \"stowplan\"\n.SH NAME\n{} \\- {}\n", Hyphened(name),
                     Version(), Roff(Hyphened(name)), Roff(what));
}

std::string PageEnd() {
  std::string text = ".SH EXIT STATUS\n";
  for (const ExitStatus& row : ExitStatuses())
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", row.status, Roff(Capitalised(row.what) + "."));
  return text;
}

std::string ProgramPage(const CLI::App& program, const std::vector<VerbText>& verbs) {
  std::string text = PageHead("stowplan", program.get_description());
  text += ".SH SYNOPSIS\n\\fBstowplan\\fR \\fIVERB\\fR [\\fIOPTION\\fR...]\n.SH VERBS\n";
  for (const VerbText& verb : verbs) {
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", Roff(verb.name), Roff(Capitalised(verb.what) + "."));
  }
  return text + PageEnd() + ".SH SEE ALSO\nEach verb has a page of its own: \\fBman stowplan\\-place\\fR.\n";
}

}  // namespace

void AddExamples(CLI::App& app, const std::vector<std::string>& examples) {
  std::string footer(kExamples);
  for (const std::string& example : examples) footer += "\n  " + example;
  app.footer(footer);
}

std::vector<VerbText> DescribeVerbs(const CLI::App& program) {
  std::vector<VerbText> verbs;
  for (const CLI::App* app : Within(program)) Describe(*app, "stowplan " + app->get_name(), verbs);
  return verbs;
}

std::string PrintCliMarkdown(const CLI::App& program) {
  std::string text =
      "# The command line\n\n"
      "Printed by `stowplan help`; a test compares it with the program. `stowplan man --out DIR` writes the "
      "same "
      "as manual\n"
      "pages, `source <(stowplan completion bash)` lets the shell complete verbs, options and names.\n\n"
      "Graphs, clusters, scenarios and placements are names from `stowplan list` or files; `-` is standard "
      "input or\n"
      "output. With `--json -` standard output holds the JSON and nothing else; progress goes to standard "
      "error.\n"
      "Ctrl-C ends long work cleanly: what is finished is kept, and one sentence says how to go on.\n\n"
      "| Exit status | |\n|---|---|\n";
  for (const ExitStatus& row : ExitStatuses()) text += fmt::format("| {} | {} |\n", row.status, row.what);
  for (const VerbText& verb : DescribeVerbs(program)) {
    text += fmt::format("\n## {}\n\n{}.\n", verb.name, Capitalised(verb.what));
    if (!verb.options.empty()) text += "\n";
    for (const OptionText& option : verb.options)
      text += fmt::format("- `{}`{}{}\n", option.head, option.what.empty() ? "" : ": ", option.what);
    if (verb.examples.empty()) continue;
    text += "\n```text\n";  // not run as they are: they name files of the reader
    for (const std::string& example : verb.examples) text += example + "\n";
    text += "```\n";
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> PrintManPages(const CLI::App& program) {
  const std::vector<VerbText> verbs = DescribeVerbs(program);
  std::vector<std::pair<std::string, std::string>> pages = {{"stowplan.1", ProgramPage(program, verbs)}};
  for (const VerbText& verb : verbs) {
    const bool part = std::count(verb.name.begin(), verb.name.end(), ' ') > 1;  // "stowplan graph info"
    if (!part) {
      pages.emplace_back(Hyphened(verb.name) + ".1", PageHead(verb.name, verb.what));
      pages.back().second +=
          fmt::format(".SH SYNOPSIS\n\\fB{}\\fR [\\fIOPTION\\fR...]\n.SH OPTIONS\n", Roff(verb.name));
    } else {
      pages.back().second += fmt::format(".SS {}\n{}\n", Roff(verb.name), Roff(Capitalised(verb.what) + "."));
    }
    PrintVerb(verb, pages.back().second);
  }
  for (std::size_t i = 1; i < pages.size(); ++i)
    pages[i].second += PageEnd() + ".SH SEE ALSO\n\\fBstowplan\\fR(1)\n";
  return pages;
}

std::string PrintCliReference() {
  std::string text;
  WithProgram([&](const CLI::App& program) { text = PrintCliMarkdown(program); });
  return text;
}

}  // namespace stowplan::cli
