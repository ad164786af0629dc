// Help, manual pages and completion are made of what the verbs declare, those of verbs to come too.
#include "cli/reference.h"

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/commands/completions.h"
#include "cli/program.h"
#include "sim/formats/formats.h"
#include "tests/cli/program.h"
#include "tests/testing.h"

namespace stowplan::cli {
namespace {

using testing::ExpectRefused;
using testing::RunShell;
using testing::RunStowplan;
using tests::TempFolder;

// The words of a line as a shell takes them; its redirections and assignments are left out.
std::vector<std::string> WordsOf(const std::string& line) {
  std::vector<std::string> words;
  const std::string out =
      RunShell("set -- " + line.substr(0, line.find(" < ")) + "; printf '%s\\n' \"$@\"").out;
  std::istringstream lines(out);
  for (std::string word; std::getline(lines, word);) words.push_back(word);
  return words;
}

// Parsed by the program's own parser, not run.
TEST(Reference, EveryVerbHasExamplesThatItTakes) {
  WithProgram([&](const CLI::App& program) {
    for (const VerbText& verb : DescribeVerbs(program)) {
      if (verb.name == "stowplan graph" || verb.name == "stowplan table")
        continue;  // have verbs of their own
      EXPECT_FALSE(verb.examples.empty()) << verb.name;
      for (const std::string& example : verb.examples) {
        EXPECT_THAT(example, HasSubstr(verb.name));
        if (example.find(" <(") != std::string::npos) continue;
        std::string call = example.substr(0, example.find(" | "));
        call = call.substr(0, call.find(" > "));
        WithProgram([&](const CLI::App& fresh) {
          std::vector<std::string> words = WordsOf(call);
          std::reverse(words.begin(), words.end());
          words.pop_back();  // "stowplan"
          EXPECT_NO_THROW(const_cast<CLI::App&>(fresh).parse(words)) << example;
        });
      }
    }
  });
}

TEST(Reference, ManualPagesSayWhatTheReferenceSays) {
  const TempFolder folder;
  ASSERT_EQ(RunStowplan({"man", "--out", folder.path()}).status, 0);
  std::vector<std::string> pages = {"stowplan.1"};
  for (const CommandRow& row : Commands()) pages.push_back(std::string("stowplan-") + row.name + ".1");
  EXPECT_THAT(folder.Files(), ::testing::UnorderedElementsAreArray(pages));
  const std::string page = formats::ReadFile(folder / "stowplan-place.1");
  EXPECT_EQ(page, RunStowplan({"man", "place"}).out);
  EXPECT_THAT(page, HasSubstr("\n.SH EXIT STATUS\n"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-\\-samples N\\fR"));
  EXPECT_THAT(formats::ReadFile(folder / "stowplan-graph.1"), HasSubstr(".SS stowplan graph import\n"));
  for (const std::string& name : pages) {
    std::istringstream lines(formats::ReadFile(folder / name));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_THAT(line, Not(::testing::StartsWith("'"))) << name << ": roff takes it for a request";
      if (line.starts_with('.')) {
        EXPECT_THAT((std::set<std::string>{".TH", ".SH", ".SS", ".TP", ".PP", ".nf", ".fi", ".RS", ".RE"}),
                    Contains(line.substr(0, line.find(' '))))
            << name;
      }
    }
  }
  ExpectRefused({"man", "plase"}, "(did you mean place?)");
}

std::vector<std::string> Complete(const std::vector<std::string>& typed) {
  std::vector<std::string> words;
  WithProgram([&](const CLI::App& program) { words = Completions(program, typed); });
  return words;
}

TEST(Completion, VerbsAndThoseWithin) {
  EXPECT_THAT(Complete({"pl"}), ElementsAre("place"));
  EXPECT_THAT(Complete({""}), IsSupersetOf({"place", "table", "completion", "man"}));
  EXPECT_THAT(Complete({"graph", ""}), ElementsAre("info", "import", "convert"));
}

TEST(Completion, OptionsThatWereNotGiven) {
  EXPECT_THAT(Complete({"place", "--sa"}), ElementsAre("--samples"));
  EXPECT_THAT(Complete({"place", "--agent", "random", "--a"}), IsEmpty());
  EXPECT_THAT(Complete({"compare", "--agents", "random", "heft", "--agen"}), ElementsAre("--agents"))
      << "takes several";
  EXPECT_THAT(Complete({"graph", "import", "--s"}), ElementsAre("--strict"));
}

TEST(Completion, NamesByWhatTheOptionTakes) {
  EXPECT_THAT(Complete({"place", "--agent", "place"}), ElementsAre("placeto"));
  EXPECT_THAT(Complete({"place", "--graph", "inc"}), ElementsAre("inception_v3"));
  EXPECT_THAT(Complete({"place", "--cluster", "h100"}), ElementsAre("h100", "h100_hosts"));
  EXPECT_THAT(Complete({"compare", "--agents", "random", "he"}), ElementsAre("heft")) << "each of several";
  EXPECT_THAT(Complete({"table", "show", "hier"}), ElementsAre("hierarchical"));
  EXPECT_THAT(Complete({"list", "ag"}), ElementsAre("agents"));
  EXPECT_THAT(Complete({"graph", "info", "nm"}), ElementsAre("nmt", "nmt_family"));
  EXPECT_THAT(Complete({"table", "run", "hierarchical", "--budget", ""}),
              ElementsAre("quick", "standard", "paper"));
  EXPECT_THAT(Complete({"simulate", "--rules", "p"}), ElementsAre("published"));
  EXPECT_THAT(Complete({"calibrate", "--table", "mars"}), ElementsAre("mars", "mars-pretraining"));
}

// The scripts as the shells run them, with the program itself.
TEST(Completion, BashAsksTheProgram) {
  const std::string ask =
      "source <(STOWPLAN completion bash) && COMP_WORDS=(STOWPLAN place --agent ann) COMP_CWORD=3 && "
      "_stowplan && "
      "echo "
      "\"${COMPREPLY[@]}\"";
  EXPECT_EQ(RunShell(ask).out, "annealing\n") << RunShell(ask).err;
  const std::string empty =
      "source <(STOWPLAN completion bash) && COMP_WORDS=(STOWPLAN graph '') COMP_CWORD=2 && _stowplan && "
      "echo "
      "\"${COMPREPLY[@]}\"";
  EXPECT_EQ(RunShell(empty).out, "info import convert\n");
}

}  // namespace
}  // namespace stowplan::cli
