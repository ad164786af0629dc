#include "bench/command.h"

#include <algorithm>
#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "agents/ranks.h"
#include "bench/commands/commands.h"
#include "bench/provenance.h"
#include "sim/error.h"
#include "sim/spec.h"

namespace berth::bench {
namespace {

struct Verb {
  std::unique_ptr<Command> command;
  CLI::App* app;
  bool shares_work;
};

std::vector<Verb> DeclareAll(CLI::App& app) {
  app.require_subcommand(1);
  app.set_version_flag("--version", [] {
    const Provenance now = CurrentProvenance();
    return fmt::format("berth {} ({}{})", now.version, now.revision, now.dirty ? ", with changes" : "");
  });
  std::vector<Verb> verbs;
  for (const CommandRow& row : Commands()) {
    Verb verb{row.make(), app.add_subcommand(row.name, row.what), row.shares_work};
    verb.command->Declare(*verb.app);
    verbs.push_back(std::move(verb));
  }
  return verbs;
}

std::string OneLine(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

int Fail(int status, const std::string& sentence) {
  fmt::print(stderr, "berth: {}\n", sentence);
  return status;
}

// What is wrong with the input all ranks find alike; one of them says so.
int Refuse(const std::string& sentence) {
  return agents::IsFurtherRank() ? 2 : Fail(2, sentence);
}

int GiveUp(const std::string& sentence) {
  Fail(1, sentence);
  agents::AbortOthers(1);
  return 1;
}

// CLI11 reports --help and --version as exceptions too; they go to standard output with status 0.
int ParseFailure(const CLI::App& app, const CLI::ParseError& error, const std::string& first) {
  if (error.get_exit_code() == 0) return agents::IsFurtherRank() ? 0 : app.exit(error);
  std::vector<std::string> verbs;
  for (const CommandRow& row : Commands()) verbs.emplace_back(row.name);
  const bool is_verb = std::find(verbs.begin(), verbs.end(), first) != verbs.end();
  if (!is_verb && !first.empty() && first.front() != '-') {
    return Refuse(fmt::format("there is no verb \"{}\"; there are {}.", first, JoinNames(verbs)));
  }
  std::string what = OneLine(error.what());
  const std::string unconverted = "Could not convert: ";  // "--samples = x"
  if (what.rfind(unconverted, 0) == 0) what = what.substr(unconverted.size()) + ": a number is wanted";
  return Refuse(what + fmt::format("; `berth {}--help` lists what there is.", is_verb ? first + " " : ""));
}

}  // namespace

const std::vector<CommandRow>& Commands() {
  static const std::vector<CommandRow> rows = {
      {"list", "what there is: workloads, clusters, agents, cost models, tables and more", MakeListCommand},
      {"graph", "look at a graph, import it from another format, convert it", MakeGraphCommand},
      {"simulate", "one placement of a graph on a cluster: runtime, memory, what it waited for",
       MakeSimulateCommand},
      {"explain", "what bounds a placement, and what would help: a faster device or link, no dispatch, …",
       MakeExplainCommand},
      {"place", "search a placement with an agent", MakePlaceCommand, true},
      {"train", "train a learner's policy on several graphs, to place others with it", MakeTrainCommand,
       true},
      {"compare", "search one scenario with several agents and show what each found", MakeCompareCommand},
      {"table", "run and render one table, the published cell beside ours", MakeTableCommand, true},
      {"calibrate", "fit cost models to recorded probes, or a table's testbed to its fitted cells",
       MakeCalibrateCommand},
      {"validate", "simulated against measured step times over many placements; measures with --record",
       MakeValidateCommand},
      {"speed", "how many ops a second the simulator does", MakeSpeedCommand},
      {"help", "this reference as text or Markdown", MakeHelpCommand},
  };
  return rows;
}

int RunProgram(int argc, const char* const* argv) {
  RememberCommandLine(argc, argv);
  CLI::App app("berth: where the operations of a neural network should run", "berth");
  std::vector<Verb> verbs = DeclareAll(app);
  try {
    app.parse(argc, const_cast<char**>(argv));
  } catch (const CLI::ParseError& error) {
    return ParseFailure(app, error, argc > 1 ? argv[1] : "");
  }
  try {
    for (Verb& verb : verbs) {
      if (verb.app->parsed() && (verb.shares_work || !agents::IsFurtherRank())) verb.command->Run();
    }
    return std::fflush(stdout) == 0 ? 0 : Fail(1, "standard output could not be written.");
  } catch (const InputError& error) {
    return Refuse(error.what());
  } catch (const RunError& error) {
    return GiveUp(error.what());
  } catch (const std::bad_alloc&) {
    return GiveUp("this machine has not enough memory for the job.");
  } catch (const std::exception& error) {
    return GiveUp(
        fmt::format("this is a bug of berth, please report it with the command line: {}", error.what()));
  }
}

std::string PrintCliReference() {
  CLI::App app("berth: where the operations of a neural network should run", "berth");
  const std::vector<Verb> verbs = DeclareAll(app);
  return PrintCliMarkdown(app);
}

}  // namespace berth::bench
