// stowplan table: runs the cells of a table, keeps each finished one, renders what there is.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "agents/ranks.h"
#include "bench/commands/commands.h"
#include "bench/console.h"
#include "bench/interrupt.h"
#include "bench/options.h"
#include "bench/progress.h"
#include "bench/reference.h"
#include "bench/run_folder.h"
#include "bench/tables/cell_progress.h"
#include "bench/tables/derived.h"
#include "bench/tables/learned.h"
#include "bench/tables/rendered_table.h"
#include "bench/tables/runner.h"
#include "bench/tables/settings_before.h"
#include "bench/tables/stale.h"
#include "bench/tables/store.h"
#include "bench/tables/table_file.h"
#include "bench/tables/verify.h"
#include "bench/temp_folder.h"
#include "bench/validate/accuracy_table.h"
#include "sim/error.h"
#include "sim/formats/formats.h"
#include "sim/formats/outputs.h"
#include "sim/formats/source.h"
#include "sim/nearest_name.h"
#include "sim/spec.h"

namespace stowplan::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxVerified = 100'000;
constexpr const char* kRuns = ".stowplan";  // where what is not exported stands
constexpr const char* kExports = "results";
constexpr const char* kStore = ".stowplan/tables.db";

class TableCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("name", name_, "one of `stowplan list tables`, or a file of yours (docs/formats.md)")
        ->required()
        ->option_text("NAME");
    app.add_option("--cells", plan_.cells,
                   "only these: [BLOCK:]ROW/COLUMN with *, several by commas; of gate: CASE/AGENT")
        ->delimiter(',')
        ->option_text("CELLS");
    Whole(app.add_option("--seeds", plan_.seeds, "seeds 1 to N of searched cells; else the budget's"), 1,
          kMaxSeeds)
        ->option_text("N");
    Whole(app.add_option("--samples", plan_.samples, "samples of a searched cell; else the budget's"), 1,
          kMaxSamples)
        ->option_text("N");
    app.add_option("--budget", budget_,
                   "samples and seeds of searched cells: quick (minutes), standard (hours), paper (what the "
                   "papers spent)")
        ->capture_default_str()
        ->option_text("quick|standard|paper");
    app.add_flag("--quick", quick_, "--budget quick");
    app.add_flag("--resume", resume_,
                 "keep finished cells of this scenario (of gate: runs), go on with the others");
    app.add_option(
           "--adopt", adopted_,
           "finished cells of this rows.csv (of a commit, of another machine) that the store has not, "
           "then as --resume (may be repeated)")
        ->option_text("FILE");
    app.add_flag("--salvage", salvage_,
                 "keep a damaged --store as FILE.damaged, go on with its sound cells as --resume");
    app.add_flag("--export", export_, "write results/NAME: rows.csv and the renderings made from it");
    app.add_option("--stale", stale_,
                   "with --export, what becomes of rows that no cell of today replaces, because settings or "
                   "scenario changed: refuse to export, keep them, drop them")
        ->capture_default_str()
        ->option_text("refuse|keep|drop");
    Whole(app.add_option("--verify", verify_,
                         "run N rows of the rows.csv that --out holds again, every column in turn, and "
                         "write nothing: is it what this build computes?"),
          1, kMaxVerified)
        ->option_text("N");
    app.add_flag("--render", render_, "run nothing: render the rows.csv that --out holds");
    app.add_option(
           "--out", out_,
           "folder for the renderings; else .stowplan/NAME, with --export, --render or --verify results/NAME "
           "(--verify of a file of yours: .stowplan/NAME)")
        ->option_text("DIR");
    app.add_option("--from", from_,
                   "the folder with the other tables' folders: what bounds, budget and robustness are made "
                   "of, and gate")
        ->capture_default_str()
        ->option_text("DIR");
    app.add_option("--testbed", testbed_,
                   "parameters of the machine; else results/NAME/testbed.json if there is one")
        ->option_text("FILE");
    app.add_option("--store", store_, "working store of finished cells")
        ->capture_default_str()
        ->option_text("FILE");
    Threads(app.add_option("--threads", threads_, "cells at a time; 0 = one per core"))
        ->capture_default_str()
        ->option_text("N");
    app.add_flag("--force", force_, "write into --out whatever table it holds");
    JsonFile(app.add_option("--json", json_,
                            "write the cells as stowplan.table to this file; - is standard output"))
        ->option_text("FILE");
    AddExamples(app, {"stowplan table hierarchical --quick",
                      "stowplan table hierarchical --cells 'nmt_2/*' --samples 1000 --resume",
                      "stowplan table placeto --render --json placeto.json",
                      "stowplan table examples/table.yaml --samples 20"});
  }

  void Run() override {
    agents::Ranks& ranks = agents::World();
    const bool runs_cells = !render_ && name_ != kAccuracyTable && FindDerived(name_) == nullptr;
    if ((!runs_cells || verify_ > 0) && !ranks.first()) return;
    if (salvage_ && !runs_cells && !render_)
      throw InputError(
          fmt::format("--salvage: table {} is made of what others ran and has no store.", name_));
    if (verify_ > 0) RefuseBesideVerify(runs_cells);
    if (!adopted_.empty() && (name_ == kAccuracyTable || FindDerived(name_) != nullptr))
      throw InputError(fmt::format("--adopt: table {} {}.", name_, WhyNoCells()));
    if (name_ == kAccuracyTable && !json_.empty()) {
      throw InputError(
          "--json: table accuracy is made of scores; `stowplan validate --recordings DIR --json FILE` writes "
          "them.");
    }
    if (IsTableFile(name_)) {
      own_ = ReadTable(name_);
      file_ = std::exchange(name_, own_->name);
    }
    if (!own_) RefuseOtherFiles();
    CheckFolder();
    if (name_ == kAccuracyTable) return RenderAccuracy();
    if (const DerivedRow* derived = FindDerived(name_)) return Derive(*derived);
    const TableDefinition& table = own_ ? *own_ : FindTable(name_);
    if (verify_ > 0) return Verify(table);
    if (render_ && export_)
      throw InputError("--render: renders rows that were exported before, so not together with --export.");
    if (render_ && !adopted_.empty())
      throw InputError("--adopt: takes rows into the store, which --render does not read.");
    if (render_ && salvage_) throw InputError("--salvage: mends the store, which --render does not read.");
    if (render_ &&
        (plan_.samples > 0 || plan_.seeds > 0 || !plan_.cells.empty() || quick_ || budget_ != "standard"))
      throw InputError(
          "--render: renders all rows that there are, so not together with --samples, --seeds, --cells or a "
          "budget.");
    if (render_) {
      const std::vector<CellRecord> rows = ReadRows();
      if (own_) RefuseOtherScenarios(table, rows);
      return Render(table, rows);
    }
    plan_.size = Size();
    const StaleRows stale = ParseStaleRows(stale_);
    const std::vector<CellPlan> plans = PlanCells(table, plan_);
    const Testbed testbed(TestbedFile(table));
    CheckTestbed(table, testbed);
    if (own_) CheckRows(testbed, plans);
    if (ranks.first()) PrepareOutputs();
    if (salvage_ && ranks.first()) Salvage();
    if (salvage_) ranks.Exchange({});  // no other rank opens the store before
    TableStore store(store_);
    Adopt(table, store);
    const std::vector<CellRecord> records =
        Gathered(table, RunAll(table, testbed, ShareOfRank(plans, ranks), store, ranks), store, ranks);
    if (!ranks.first()) return;
    if (records.size() < plans.size()) {
      throw Interrupted(fmt::format(
          "stopped after {} of {} cells; they are kept, the same call with --resume goes on with the others.",
          records.size(), plans.size()));
    }
    if (export_) {
      const std::string path = (Folder() / "rows.csv").string();
      if (stale != StaleRows::kDrop) RefuseOtherCells(table, path);
      return Render(table, WithStale(table, AllOf(table, testbed, store), RowsBefore(path), stale, path));
    }
    Render(PlannedPart(table, plans), records);
  }

 private:
  std::string TestbedFile(const TableDefinition& table) const {
    return testbed_.empty() ? TestbedPath(table) : testbed_;
  }
  void CheckTestbed(const TableDefinition& table, const Testbed& testbed) const {
    if (!testbed_.empty() && !testbed.calibrated())
      throw InputError(fmt::format("--testbed {}: there is no such file.", testbed_));
    if (own_ && !table.testbed.empty() && !testbed.calibrated()) {
      throw InputError(
          fmt::format("{}: testbed {}: there is no {} here; go to the folder that has it, or give "
                      "--testbed FILE.",
                      file_, table.testbed, TestbedPath(table)));
    }
  }

  // A row that cannot be made is told before the first cell, not hours later; those of the papers' tables can.
  static void CheckRows(const Testbed& testbed, const std::vector<CellPlan>& plans) {
    std::set<std::pair<const TableBlock*, const TableLine*>> rows;
    for (const CellPlan& plan : plans) {
      if (rows.emplace(plan.block, plan.line).second && CannotRun(*plan.line).empty())
        formats::CheckedAt(plan.line->place, [&] { return testbed.Load(*plan.block, *plan.line); });
    }
  }

  BudgetSize Size() const {
    if (quick_ && budget_ != "standard")
      throw InputError(fmt::format("--quick: is --budget quick, so not together with --budget {}.", budget_));
    if (quick_) return BudgetSize::kQuick;
    for (const BudgetSize size : BudgetSizes()) {
      if (budget_ == ToString(size)) return size;
    }
    std::vector<std::string> sizes;
    for (const BudgetSize size : BudgetSizes()) sizes.emplace_back(ToString(size));
    throw InputError(
        fmt::format("--budget {}{}: there are {}.", budget_, DidYouMean(budget_, sizes), JoinNames(sizes)));
  }

  fs::path Folder() const {
    if (!out_.empty()) return out_;
    return fs::path(export_ || render_ || (verify_ > 0 && !own_) ? kExports : kRuns) / name_;
  }

  // A file under a name that is no table's.
  void RefuseOtherFiles() const {
    std::error_code ignored;
    const auto known = [&](const TableName& table) { return table.name == name_; };
    if (std::ranges::any_of(TableNames(), known) || !fs::is_regular_file(name_, ignored)) return;
    throw InputError(fmt::format("{}: a table's file has a name that ends in .yaml; rename it, or give ./{}.",
                                 name_, name_));
  }

  // Another table's folder or none of a table, by mistake: its rows would be replaced.
  void CheckFolder() const {
    if (out_.empty() || force_) return;
    const std::string path = (fs::path(out_) / "table.md").string();
    if (fs::exists(path)) {
      const std::string text = formats::ReadFile(path);
      if (text.starts_with(fmt::format("# {}: ", name_))) return;
      std::string found = "a table.md of something else";
      for (const TableName& other : TableNames()) {
        if (text.starts_with(fmt::format("# {}: ", other.name))) found = "table " + std::string(other.name);
      }
      throw InputError(
          fmt::format("{}: holds {}; give another --out, or --force to replace it.", out_, found));
    }
    for (const char* file : {"rows.csv", "details.md", "table.csv", "table.tex", "table.html"}) {
      const bool begun = (render_ || resume_ || verify_ > 0) && std::string_view(file) == "rows.csv";
      if (begun || !fs::exists(fs::path(out_) / file)) continue;
      RefuseUnknownFile(out_, file, "table.md");
    }
  }

  const char* WhyNoCells() const {
    return name_ == "gate" ? "has runs, no cells: with --resume it takes those of the rows.csv in its folder"
                           : "is made of what others ran and has no cells";
  }

  void RefuseBesideVerify(bool runs_cells) const {
    Size();  // a budget that there is not is told first
    if (!runs_cells && !render_) throw InputError(fmt::format("--verify: table {} {}.", name_, WhyNoCells()));
    for (const auto& [given, option] :
         {std::pair{render_, "--render"},
          {export_, "--export"},
          {resume_, "--resume"},
          {salvage_, "--salvage"},
          {!adopted_.empty(), "--adopt"},
          {!json_.empty(), "--json"},
          {plan_.samples > 0 || plan_.seeds > 0, "--samples and --seeds: those of the rows hold"},
          {quick_ || budget_ != "standard", "--budget: that of the rows holds"},
          {stale_ != "refuse", "--stale"},
          {store_ != kStore, "--store"},
          {from_ != kExports, "--from"},
          {force_, "--force"}}) {
      if (given)
        throw InputError(
            fmt::format("--verify: runs rows again and writes nothing, so not together with {}.", option));
    }
  }

  // Before the first cell: what cannot be written is not found after hours of them.
  void PrepareOutputs() const {
    formats::PrepareOutput((Folder() / "table.md").string());
    if (!json_.empty()) formats::PrepareOutput(json_);
  }

  void RenderAccuracy() const {
    const std::vector<ScoredFolder> folders = ScoreFolders("results/accuracy");
    const GpuAccuracy gpus = ReadGpuAccuracy("results/gpu");
    const ReportPage page = MakeAccuracyPage(folders, gpus);
    const fs::path folder = Folder();
    formats::MakeFolder(folder.string());
    formats::WriteFile((folder / "table.md").string(),
                       PrintReportMarkdown(MakeAccuracyVerdict(folders, gpus)));
    formats::WriteFile((folder / "details.md").string(), PrintReportMarkdown(page));
    formats::WriteFile((folder / "table.html").string(), PrintAccuracyHtml(page, folders));
    fmt::print("{}\n{}: table.md, details.md, table.html\n", PrintReportText(page), folder.string());
  }

  void Derive(const DerivedRow& derived) const {
    if (!plan_.cells.empty() && name_ != "gate")
      throw InputError(fmt::format("--cells: table {} is made of what others ran and has no cells.", name_));
    const std::vector<TableResults> tables = ReadExported(from_);
    PrepareOutputs();
    std::string rows;
    if (derived.evaluate != nullptr) {
      const std::string path = (Folder() / "rows.csv").string();
      if (!render_) formats::WriteFile(path, Evaluate(derived, tables, path));
      rows = formats::ReadFile(path);
    }
    Write(derived.render(tables, rows), derived.evaluate != nullptr);
  }

  std::string Evaluate(const DerivedRow& derived, const std::vector<TableResults>& tables,
                       const std::string& rows_path) const {
    std::optional<Progress> progress;
    DerivedOptions options;
    options.threads = threads_;
    options.stop = &StopRequested();
    options.on_part = [&](std::int64_t done, std::int64_t total) {
      if (!progress) progress.emplace(fmt::format("table {}", name_), total);
      progress->Update(done);
    };
    options.rows_path = rows_path;
    options.resume = resume_;
    options.cells = plan_.cells;
    return derived.evaluate(tables, options);
  }

  std::vector<CellRecord> ReadRows() const {
    const std::string path = (Folder() / "rows.csv").string();
    const std::string ran = (fs::path(kRuns) / name_).string();
    if (out_.empty() && !fs::exists(path) && fs::exists(fs::path(ran) / "rows.csv")) {
      throw InputError(
          fmt::format("--render: there is no {}; --out {} renders what was run here last.", path, ran));
    }
    return ParseRows(formats::ReadFile(path), path);
  }

  std::vector<CellRecord> RunAll(const TableDefinition& table, const Testbed& testbed,
                                 const std::vector<CellPlan>& plans, TableStore& store,
                                 const agents::Ranks& ranks) const {
    RunOptions options;
    options.checkpoints = (fs::path(store_).parent_path() / "checkpoints").string();
    options.resume = resume_ || salvage_ || !adopted_.empty();
    if (options.resume) options.done = store.All(table.name);
    return RunPlans(table, testbed, plans, options,
                    {.threads = threads_, .known = store.All(table.name), .quiet = !ranks.first()},
                    [&](const CellRecord& record) { store.Put(table.name, record); });
  }

  // With progress; each new result is handed to `keep`.
  std::vector<CellRecord> RunPlans(const TableDefinition& table, const Testbed& testbed,
                                   const std::vector<CellPlan>& plans, RunOptions options,
                                   const CellProgress::Options& drawn,
                                   const std::function<void(const CellRecord&)>& keep) const {
    options.threads = threads_;
    options.stop = &StopRequested();
    CellProgress progress("table " + table.name + ", cells", plans, drawn);
    options.on_cell = [&](const CellRecord& record, bool skipped) {
      if (!skipped && record.note.empty()) keep(record);
      progress.Cell(record, skipped);
    };
    options.on_samples = [&](const CellPlan& plan, std::int64_t samples) { progress.Samples(plan, samples); };
    options.on_training = [&](const std::string& policy, std::int64_t samples, std::int64_t budget) {
      progress.Training(policy, samples, budget);
    };
    return RunCells(table, testbed, plans, options);
  }

  void Salvage() const {
    const SalvagedStore salvaged = SalvageStore(store_);
    Tell(fmt::format("{}: {} sound cells kept, {} broken ones dropped; the damaged file is {}\n", store_,
                     salvaged.kept, salvaged.broken, salvaged.damaged));
  }

  // Those of cells that this table has: tables share some, as mars-pretraining has the learners of mars. Whether they are
  // the same experiment is said by the key (scenario, agent, seed, budget) when the cell's turn comes.
  // All files are read before anything is taken.
  void Adopt(const TableDefinition& table, TableStore& store) const {
    std::vector<std::vector<CellRecord>> files;
    for (const std::string& path : adopted_) {
      std::vector<CellRecord>& rows = files.emplace_back(ParseRows(formats::ReadFile(path), path));
      const auto all = rows.size();
      std::erase_if(rows,
                    [&](const CellRecord& row) { return !table.HasCell(row.block, row.row, row.column); });
      if (rows.empty() && all > 0)
        throw InputError(fmt::format("--adopt {}: has no cell of table {}.", path, table.name));
    }
    for (std::size_t i = 0; i < files.size(); ++i)
      ReportAdopted(adopted_[i], files[i], store.Adopt(table.name, files[i]));
  }

  static void ReportAdopted(const std::string& path, const std::vector<CellRecord>& rows,
                            const TableStore::Adopted& adopted) {
    std::set<std::string> revisions;
    for (const CellRecord& row : rows) revisions.insert(RevisionText(row));
    Tell(fmt::format("{}: {} of {} rows taken into the store, of revisions {}\n", path, adopted.put,
                     rows.size(), JoinNames({revisions.begin(), revisions.end()})));
    for (const CellRecord& own : adopted.other) {
      Tell(fmt::format("{}: {}:{}/{} of seed {} has another result; that of the store is kept: {}\n", path,
                       own.block, own.row, own.column, own.seed,
                       own.runtime_us ? fmt::format("{} us", *own.runtime_us) : own.status));
    }
  }

  // What all ranks ran, on the first one, which keeps it: their stores may be on other machines.
  std::vector<CellRecord> Gathered(const TableDefinition& table, std::vector<CellRecord> records,
                                   TableStore& store, agents::Ranks& ranks) const {
    if (ranks.alone()) return records;
    const std::vector<std::string> rows = ranks.Exchange(PrintRows(records));
    for (std::size_t rank = 1; rank < rows.size() && ranks.first(); ++rank) {
      for (CellRecord& record : ParseRows(rows[rank], fmt::format("rank {}", rank))) {
        if (record.note.empty()) store.Put(table.name, record);
        records.push_back(std::move(record));
      }
    }
    return records;
  }

  // What is exported: every cell of the table that is finished under these budgets, whatever call ran it.
  std::vector<CellRecord> AllOf(const TableDefinition& table, const Testbed& testbed,
                                const TableStore& store) const {
    PlanOptions everything = plan_;
    everything.cells = {"*:*/*"};  // a block's that was run by its name, too
    RunOptions options;
    options.threads = threads_;
    options.resume = true;
    options.only_done = true;
    options.done = store.All(table.name);
    return RunCells(table, testbed, PlanCells(table, everything), options);
  }

  // A user changes a file between two calls: numbers of another graph, machine or agent must not stand under today's.
  void RefuseOtherScenarios(const TableDefinition& table, const std::vector<CellRecord>& rows) const {
    const Testbed testbed(TestbedFile(table));
    CheckTestbed(table, testbed);
    const std::string other = AnyOfOtherScenarios(table, testbed, rows, threads_);
    if (other.empty()) return;
    throw InputError(
        fmt::format("{}: row {} is of another graph, machine, agent or budget than {} has now; run it with "
                    "--resume, which runs what has changed anew.",
                    (Folder() / "rows.csv").string(), other, file_));
  }

  // Runs some of the rows again. Nothing is written but policies that cells start from, in a folder that is removed.
  void Verify(const TableDefinition& table) const {
    const std::string path = (Folder() / "rows.csv").string();
    if (!fs::exists(path))
      throw InputError(
          fmt::format("--verify: there is no {}; --out DIR names the folder of the rows.", path));
    const std::vector<CellRecord> rows = ParseRows(formats::ReadFile(path), path);
    const DrawnRows drawn =
        DrawRows(TableResults(table, rows), rows, plan_.cells, static_cast<std::size_t>(verify_));
    if (drawn.rows.empty())
      throw InputError(
          fmt::format("{}: has no row of these cells that was run with today's settings.", path));
    const Testbed testbed(TestbedFile(table));
    CheckTestbed(table, testbed);
    std::vector<CellPlan> plans;
    for (const CellRecord& row : drawn.rows) plans.push_back(PlanOfRow(table, row));
    const TempFolder folder;
    RunOptions options;
    options.checkpoints = folder.path();
    const std::vector<CellRecord> again = RunPlans(
        table, testbed, plans, options, {.threads = threads_, .known = rows}, [](const CellRecord&) {});
    const Comparison compared = CompareRows(drawn.rows, again);
    fmt::print("{}", compared.text);
    if (StopRequested())
      throw Interrupted(fmt::format("stopped after {} of {} cells.", again.size(), plans.size()));
    std::string counts = fmt::format("{} of {} rows run again: {} equal, {} different", again.size(),
                                     rows.size(), compared.equal, compared.different);
    if (compared.not_run > 0) counts += fmt::format(", {} cannot be run in this build", compared.not_run);
    if (drawn.before > 0)
      counts += fmt::format("; {} row{} of settings before today's and not drawn", drawn.before,
                            drawn.before == 1 ? " is" : "s are");
    if (compared.different > 0)
      throw RunError(fmt::format("{}: this build does not compute what the file holds. {}.", path, counts));
    fmt::print("{}\n", counts);
  }

  // What stands in the file that an export replaces, and what was adopted for it.
  std::vector<CellRecord> RowsBefore(const std::string& path) const {
    std::vector<CellRecord> rows;
    std::vector<std::string> files = adopted_;
    if (fs::exists(path)) files.push_back(path);
    for (const std::string& file : files) {
      for (CellRecord& row : ParseRows(formats::ReadFile(file), file)) rows.push_back(std::move(row));
    }
    return rows;
  }

  // Why learners failed the gate, where its rows are beside the other tables'.
  std::map<std::string, std::string> Gate() const {
    const fs::path rows = fs::path(from_) / "gate" / "rows.csv";
    if (!fs::exists(rows)) return {};
    return GateMisses(formats::ReadFile(rows.string()));
  }

  // Renderings are made from the text of rows.csv, never from memory: what is committed can be made again.
  void Render(const TableDefinition& table, const std::vector<CellRecord>& records) const {
    const std::string rows = PrintRows(records);
    const TableResults results(table, ParseRows(rows, (Folder() / "rows.csv").string()), Gate());
    formats::MakeFolder(Folder().string());
    if (!render_) formats::WriteFile((Folder() / "rows.csv").string(), rows);
    RenderedTable rendered = BuildRenderedTable(results);
    if (const std::string before = SettingsBefore(results); !before.empty())
      rendered.facts.emplace_back("of settings before today's", before);
    Write(rendered, true);
  }

  void Write(const RenderedTable& rendered, bool has_rows) const {
    const fs::path folder = Folder();
    formats::MakeFolder(folder.string());
    const auto write = [&](const char* file, const std::string& text) {
      formats::WriteFile((folder / file).string(), text);
    };
    write("table.md", RenderMarkdown(rendered));
    write("details.md", RenderMarkdownDetails(rendered));
    write("table.csv", RenderCsv(rendered));
    write("table.tex", RenderLatex(rendered));
    write("table.html", RenderHtml(rendered));
    if (!json_.empty()) return formats::WriteFile(json_, RenderJson(rendered));
    fmt::print("{}\n{}: {}table.md, details.md, table.html, table.csv, table.tex\n", RenderTerminal(rendered),
               folder.string(), has_rows ? "rows.csv, " : "");
  }

  std::string name_;
  std::optional<TableDefinition> own_;  // of a file
  std::string file_;                    // that one
  std::string budget_ = "standard";
  bool quick_ = false;
  PlanOptions plan_;
  bool resume_ = false;
  std::vector<std::string> adopted_;
  bool salvage_ = false;
  bool export_ = false;
  bool render_ = false;
  int verify_ = 0;
  std::string out_;
  std::string from_ = kExports;
  std::string stale_ = "refuse";
  std::string testbed_;
  std::string store_ = kStore;
  int threads_ = 0;
  bool force_ = false;
  std::string json_;
};

}  // namespace

std::unique_ptr<Command> MakeTableCommand() {
  return std::make_unique<TableCommand>();
}

}  // namespace stowplan::bench
