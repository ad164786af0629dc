// stowplan man: the manual pages.
#include <algorithm>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands/commands.h"
#include "cli/program.h"
#include "cli/reference.h"
#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/base/spec.h"
#include "sim/formats/formats.h"
#include "sim/formats/outputs.h"

namespace stowplan::cli {
namespace {

class ManCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("verb", verb_, "whose page to print; else the program's")->option_text("VERB");
    app.add_option("--out", out_, "write all pages to this folder instead: stowplan.1, stowplan-place.1, ...")
        ->option_text("DIR");
    AddExamples(app, {"stowplan man place | man -l -", "stowplan man --out ~/.local/share/man/man1"});
  }

  void Run() override {
    WithProgram([&](const CLI::App& program) {
      const auto pages = PrintManPages(program);
      out_.empty() ? Print(pages) : Write(pages);
    });
  }

 private:
  using Pages = std::vector<std::pair<std::string, std::string>>;

  void Print(const Pages& pages) const {
    const std::string wanted = verb_.empty() ? "stowplan.1" : "stowplan-" + verb_ + ".1";
    const auto page = std::find_if(pages.begin(), pages.end(),
                                   [&](const auto& candidate) { return candidate.first == wanted; });
    if (page == pages.end()) {
      std::vector<std::string> verbs;
      for (const CommandRow& row : Commands()) verbs.emplace_back(row.name);
      throw InputError(fmt::format("stowplan man: there is no verb \"{}\"{}; there are {}.", verb_,
                                   DidYouMean(verb_, verbs), JoinNames(verbs)));
    }
    fmt::print("{}", page->second);
  }

  void Write(const Pages& pages) const {
    formats::MakeFolder(out_);
    for (const auto& [file, text] : pages)
      formats::WriteFile((std::filesystem::path(out_) / file).string(), text);
  }

  std::string verb_;
  std::string out_;
};

}  // namespace

std::unique_ptr<Command> MakeManCommand() {
  return std::make_unique<ManCommand>();
}

}  // namespace stowplan::cli
