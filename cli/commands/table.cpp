// stowplan table run | derive | show | verify | salvage.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "agents/agent.h"
#include "agents/ranks.h"
#include "cli/commands/commands.h"
#include "cli/reference.h"
#include "cli/validate/accuracy_table.h"
#include "output/console.h"
#include "output/interrupt.h"
#include "output/progress.h"
#include "output/temp_folder.h"
#include "problem/options.h"
#include "sim/base/error.h"
#include "sim/base/spec.h"
#include "sim/formats/document/source.h"
#include "sim/formats/formats.h"
#include "sim/formats/outputs.h"
#include "tables/cells.h"
#include "tables/derive/derived.h"
#include "tables/files/table_file.h"
#include "tables/run/cell_progress.h"
#include "tables/run/runner.h"
#include "tables/run/stale.h"
#include "tables/run/verify.h"
#include "tables/store.h"
#include "tables/terminal.h"

namespace stowplan::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxVerified = 100'000;
constexpr const char* kRuns = ".stowplan";  // where what is not exported stands
constexpr const char* kExports = "results";
constexpr const char* kStore = ".stowplan/tables.db";

// What the verbs share: the table that a name or a file means, the folder of its pages, and what is written there.
class TableVerb : public Command {
 protected:
  void DeclareTable(
      CLI::App& app, const char* out,
      const char* name = "one of `stowplan list tables`, or a file of yours (docs/formats.md)") {
    app.add_option("name", name_, name)->required()->option_text("NAME");
    app.add_option("--out", out_, out)->option_text("DIR");
    problem::Threads(app.add_option("--threads", threads_, "cells at a time; 0 = one per core"))
        ->capture_default_str()
        ->option_text("N");
  }

  void DeclareCells(CLI::App& app, const char* what) {
    app.add_option("--cells", cells_, what)->delimiter(',')->option_text("CELLS");
  }

  void DeclareCommands(CLI::App& app) {
    app.add_flag("--allow-commands", allow_commands_,
                 "run the programs that agents of the table's file name (external); a shell runs them, so "
                 "read the file before");
  }

  void DeclareTestbed(CLI::App& app) {
    app.add_option("--testbed", testbed_,
                   "parameters of the machine; else results/NAME/testbed.json if there is one")
        ->option_text("FILE");
  }

  // First of all. Without --out the folder is `root`/NAME.
  void Open(const char* root) {
    std::error_code ignored;
    if (tables::IsTableFile(name_)) {
      own_ = tables::ReadTable(name_);
      file_ = std::exchange(name_, own_->name);
    } else if (fs::is_regular_file(name_, ignored) &&
               std::ranges::find(tables::TableNames(), name_, &tables::TableName::name) ==
                   tables::TableNames().end()) {
      throw InputError(
          fmt::format("{0}: a table's file has a name that ends in .yaml; rename it, or give ./{0}.", name_));
    }
    folder_ = out_.empty() ? fs::path(root) / name_ : fs::path(out_);
  }

  bool IsDerived() const { return name_ == tables::kAccuracyTable || tables::FindDerived(name_) != nullptr; }

  const tables::TableDefinition& TableOfCells() const {
    if (IsDerived())
      throw InputError(
          fmt::format("table {0} has no cells; `stowplan table derive {0}` makes its rows.", name_));
    return own_ ? *own_ : tables::FindTable(name_);
  }

  std::string TestbedFile(const tables::TableDefinition& table) const {
    if (!testbed_.empty() && !fs::exists(testbed_))
      throw InputError(fmt::format("--testbed {}: there is no such file.", testbed_));
    const std::string file = testbed_.empty() ? tables::TestbedPath(table) : testbed_;
    if (own_ && !table.testbed.empty() && !fs::exists(file)) {
      throw InputError(
          fmt::format("{}: testbed {}: there is no {} here; go to the folder that has it, or give "
                      "--testbed FILE.",
                      file_, table.testbed, file));
    }
    return file;
  }

  // With progress; each new result is put into the store, where there is one.
  std::vector<tables::CellRecord> RunPlans(const tables::TableDefinition& table,
                                           const tables::Testbed& testbed,
                                           const std::vector<tables::CellPlan>& plans,
                                           tables::RunOptions options,
                                           const tables::CellProgress::Options& drawn,
                                           tables::TableStore* store = nullptr) const {
    RefuseCommands(plans);
    options.threads = threads_;
    options.stop = &output::StopRequested();
    tables::CellProgress progress("table " + table.name + ", cells", plans, drawn);
    options.on_cell = [&](const tables::CellRecord& record, bool skipped) {
      if (store != nullptr && !skipped && record.note.empty()) store->Put(table.name, record);
      progress.Cell(record, skipped);
    };
    options.on_samples = [&](const tables::CellPlan& plan, std::int64_t samples) {
      progress.Samples(plan, samples);
    };
    options.on_training = [&](const std::string& policy, std::int64_t samples, std::int64_t budget) {
      progress.Training(policy, samples, budget);
    };
    std::optional<output::EndsInTime> in_time;
    if (agents::World().alone()) {
      in_time.emplace([&] {
        return store == nullptr
                   ? "stopped; what was run again is not kept."
                   : "stopped; finished cells are kept, the same call with --resume goes on with the others.";
      });
    }
    return tables::RunCells(table, testbed, plans, options);
  }

  // Before the first cell: what cannot be written is not found after hours of them.
  void PrepareOutputs() const { formats::PrepareOutput(RowsPath()); }

  // Cells are made from the text of rows.csv, never from memory: what is committed can be made again.
  void Show(const tables::TableDefinition& table, const std::string& rows, bool keep_rows) const {
    const tables::TableResults results(table, tables::ParseRows(rows, RowsPath()));
    formats::MakeFolder(folder_.string());
    if (keep_rows) formats::WriteFile(RowsPath(), rows);
    formats::WriteFile((folder_ / "cells.csv").string(), tables::PrintCells(results));
    output::Print(fmt::format("{}\n{}: {}cells.csv\na page: {}\n", tables::RenderTerminal(results),
                              folder_.string(), keep_rows ? "rows.csv, " : "", PageCommand(table.called())));
  }

  // Another table's folder, by mistake: its rows would be replaced.
  void RefuseOtherRows() const {
    if (out_.empty() || force_ || !fs::exists(RowsPath())) return;
    const std::string rows = formats::ReadFile(RowsPath());
    const bool of_cells = rows.starts_with(tables::RecordFields().front() + ",");
    const bool other = IsDerived() ? of_cells
                                   : !of_cells || std::ranges::any_of(tables::ParseRows(rows, RowsPath()),
                                                                      [&](const tables::CellRecord& row) {
                                                                        return !TableOfCells().HasCell(
                                                                            row.block, row.row, row.column);
                                                                      });
    if (other)
      throw InputError(
          fmt::format("{}: holds rows of another table than {}; give another --out, or --force to "
                      "replace them.",
                      out_, name_));
  }

  // What makes a page of what is in the folder.
  std::string PageCommand(const std::string& table) const {
    const bool of_name = folder_.filename() == name_;
    const std::string from = of_name ? folder_.parent_path().string() : folder_.string();
    return fmt::format("python3 -m stowplan.report {}{}", table,
                       from == kExports ? "" : " --results " + from);
  }

  std::string RowsPath() const { return (folder_ / "rows.csv").string(); }

  std::string name_;
  std::optional<tables::TableDefinition> own_;  // of a file
  std::string file_;                            // that one
  std::vector<std::string> cells_;
  std::string out_;
  fs::path folder_;  // that one, or what stands for it
  std::string testbed_;
  int threads_ = 0;
  bool force_ = false;
  bool allow_commands_ = false;

 private:
  // A file is data, whoever sent it.
  void RefuseCommands(const std::vector<tables::CellPlan>& plans) const {
    if (allow_commands_) return;
    for (const tables::CellPlan& plan : plans) {
      const std::string name = Spec::Parse(plan.line->AgentOf(*plan.column)).name;
      if (agents::FindAgent(name)->opens != agents::AgentOpens::kProgram) continue;
      throw InputError(
          fmt::format("{}: agent {} starts a program, which a file may not ask for by itself; read its "
                      "command, then give "
                      "--allow-commands.",
                      plan.column->agent.empty() ? plan.line->place : plan.column->place, name));
    }
  }
};

// A row that cannot be made is told before the first cell, not hours later; those of the papers' tables can.
void CheckRows(const tables::Testbed& testbed, const std::vector<tables::CellPlan>& plans) {
  std::set<std::pair<const tables::TableBlock*, const tables::TableLine*>> rows;
  for (const tables::CellPlan& plan : plans) {
    if (rows.emplace(plan.block, plan.line).second && tables::CannotRun(*plan.line).empty())
      formats::CheckedAt(plan.line->place, [&] { return testbed.Load(*plan.block, *plan.line); });
  }
}

void ReportAdopted(const std::string& path, const std::vector<tables::CellRecord>& rows,
                   const tables::TableStore::Adopted& adopted) {
  std::set<std::string> revisions;
  for (const tables::CellRecord& row : rows) revisions.insert(tables::RevisionText(row));
  output::Tell(fmt::format("{}: {} of {} rows taken into the store, of revisions {}\n", path, adopted.put,
                           rows.size(), JoinNames({revisions.begin(), revisions.end()})));
  for (const tables::CellRecord& own : adopted.other) {
    output::Tell(fmt::format("{}: {}:{}/{} of seed {} has another result; that of the store is kept: {}\n",
                             path, own.block, own.row, own.column, own.seed,
                             own.runtime_us ? fmt::format("{} us", *own.runtime_us) : own.status));
  }
}

class TableRun : public TableVerb {
 public:
  void Declare(CLI::App& app) override {
    DeclareTable(app, "folder for rows.csv and cells.csv; else .stowplan/NAME, with --export results/NAME");
    DeclareCells(app, "only these: [BLOCK:]ROW/COLUMN with *, several by commas");
    problem::Whole(
        app.add_option("--seeds", plan_.seeds, "seeds 1 to N of searched cells; else the budget's"), 1,
        problem::kMaxSeeds)
        ->option_text("N");
    problem::Whole(
        app.add_option("--samples", plan_.samples, "samples of a searched cell; else the budget's"), 1,
        problem::kMaxSamples)
        ->option_text("N");
    CLI::Option* const budget =
        problem::OneOf(
            app.add_option(
                "--budget", budget_,
                "samples and seeds of searched cells: quick (minutes), standard (hours), paper (what "
                "the papers spent)"),
            {"quick", "standard", "paper"})
            ->capture_default_str();
    app.add_flag_callback(
           "--quick", [this] { budget_ = "quick"; }, "--budget quick")
        ->excludes(budget);
    app.add_flag("--resume", resume_, "keep finished cells of this scenario, go on with the others");
    app.add_option(
           "--adopt", adopted_,
           "finished cells of this rows.csv (of a commit, of another machine) that the store has not, "
           "then as --resume (may be repeated)")
        ->option_text("FILE");
    app.add_flag("--export", export_, "write results/NAME");
    problem::OneOf(
        app.add_option(
            "--stale", stale_,
            "with --export, what becomes of rows that no cell of today replaces, because settings or "
            "scenario changed: refuse to export, keep them, drop them"),
        {"refuse", "keep", "drop"})
        ->capture_default_str();
    app.add_option("--store", store_, "working store of finished cells")
        ->capture_default_str()
        ->option_text("FILE");
    DeclareCommands(app);
    DeclareTestbed(app);
    app.add_flag("--force", force_, "write into --out whatever table it holds");
    AddExamples(app, {"stowplan table run hierarchical --quick",
                      "stowplan table run hierarchical --cells 'nmt_2/*' --samples 1000 --resume",
                      "stowplan table run examples/table.yaml --samples 20"});
  }

  void Run() override {
    agents::Ranks& ranks = agents::World();
    Open(export_ ? kExports : kRuns);
    RefuseOtherRows();
    const tables::TableDefinition& table = TableOfCells();
    plan_.cells = cells_;
    for (const tables::BudgetSize size : tables::BudgetSizes())
      if (budget_ == ToString(size)) plan_.size = size;
    const tables::StaleRows stale = stale_ == "keep"   ? tables::StaleRows::kKeep
                                    : stale_ == "drop" ? tables::StaleRows::kDrop
                                                       : tables::StaleRows::kRefuse;
    const std::vector<tables::CellPlan> plans = tables::PlanCells(table, plan_);
    const tables::Testbed testbed(TestbedFile(table));
    if (own_) CheckRows(testbed, plans);
    if (ranks.first()) PrepareOutputs();
    tables::TableStore store(store_);
    Adopt(table, store);
    const std::vector<tables::CellRecord> records = Gathered(
        table, RunAll(table, testbed, tables::ShareOfRank(plans, ranks), store, ranks), store, ranks);
    if (!ranks.first()) return;
    if (records.size() < plans.size()) {
      throw output::Interrupted(fmt::format(
          "stopped after {} of {} cells; they are kept, the same call with --resume goes on with the others.",
          records.size(), plans.size()));
    }
    if (!export_) return Show(table, tables::PrintRows(records), true);
    if (stale != tables::StaleRows::kDrop) tables::RefuseOtherCells(table, RowsPath());
    Show(table,
         tables::PrintRows(
             tables::WithStale(table, AllOf(table, testbed, store), RowsBefore(), stale, RowsPath())),
         true);
  }

 private:
  std::vector<tables::CellRecord> RunAll(const tables::TableDefinition& table, const tables::Testbed& testbed,
                                         const std::vector<tables::CellPlan>& plans,
                                         tables::TableStore& store, const agents::Ranks& ranks) const {
    tables::RunOptions options;
    options.checkpoints = (fs::path(store_).parent_path() / "checkpoints").string();
    options.resume = resume_ || !adopted_.empty();
    if (options.resume) options.done = store.All(table.name);
    return RunPlans(table, testbed, plans, options,
                    {.threads = threads_, .known = store.All(table.name), .quiet = !ranks.first()}, &store);
  }

  // Those of cells that this table has: tables share some, as mars-pretraining has the learners of mars. Whether they are
  // the same experiment is said by the key (scenario, agent, seed, budget) when the cell's turn comes.
  // All files are read before anything is taken.
  void Adopt(const tables::TableDefinition& table, tables::TableStore& store) const {
    std::vector<std::vector<tables::CellRecord>> files;
    for (const std::string& path : adopted_) {
      std::vector<tables::CellRecord>& rows =
          files.emplace_back(tables::ParseRows(formats::ReadFile(path), path));
      const auto all = rows.size();
      std::erase_if(rows, [&](const tables::CellRecord& row) {
        return !table.HasCell(row.block, row.row, row.column);
      });
      if (rows.empty() && all > 0)
        throw InputError(fmt::format("--adopt {}: has no cell of table {}.", path, table.name));
    }
    for (std::size_t i = 0; i < files.size(); ++i)
      ReportAdopted(adopted_[i], files[i], store.Adopt(table.name, files[i]));
  }

  // What all ranks ran, on the first one, which keeps it: their stores may be on other machines.
  std::vector<tables::CellRecord> Gathered(const tables::TableDefinition& table,
                                           std::vector<tables::CellRecord> records, tables::TableStore& store,
                                           agents::Ranks& ranks) const {
    if (ranks.alone()) return records;
    const std::vector<std::string> rows = ranks.Exchange(tables::PrintRows(records));
    for (std::size_t rank = 1; rank < rows.size() && ranks.first(); ++rank) {
      for (tables::CellRecord& record : tables::ParseRows(rows[rank], fmt::format("rank {}", rank))) {
        if (record.note.empty()) store.Put(table.name, record);
        records.push_back(std::move(record));
      }
    }
    return records;
  }

  // What is exported: every cell of the table that is finished under these budgets, whatever call ran it.
  std::vector<tables::CellRecord> AllOf(const tables::TableDefinition& table, const tables::Testbed& testbed,
                                        const tables::TableStore& store) const {
    tables::PlanOptions everything = plan_;
    everything.cells = {"*:*/*"};  // a block's that was run by its name, too
    tables::RunOptions options;
    options.threads = threads_;
    options.resume = true;
    options.only_done = true;
    options.done = store.All(table.name);
    return tables::RunCells(table, testbed, tables::PlanCells(table, everything), options);
  }

  // What stands in the file that an export replaces, and what was adopted for it.
  std::vector<tables::CellRecord> RowsBefore() const {
    std::vector<tables::CellRecord> rows;
    std::vector<std::string> files = adopted_;
    if (fs::exists(RowsPath())) files.push_back(RowsPath());
    for (const std::string& file : files) {
      for (tables::CellRecord& row : tables::ParseRows(formats::ReadFile(file), file))
        rows.push_back(std::move(row));
    }
    return rows;
  }

  tables::PlanOptions plan_;
  std::string budget_ = "standard";
  std::vector<std::string> adopted_;
  std::string stale_ = "refuse";
  std::string store_ = kStore;
  bool resume_ = false;
  bool export_ = false;
};

class TableDerive : public TableVerb {
 public:
  void Declare(CLI::App& app) override {
    DeclareTable(app, "folder for the rows; else .stowplan/NAME, with --export results/NAME",
                 "robustness, gate or accuracy");
    DeclareCells(app, "of gate, only these runs: CASE/AGENT with *, several by commas");
    app.add_flag("--resume", resume_, "of gate: keep finished runs, go on with the others");
    app.add_flag("--export", export_, "write results/NAME");
    app.add_option("--from", from_, "the folder with the other tables' folders, which the rows are made of")
        ->capture_default_str()
        ->option_text("DIR");
    app.add_flag("--force", force_, "write into --out whatever table it holds");
    AddExamples(app, {"stowplan table derive robustness --from .stowplan",
                      "stowplan table derive gate --cells 'chains_2/*' --resume"});
  }

  void Run() override {
    Open(export_ ? kExports : kRuns);
    if (!IsDerived()) {
      throw InputError(fmt::format("table {} has cells; `stowplan table run {}` runs them.", name_,
                                   TableOfCells().called()));
    }
    const char* of_gate = !cells_.empty() ? "--cells" : resume_ ? "--resume" : nullptr;
    if (of_gate != nullptr && name_ != "gate") {
      throw InputError(
          fmt::format("{}: table {} is made of what others ran and has no cells.", of_gate, name_));
    }
    const tables::DerivedRow* const derived = tables::FindDerived(name_);
    if (derived == nullptr) return WriteAccuracy();
    RefuseOtherRows();
    const std::vector<tables::TableResults> tables = tables::ReadExported(from_);
    PrepareOutputs();
    formats::WriteFile(RowsPath(), Evaluate(*derived, tables));
    output::Print(fmt::format("{}\na page: {}\n", RowsPath(), PageCommand(name_)));
  }

 private:
  std::string Evaluate(const tables::DerivedRow& derived,
                       const std::vector<tables::TableResults>& tables) const {
    std::optional<output::Progress> progress;
    tables::DerivedOptions options;
    options.threads = threads_;
    options.stop = &output::StopRequested();
    options.on_part = [&](std::int64_t done, std::int64_t total) {
      if (!progress) progress.emplace(fmt::format("table {}", name_), total);
      progress->Update(done);
    };
    options.rows_path = RowsPath();
    options.resume = resume_;
    options.cells = cells_;
    const output::EndsInTime in_time([&] {
      return fmt::format("stopped; what table {} keeps of its runs is kept, see --resume.", name_);
    });
    return derived.evaluate(tables, options);
  }

  void WriteAccuracy() const {
    const std::vector<ScoredFolder> folders = ScoreFolders((fs::path(from_) / "accuracy").string());
    const GpuAccuracy gpus = ReadGpuAccuracy((fs::path(from_) / "gpu").string());
    const output::ReportPage page = MakeAccuracyPage(folders, gpus);
    formats::MakeFolder(folder_.string());
    for (const auto& [file, text] :
         {std::pair{"table.md", output::PrintReportMarkdown(MakeAccuracyVerdict(folders, gpus))},
          {"details.md", output::PrintReportMarkdown(page)},
          {"table.html", PrintAccuracyHtml(page, folders)}})
      formats::WriteFile((folder_ / file).string(), text);
    output::Print(fmt::format("{}\n{}: table.md, details.md, table.html\n", output::PrintReportText(page),
                              folder_.string()));
  }

  std::string from_ = kExports;
  bool resume_ = false;
  bool export_ = false;
};

class TableShow : public TableVerb {
 public:
  void Declare(CLI::App& app) override {
    DeclareTable(app, "folder of rows.csv, and for cells.csv; else results/NAME");
    DeclareTestbed(app);
    AddExamples(app, {"stowplan table show placeto",
                      "stowplan table show examples/table.yaml --out .stowplan/two-workloads"});
  }

  void Run() override {
    Open(kExports);
    if (IsDerived()) {
      throw InputError(
          fmt::format("table {0} has no cells; `python3 -m stowplan.report {0}` makes its page.", name_));
    }
    const tables::TableDefinition& table = TableOfCells();
    const std::string ran = (fs::path(kRuns) / name_).string();
    if (out_.empty() && !fs::exists(RowsPath()) && fs::exists(fs::path(ran) / "rows.csv")) {
      throw InputError(
          fmt::format("there is no {}; --out {} shows what was run here last.", RowsPath(), ran));
    }
    const std::string rows = formats::ReadFile(RowsPath());
    if (own_) RefuseOtherScenarios(table, tables::ParseRows(rows, RowsPath()));
    Show(table, rows, false);
  }

 private:
  // A user changes a file between two calls: numbers of another graph, machine or agent must not stand under today's.
  void RefuseOtherScenarios(const tables::TableDefinition& table,
                            const std::vector<tables::CellRecord>& rows) const {
    const std::string other =
        tables::AnyOfOtherScenarios(table, tables::Testbed(TestbedFile(table)), rows, threads_);
    if (other.empty()) return;
    throw InputError(
        fmt::format("{}: row {} is of another graph, machine, agent or budget than {} has now; "
                    "`stowplan table run {} --resume` runs what has changed anew.",
                    RowsPath(), other, file_, file_));
  }
};

class TableVerify : public TableVerb {
 public:
  void Declare(CLI::App& app) override {
    DeclareTable(app, "folder of rows.csv; else results/NAME, of a file of yours .stowplan/NAME");
    problem::Whole(app.add_option("--rows", rows_, "how many rows, of every column in turn"), 1, kMaxVerified)
        ->required()
        ->option_text("N");
    DeclareCells(app, "only rows of these: [BLOCK:]ROW/COLUMN with *, several by commas");
    DeclareCommands(app);
    DeclareTestbed(app);
    AddExamples(app, {"stowplan table verify placeto --rows 20",
                      "stowplan table verify placeto --rows 5 --cells 'native:*/placeto'"});
  }

  // Nothing is written but policies that cells start from, in a folder that is removed.
  void Run() override {
    Open(tables::IsTableFile(name_) ? kRuns : kExports);
    const tables::TableDefinition& table = TableOfCells();
    const std::string path = RowsPath();
    if (!std::filesystem::exists(path))
      throw InputError(fmt::format("there is no {}; --out DIR names the folder of the rows.", path));
    const std::vector<tables::CellRecord> rows = tables::ParseRows(formats::ReadFile(path), path);
    const tables::DrawnRows drawn =
        tables::DrawRows(tables::TableResults(table, rows), rows, cells_, static_cast<std::size_t>(rows_));
    if (drawn.rows.empty())
      throw InputError(
          fmt::format("{}: has no row of these cells that was run with today's settings.", path));
    const tables::Testbed testbed(TestbedFile(table));
    std::vector<tables::CellPlan> plans;
    for (const tables::CellRecord& row : drawn.rows) plans.push_back(tables::PlanOfRow(table, row));
    const output::TempFolder folder;
    tables::RunOptions options;
    options.checkpoints = folder.path();
    const std::vector<tables::CellRecord> again =
        RunPlans(table, testbed, plans, options, {.threads = threads_, .known = rows});
    const tables::Comparison compared = tables::CompareRows(drawn.rows, again);
    output::Print(compared.text);
    if (output::StopRequested())
      throw output::Interrupted(fmt::format("stopped after {} of {} cells.", again.size(), plans.size()));
    std::string counts = fmt::format("{} of {} rows run again: {} equal, {} different", again.size(),
                                     rows.size(), compared.equal, compared.different);
    if (compared.not_run > 0) counts += fmt::format(", {} cannot be run in this build", compared.not_run);
    if (drawn.before > 0)
      counts += fmt::format("; {} row{} of settings before today's and not drawn", drawn.before,
                            drawn.before == 1 ? " is" : "s are");
    if (compared.different > 0)
      throw RunError(fmt::format("{}: this build does not compute what the file holds. {}.", path, counts));
    output::Print(fmt::format("{}\n", counts));
  }

 private:
  int rows_ = 0;
};

class TableSalvage : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("--store", store_, "working store of finished cells")
        ->capture_default_str()
        ->option_text("FILE");
    AddExamples(app, {"stowplan table salvage", "stowplan table salvage --store cells.db"});
  }

  void Run() override {
    const tables::SalvagedStore salvaged = tables::SalvageStore(store_);
    output::Tell(fmt::format("{}: {} sound cells kept, {} broken ones dropped; the damaged file is {}\n",
                             store_, salvaged.kept, salvaged.broken, salvaged.damaged));
  }

 private:
  std::string store_ = kStore;
};

}  // namespace

const std::vector<CommandRow>& TableVerbs() {
  static const std::vector<CommandRow> rows = {
      {"run", "run the cells of a table, keep each finished one, show the published cell beside ours",
       Make<TableRun>, true},
      {"derive", "rows beside the tables: robustness of placements, the sanity suite, accuracy of recordings",
       Make<TableDerive>},
      {"show", "run nothing: show a rows.csv, and write its cells.csv for pages", Make<TableShow>},
      {"verify", "run rows of a rows.csv again and compare, write nothing", Make<TableVerify>},
      {"salvage", "keep a damaged store of cells as FILE.damaged, put its sound cells into a new one",
       Make<TableSalvage>},
  };
  return rows;
}

}  // namespace stowplan::cli
