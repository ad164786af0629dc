// The command line as it is declared, for whoever prints it: docs/cli.md, the man pages, completion, tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace stowplan::cli {

struct OptionText {
  std::string head;  // "--json FILE", "-h, --help", "KIND"
  std::string what;  // with "(required)" or its default at the end
};

struct VerbText {
  std::string name;                   // "stowplan graph info"
  std::string what;                   // one line
  std::vector<OptionText> options;    // but --help; of a verb that has verbs: none
  std::vector<std::string> examples;  // calls, as a shell takes them
};

// The calls that `--help` shows below the options. At most one call of this for each app.
void AddExamples(CLI::App& app, const std::vector<std::string>& examples);

// Every verb, each followed by those within it.
std::vector<VerbText> DescribeVerbs(const CLI::App& program);

std::string PrintCliMarkdown(const CLI::App& program);

// Manual pages of section 1: file name and text. One of the program, one of each of its verbs.
std::vector<std::pair<std::string, std::string>> PrintManPages(const CLI::App& program);

// The command line as docs/cli.md shows it: every verb, its options and defaults, in Markdown.
std::string PrintCliReference();

}  // namespace stowplan::cli
