// stowplan-profile: measures real hardware. Exit status: 0 done, 1 it could not be done here (with the
// reason in one sentence), 2 the call or an input is wrong.
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "profiler/host_machine.h"
#include "profiler/main/commands.h"
#include "sim/base/error.h"
#include "sim/formats/document/source.h"
#include "stowplan_revision.h"

namespace stowplan::profiler {
namespace {

volatile std::sig_atomic_t interrupted = 0;

std::string& StoredCommandLine() {
  static std::string line;
  return line;
}

struct Verb {
  const char* name;
  const char* what;
  RunVerb (*declare)(CLI::App& app);
};
constexpr Verb kVerbs[] = {
    {"list", "the probes that can be run", DeclareList},
    {"run", "measure probes on this machine's GPU or CPU", DeclareRun},
    {"graph", "execute a stowplan graph for real under a placement", DeclareGraph},
    {"record", "run a command and record what it does on the GPU", DeclareRecord},
};

std::string OneLine(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

int Fail(int status, const std::string& sentence) {
  fmt::print(stderr, "stowplan-profile: {}\n", formats::Printable(OneLine(sentence)));
  return status;
}

template <typename Number>
void KeepWithin(CLI::Option& option, Number high, const char* wanted) {
  option.check([high, wanted](const std::string& text) {
    Number number{};
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool right =
        error == std::errc() && stop == text.data() + text.size() && number >= 0 && number <= high;
    return right ? "" : fmt::format("\"{}\" is not {}", text, wanted);
  });
}

// CLI11 alone would take 10^30 for the largest number that there is room for.
void RefuseNumbersBeyondTheirRange(CLI::App& part) {
  for (CLI::Option* option : part.get_options()) {
    const std::string type = option->get_type_name();
    if (type.starts_with("INT"))
      KeepWithin<std::int64_t>(*option, 1'000'000'000, "a whole number from 0 to 1,000,000,000");
    if (type.starts_with("UINT"))
      KeepWithin<std::uint64_t>(*option, INT64_MAX, "a whole number from 0 to 2^63 - 1");
    if (type.starts_with("FLOAT")) KeepWithin<double>(*option, 1e9, "a number from 0 to 1e9");
  }
}

int RunProgram(int argc, const char* const* argv) {
  CLI::App app("Measures what ops, copies and launches cost on real hardware.", "stowplan-profile");
  app.require_subcommand(1);
  app.set_version_flag("--version",
                       [] { return fmt::format("stowplan-profile {} ({})", STOWPLAN_VERSION, Revision()); });
  std::vector<std::pair<CLI::App*, RunVerb>> verbs;
  for (const Verb& verb : kVerbs) {
    CLI::App* const part = app.add_subcommand(verb.name, verb.what);
    verbs.emplace_back(part, verb.declare(*part));
    RefuseNumbersBeyondTheirRange(*part);
  }
  try {
    app.parse(argc, argv);
    for (const auto& [part, run] : verbs) {
      if (part->parsed()) return run();
    }
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return Fail(2, std::string(error.what()) + "; `stowplan-profile --help` lists what there is.");
  } catch (const InputError& error) {
    return Fail(2, error.what());
  } catch (const Unavailable& reason) {
    return Fail(1, fmt::format("cannot run here: {}", reason.what()));
  } catch (const std::exception& error) {
    return Fail(1, error.what());
  }
  return 0;
}

}  // namespace

const std::string& CommandLine() {
  return StoredCommandLine();
}

std::string Revision() {
  return STOWPLAN_DIRTY ? STOWPLAN_REVISION "-dirty" : STOWPLAN_REVISION;
}

bool Interrupted() {
  static const bool installed = [] {
    std::signal(SIGINT, [](int) { interrupted = 1; });
    std::signal(SIGTERM, [](int) { interrupted = 1; });
    return true;
  }();
  return installed && interrupted != 0;
}

}  // namespace stowplan::profiler

int main(int argc, char** argv) {
  using namespace stowplan::profiler;
  StoredCommandLine() = argc > 1 ? "stowplan-profile " + ShellText(argc - 1, argv + 1) : "stowplan-profile";
  return RunProgram(argc, argv);
}
