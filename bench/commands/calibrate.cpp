// berth calibrate --table T: fits the testbed of a table.
#include <cstdio>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/commands/commands.h"
#include "bench/tables/calibration.h"
#include "sim/error.h"
#include "sim/formats/formats.h"

namespace berth::bench {
namespace {

class CalibrateCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("--table", table_, "the table whose fitted cells are met, one of `berth list tables`")
        ->required()
        ->option_text("T");
    app.add_option("--out", out_, "folder for testbed.json and fit.md; else results/T")->option_text("DIR");
    app.add_option("--threads", threads_, "0 = one per core")->capture_default_str()->option_text("N");
  }

  void Run() override {
    if (threads_ < 0)
      throw InputError(fmt::format("--threads {}: 0 (one per core) or more is wanted.", threads_));
    const TableDefinition& table = FindTable(table_);
    const std::filesystem::path folder =
        out_.empty() ? std::filesystem::path("results") / table.name : std::filesystem::path(out_);
    const Calibration calibration = CalibrateTable(table, {.threads = threads_});
    const std::string report = PrintCalibration(table, calibration);
    std::filesystem::create_directories(folder);
    cost_models::WriteParameters((folder / "testbed.json").string(), calibration.parameters);
    formats::WriteFile((folder / "fit.md").string(), report);
    fmt::print("{}\n{} and fit.md are written; `berth table {}` uses them.\n", report,
               (folder / "testbed.json").string(), table.name);
  }

 private:
  std::string table_;
  std::string out_;
  int threads_ = 0;
};

}  // namespace

std::unique_ptr<Command> MakeCalibrateCommand() {
  return std::make_unique<CalibrateCommand>();
}

}  // namespace berth::bench
