#include "cli/program.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "agents/ranks.h"
#include "cli/command.h"
#include "output/console.h"
#include "output/interrupt.h"
#include "problem/provenance.h"
#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/base/output_error.h"
#include "sim/base/spec.h"

namespace stowplan::cli {
namespace {

constexpr const char* kWhat = "stowplan: where the operations of a neural network should run";

// --help within the width of a terminal.
class HelpText : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool positional) const override {
    return Row(make_option_name(option, positional) + make_option_opts(option), make_option_desc(option));
  }
  std::string make_subcommand(const CLI::App* verb) const override {
    return Row(verb->get_display_name(true), verb->get_description());
  }

 private:
  std::string Row(const std::string& name, const std::string& what) const {
    const std::string lines = output::Wrapped(what, get_column_width(), output::kLineWidth);
    const std::string head = "  " + name;
    if (lines.empty() || head.size() >= get_column_width()) return head + "\n" + lines;
    return head + lines.substr(head.size());
  }
};

struct Verb {
  std::unique_ptr<Command> command;
  CLI::App* app;
  bool shares_work;
};

// An empty name would be taken for none: of `--out "$FOLDER"`, where that is not set, nothing would be kept.
void RefuseEmptyNames(CLI::App& app) {
  for (CLI::Option* option : app.get_options([](const CLI::Option* one) { return one->nonpositional(); })) {
    const std::string text = option->get_option_text();
    const bool folder = text == "DIR";
    if (!folder && text != "FILE" && text != "CKPT" && option->get_name() != "--out") continue;
    option->check([=](const std::string& name) {
      return name.empty() ? std::string(folder ? "a folder's" : "a file's") + " name is wanted." : "";
    });
  }
}

void Declare(CLI::App& app, const std::vector<CommandRow>& rows, std::vector<Verb>& verbs) {
  app.require_subcommand(1);
  for (const CommandRow& row : rows) {
    CLI::App* const within = app.add_subcommand(row.name, row.what);
    if (row.within != nullptr) {
      Declare(*within, row.within(), verbs);
      continue;
    }
    verbs.push_back({row.make(), within, row.shares_work});
    verbs.back().command->Declare(*within);
    RefuseEmptyNames(*within);
  }
}

std::vector<Verb> DeclareAll(CLI::App& app) {
  app.formatter(std::make_shared<HelpText>());  // of the verbs, too
  app.set_version_flag("--version", [] { return "stowplan " + Version(); });
  std::vector<Verb> verbs;
  Declare(app, Commands(), verbs);
  std::string footer = "Exit status:";
  for (const ExitStatus& row : ExitStatuses()) {
    constexpr std::size_t kStatus = 6;
    std::string lines = output::Wrapped(row.what, kStatus, output::kLineWidth);
    lines.pop_back();  // the end of the last one
    footer += fmt::format("\n  {:3} {}", row.status, lines.substr(kStatus));
  }
  app.footer(footer);
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
  output::TellSentence(fmt::format("stowplan: {}\n", OneLine(sentence)));
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

// A further rank ends with 0: mpirun kills the first one, which keeps the results, once another ends otherwise.
int EndInterrupted(const std::string& sentence) {
  return agents::IsFurtherRank() ? 0 : Fail(output::kInterruptedStatus, sentence);
}

// Somebody who closes the pipe has read what he wanted: `stowplan list agents | head`.
int OutputFailed(int reason) {
  if (reason != EPIPE) Fail(1, fmt::format("standard output cannot be written: {}.", std::strerror(reason)));
  agents::AbortOthers(1);
  return 1;
}

// A closed standard stream would be the next file that is opened. What stands in for it fails as a closed one does: it can
// be read only, or written only. Writing to a pipe that is closed fails like any other writing, and kills nobody.
void OpenStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    const int wrong_way = stream == STDOUT_FILENO ? O_RDONLY : O_WRONLY;
    if (open("/dev/null", wrong_way) != stream) std::_Exit(1);
  }
  std::signal(SIGPIPE, SIG_IGN);
}

// ---- calls that cannot be parsed --------------------------------------------------------------------------

std::vector<std::string> NamesOf(const std::vector<const CLI::App*>& apps) {
  std::vector<std::string> names;
  for (const CLI::App* app : apps) names.push_back(app->get_name());
  return names;
}

std::vector<std::string> OptionsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->nonpositional()) names.push_back(option->get_name());
  }
  return names;
}

// What the call says that `app` does not know; empty where it knows all of it.
std::string Unknown(const CLI::App& app, const std::string& name) {
  const std::vector<std::string> verbs = NamesOf(app.get_subcommands([](const CLI::App*) { return true; }));
  for (const std::string& word : app.remaining()) {
    if (word.starts_with('-') && word.size() > 1 && word != "--") {
      const std::string option = word.substr(0, word.find('='));
      return fmt::format("{} has no option {}{}", name, option, DidYouMean(option, OptionsOf(app)));
    }
    if (!verbs.empty()) {
      return fmt::format("there is no verb \"{}\"{}; there are {}",
                         name == "stowplan" ? word : name.substr(name.find(' ') + 1) + " " + word,
                         DidYouMean(word, verbs), JoinNames(verbs));
    }
    const CLI::Option* graph = app.get_option_no_throw("--graph");
    return fmt::format(
        "{} does not take \"{}\"{}", name, word,
        graph != nullptr && graph->count() == 0 ? " (a graph is given as --graph " + word + ")" : "");
  }
  return {};
}

// CLI11 reports --help and --version as exceptions too; they go to standard output with status 0. What is not known is
// said before what is missing: who mistyped an option knows that he gave it.
int ParseFailure(const CLI::App& program, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {
    if (agents::IsFurtherRank()) return 0;
    const int status = program.exit(error);
    std::cout.flush();
    return std::cout ? status : OutputFailed(errno);
  }
  std::string name = "stowplan";
  std::string what;
  for (const CLI::App* app = &program;;) {
    what = Unknown(*app, name);
    const std::vector<const CLI::App*> within =
        app->get_subcommands([](const CLI::App* v) { return v->parsed(); });
    if (!what.empty() || within.empty()) break;
    app = within.front();
    name += " " + app->get_name();
  }
  if (what.empty()) what = OneLine(error.what());
  // "--seed: 1 required INT missing"
  if (const auto wants = what.find(": 1 required "); wants != std::string::npos && what.ends_with(" missing"))
    what = what.substr(0, wants) + ": a value is missing";
  if (what.ends_with('.')) return Refuse(what);
  return Refuse(fmt::format("{}; `{} --help` lists what there is.", what, name));
}

}  // namespace

const std::vector<ExitStatus>& ExitStatuses() {
  static const std::vector<ExitStatus> rows = {
      {0, "done; a placement that does not fit, or none found that does, is a result too"},
      {1, "the job failed: one sentence on standard error says why"},
      {2, "the input or the call is wrong: one sentence says what, where, and what would be right"},
      {output::kInterruptedStatus,
       "stopped by Ctrl-C (SIGINT) or SIGTERM: what was finished is kept, one sentence says how to go on"},
  };
  return rows;
}

int RunProgram(int argc, const char* const* argv) {
  OpenStandardStreams();
  problem::RememberCommandLine(argc, argv);
  CLI::App app(kWhat, "stowplan");
  std::vector<Verb> verbs = DeclareAll(app);
  try {
    app.parse(argc, const_cast<char**>(argv));
  } catch (const CLI::ParseError& error) {
    return ParseFailure(app, error);
  }
  try {
    for (Verb& verb : verbs) {
      if (verb.app->parsed() && (verb.shares_work || !agents::IsFurtherRank())) verb.command->Run();
    }
    return std::fflush(stdout) == 0 ? 0 : OutputFailed(errno);
  } catch (const output::Interrupted& stopped) {
    std::fflush(stdout);
    return EndInterrupted(stopped.what());
  } catch (const InputError& error) {
    return Refuse(error.what());
  } catch (const OutputError& error) {
    return OutputFailed(error.reason());
  } catch (const RunError& error) {
    return GiveUp(error.what());
  } catch (const std::bad_alloc&) {
    return GiveUp("this machine has not enough memory for the job.");
  } catch (const std::system_error& error) {
    // Of fmt::print, whose only stream is standard output.
    if (std::ferror(stdout) != 0) return OutputFailed(error.code().value());
    return GiveUp(fmt::format("this machine refused something: {}.", error.what()));
  } catch (const std::exception& error) {
    return GiveUp(
        fmt::format("this is a bug of stowplan, please report it with the command line: {}", error.what()));
  }
}

std::string Version() {
  const problem::Provenance now = problem::CurrentProvenance();
  return fmt::format("{} ({}{})", now.version, now.revision, now.dirty ? ", with changes" : "");
}

void WithProgram(const std::function<void(const CLI::App& program)>& use) {
  CLI::App app(kWhat, "stowplan");
  const std::vector<Verb> verbs = DeclareAll(app);
  use(app);
}

}  // namespace stowplan::cli
