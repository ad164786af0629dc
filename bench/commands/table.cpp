// berth table: runs the cells of a table, keeps each finished one, renders what there is.
#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/commands/commands.h"
#include "bench/console.h"
#include "bench/interrupt.h"
#include "bench/tables/rendered_table.h"
#include "bench/tables/runner.h"
#include "bench/tables/store.h"
#include "bench/validate/accuracy_table.h"
#include "sim/error.h"
#include "sim/formats/formats.h"
#include "sim/formats/outputs.h"

namespace berth::bench {
namespace {

namespace fs = std::filesystem;

std::string CellNote(const CellRecord& record) {
  if (!record.note.empty()) return "not run: " + record.note;
  return record.runtime_us ? TimeText(*record.runtime_us) : "does not fit";
}

// Made of recordings, not of cells: nothing is run for it, and only where it is written can be said.
constexpr const char* kAccuracy = "accuracy";

class TableCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("name", name_,
                   "one of `berth list tables`; or accuracy: the recordings in results/accuracy, scored")
        ->required()
        ->option_text("NAME");
    app.add_option("--cells", plan_.cells,
                   "only these: [BLOCK:]ROW/COLUMN with *, several by commas; asks for learners by name")
        ->delimiter(',')
        ->option_text("CELLS");
    seeds_ = app.add_option("--seeds", plan_.seeds, "seeds 1 to N of searched cells; else the table's")
                 ->option_text("N");
    samples_ = app.add_option("--samples", plan_.samples, "budget of a searched cell; else the table's")
                   ->option_text("N");
    app.add_flag("--quick", plan_.quick, "one seed and a small budget: minutes");
    app.add_flag("--resume", resume_, "keep finished cells of this scenario, go on with the others");
    app.add_flag("--export", export_, "write results/NAME: rows.csv and the renderings made from it");
    app.add_flag("--render", render_, "run nothing: render the rows.csv that --out holds");
    app.add_option("--out", out_,
                   "folder for the renderings; else .berth/NAME, with --export or --render results/NAME")
        ->option_text("DIR");
    app.add_option("--testbed", testbed_,
                   "parameters of the machine; else results/NAME/testbed.json if there is one")
        ->option_text("FILE");
    app.add_option("--store", store_, "working store of finished cells")
        ->capture_default_str()
        ->option_text("FILE");
    app.add_option("--threads", threads_, "cells at a time; 0 = one per core")
        ->capture_default_str()
        ->option_text("N");
  }

  void Run() override {
    if (name_ == kAccuracy) return RenderAccuracy();
    const TableDefinition& table = FindTable(name_);
    if (threads_ < 0)
      throw InputError(fmt::format("--threads {}: 0 (one per core) or more is wanted.", threads_));
    if (seeds_->count() > 0 && plan_.seeds < 1)
      throw InputError(fmt::format("--seeds {}: at least 1 is wanted.", plan_.seeds));
    if (samples_->count() > 0 && plan_.samples < 1)
      throw InputError(fmt::format("--samples {}: at least 1 is wanted.", plan_.samples));
    if (render_ && export_)
      throw InputError("--render: renders rows that were exported before, so not together with --export.");
    if (render_) return Render(table, ReadRows());
    const std::vector<CellPlan> plans = PlanCells(table, plan_);
    const Testbed testbed(
        testbed_.empty()
            ? ("results/" + (table.testbed.empty() ? table.name : table.testbed) + "/testbed.json")
            : testbed_);
    if (!testbed_.empty() && !testbed.calibrated())
      throw InputError(fmt::format("--testbed {}: there is no such file.", testbed_));
    TableStore store(store_);
    const std::vector<CellRecord> records = RunAll(table, testbed, plans, store);
    if (records.size() < plans.size()) {
      throw RunError(
          fmt::format("stopped after {} of {} cells; they are kept, `--resume` goes on from there.",
                      records.size(), plans.size()));
    }
    Render(table, export_ ? AllOf(table, testbed, store) : records);
  }

 private:
  fs::path Folder() const {
    if (!out_.empty()) return out_;
    return fs::path(export_ || render_ ? "results" : ".berth") / name_;
  }

  void RenderAccuracy() const {
    const std::vector<ScoredFolder> folders = ScoreFolders("results/accuracy");
    const ReportPage page = MakeAccuracyPage(folders);
    const fs::path folder = Folder();
    formats::MakeFolder(folder.string());
    formats::WriteFile((folder / "table.md").string(), PrintReportMarkdown(page));
    formats::WriteFile((folder / "table.html").string(), PrintAccuracyHtml(page, folders));
    fmt::print("{}\n{}: table.md, table.html\n", PrintReportText(page), folder.string());
  }

  std::vector<CellRecord> ReadRows() const {
    const std::string path = (Folder() / "rows.csv").string();
    return ParseRows(formats::ReadFile(path), path);
  }

  std::vector<CellRecord> RunAll(const TableDefinition& table, const Testbed& testbed,
                                 const std::vector<CellPlan>& plans, TableStore& store) const {
    RunOptions options;
    options.threads = threads_;
    options.checkpoints = (fs::path(store_).parent_path() / "checkpoints").string();
    options.resume = resume_;
    if (resume_) options.done = store.All(table.name);
    options.stop = &StopRequested();
    Progress progress(fmt::format("table {}, cells", table.name), static_cast<std::int64_t>(plans.size()));
    std::int64_t finished = 0;
    options.on_cell = [&](const CellRecord& record, bool skipped) {
      if (!skipped && record.note.empty()) store.Put(table.name, record);
      progress.Update(++finished, fmt::format("{}/{} {}{}", record.row, record.column, CellNote(record),
                                              skipped ? " (kept)" : ""));
    };
    std::mutex training;
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> policies;
    options.on_training = [&](const std::string& policy, std::int64_t samples, std::int64_t budget) {
      const std::lock_guard<std::mutex> lock(training);
      policies[policy] = {samples, budget};
      std::int64_t done = 0, all = 0;
      for (const auto& [name, counts] : policies) {
        done += counts.first;
        all += counts.second;
      }
      progress.Update(0,
                      fmt::format("training {}: {} of {} samples", policies.size() == 1 ? policy : "policies",
                                  CountText(done), CountText(all)));
    };
    return RunCells(table, testbed, plans, options);
  }

  // What is exported: every cell of the table that is finished under these budgets, whatever call ran it.
  std::vector<CellRecord> AllOf(const TableDefinition& table, const Testbed& testbed,
                                const TableStore& store) const {
    PlanOptions everything = plan_;
    everything.cells = {"*/*"};
    for (const TableBlock& block : table.blocks) {
      for (const TableColumn& column : block.columns) {
        if (column.on_request) everything.cells.push_back(block.key + ":*/" + column.key);
      }
    }
    RunOptions options;
    options.threads = threads_;
    options.resume = true;
    options.only_done = true;
    options.done = store.All(table.name);
    return RunCells(table, testbed, PlanCells(table, everything), options);
  }

  // Renderings are made from the text of rows.csv, never from memory: what is committed can be made again.
  void Render(const TableDefinition& table, const std::vector<CellRecord>& records) const {
    const fs::path folder = Folder();
    formats::MakeFolder(folder.string());
    const std::string rows = PrintRows(records);
    const TableResults results(table, ParseRows(rows, (folder / "rows.csv").string()));
    const RenderedTable rendered = BuildRenderedTable(results);
    const auto write = [&](const char* file, const std::string& text) {
      formats::WriteFile((folder / file).string(), text);
    };
    if (!render_) write("rows.csv", rows);
    write("table.md", RenderMarkdown(rendered));
    write("table.csv", RenderCsv(rendered));
    write("table.tex", RenderLatex(rendered));
    write("table.html", RenderHtml(rendered));
    fmt::print("{}\n{}: rows.csv, table.md, table.csv, table.tex, table.html\n", RenderTerminal(rendered),
               folder.string());
  }

  std::string name_;
  PlanOptions plan_;
  CLI::Option* seeds_ = nullptr;
  CLI::Option* samples_ = nullptr;
  bool resume_ = false;
  bool export_ = false;
  bool render_ = false;
  std::string out_;
  std::string testbed_;
  std::string store_ = ".berth/tables.db";
  int threads_ = 0;
};

}  // namespace

std::unique_ptr<Command> MakeTableCommand() {
  return std::make_unique<TableCommand>();
}

}  // namespace berth::bench
