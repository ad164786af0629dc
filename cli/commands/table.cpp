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
#include "cli/commands/commands.h"
#include "cli/reference.h"
#include "cli/run_folder.h"
#include "cli/validate/accuracy_table.h"
#include "output/console.h"
#include "output/interrupt.h"
#include "output/progress.h"
#include "output/temp_folder.h"
#include "problem/options.h"
#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/base/spec.h"
#include "sim/formats/document/source.h"
#include "sim/formats/formats.h"
#include "sim/formats/outputs.h"
#include "tables/files/table_file.h"
#include "tables/report/derived.h"
#include "tables/report/learned.h"
#include "tables/report/rendered_table.h"
#include "tables/run/cell_progress.h"
#include "tables/run/runner.h"
#include "tables/run/stale.h"
#include "tables/run/verify.h"
#include "tables/settings_before.h"
#include "tables/store.h"

namespace stowplan::cli {
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
    problem::Whole(
        app.add_option("--seeds", plan_.seeds, "seeds 1 to N of searched cells; else the budget's"), 1,
        problem::kMaxSeeds)
        ->option_text("N");
    problem::Whole(
        app.add_option("--samples", plan_.samples, "samples of a searched cell; else the budget's"), 1,
        problem::kMaxSamples)
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
    problem::Whole(
        app.add_option("--verify", verify_,
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
    problem::Threads(app.add_option("--threads", threads_, "cells at a time; 0 = one per core"))
        ->capture_default_str()
        ->option_text("N");
    app.add_flag("--force", force_, "write into --out whatever table it holds");
    problem::JsonFile(app.add_option("--json", json_,
                                     "write the cells as stowplan.table to this file; - is standard output"))
        ->option_text("FILE");
    AddExamples(app, {"stowplan table hierarchical --quick",
                      "stowplan table hierarchical --cells 'nmt_2/*' --samples 1000 --resume",
                      "stowplan table placeto --render --json placeto.json",
                      "stowplan table examples/table.yaml --samples 20"});
  }

  void Run() override {
    agents::Ranks& ranks = agents::World();
    const bool runs_cells =
        !render_ && name_ != tables::kAccuracyTable && tables::FindDerived(name_) == nullptr;
    if ((!runs_cells || verify_ > 0) && !ranks.first()) return;
    if (salvage_ && !runs_cells && !render_)
      throw InputError(
          fmt::format("--salvage: table {} is made of what others ran and has no store.", name_));
    if (verify_ > 0) RefuseBesideVerify(runs_cells);
    if (!adopted_.empty() && (name_ == tables::kAccuracyTable || tables::FindDerived(name_) != nullptr))
      throw InputError(fmt::format("--adopt: table {} {}.", name_, WhyNoCells()));
    if (name_ == tables::kAccuracyTable && !json_.empty()) {
      throw InputError(
          "--json: table accuracy is made of scores; `stowplan validate --recordings DIR --json FILE` writes "
          "them.");
    }
    if (tables::IsTableFile(name_)) {
      own_ = tables::ReadTable(name_);
      file_ = std::exchange(name_, own_->name);
    }
    if (!own_) RefuseOtherFiles();
    CheckFolder();
    if (name_ == tables::kAccuracyTable) return RenderAccuracy();
    if (const tables::DerivedRow* derived = tables::FindDerived(name_)) return Derive(*derived);
    const tables::TableDefinition& table = own_ ? *own_ : tables::FindTable(name_);
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
      const std::vector<tables::CellRecord> rows = ReadRows();
      if (own_) RefuseOtherScenarios(table, rows);
      return Render(table, rows);
    }
    plan_.size = Size();
    const tables::StaleRows stale = tables::ParseStaleRows(stale_);
    const std::vector<tables::CellPlan> plans = tables::PlanCells(table, plan_);
    const tables::Testbed testbed(TestbedFile(table));
    CheckTestbed(table, testbed);
    if (own_) CheckRows(testbed, plans);
    if (ranks.first()) PrepareOutputs();
    if (salvage_ && ranks.first()) Salvage();
    if (salvage_) ranks.Exchange({});  // no other rank opens the store before
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
    if (export_) {
      const std::string path = (Folder() / "rows.csv").string();
      if (stale != tables::StaleRows::kDrop) tables::RefuseOtherCells(table, path);
      return Render(table,
                    tables::WithStale(table, AllOf(table, testbed, store), RowsBefore(path), stale, path));
    }
    Render(tables::PlannedPart(table, plans), records);
  }

 private:
  std::string TestbedFile(const tables::TableDefinition& table) const {
    return testbed_.empty() ? tables::TestbedPath(table) : testbed_;
  }
  void CheckTestbed(const tables::TableDefinition& table, const tables::Testbed& testbed) const {
    if (!testbed_.empty() && !testbed.calibrated())
      throw InputError(fmt::format("--testbed {}: there is no such file.", testbed_));
    if (own_ && !table.testbed.empty() && !testbed.calibrated()) {
      throw InputError(
          fmt::format("{}: testbed {}: there is no {} here; go to the folder that has it, or give "
                      "--testbed FILE.",
                      file_, table.testbed, tables::TestbedPath(table)));
    }
  }

  // A row that cannot be made is told before the first cell, not hours later; those of the papers' tables can.
  static void CheckRows(const tables::Testbed& testbed, const std::vector<tables::CellPlan>& plans) {
    std::set<std::pair<const tables::TableBlock*, const tables::TableLine*>> rows;
    for (const tables::CellPlan& plan : plans) {
      if (rows.emplace(plan.block, plan.line).second && tables::CannotRun(*plan.line).empty())
        formats::CheckedAt(plan.line->place, [&] { return testbed.Load(*plan.block, *plan.line); });
    }
  }

  tables::BudgetSize Size() const {
    if (quick_ && budget_ != "standard")
      throw InputError(fmt::format("--quick: is --budget quick, so not together with --budget {}.", budget_));
    if (quick_) return tables::BudgetSize::kQuick;
    for (const tables::BudgetSize size : tables::BudgetSizes()) {
      if (budget_ == ToString(size)) return size;
    }
    std::vector<std::string> sizes;
    for (const tables::BudgetSize size : tables::BudgetSizes()) sizes.emplace_back(ToString(size));
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
    const auto known = [&](const tables::TableName& table) { return table.name == name_; };
    if (std::ranges::any_of(tables::TableNames(), known) || !fs::is_regular_file(name_, ignored)) return;
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
      for (const tables::TableName& other : tables::TableNames()) {
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
    const output::ReportPage page = MakeAccuracyPage(folders, gpus);
    const fs::path folder = Folder();
    formats::MakeFolder(folder.string());
    formats::WriteFile((folder / "table.md").string(),
                       output::PrintReportMarkdown(MakeAccuracyVerdict(folders, gpus)));
    formats::WriteFile((folder / "details.md").string(), output::PrintReportMarkdown(page));
    formats::WriteFile((folder / "table.html").string(), PrintAccuracyHtml(page, folders));
    fmt::print("{}\n{}: table.md, details.md, table.html\n", output::PrintReportText(page), folder.string());
  }

  void Derive(const tables::DerivedRow& derived) const {
    if (!plan_.cells.empty() && name_ != "gate")
      throw InputError(fmt::format("--cells: table {} is made of what others ran and has no cells.", name_));
    const std::vector<tables::TableResults> tables = tables::ReadExported(from_);
    PrepareOutputs();
    std::string rows;
    if (derived.evaluate != nullptr) {
      const std::string path = (Folder() / "rows.csv").string();
      if (!render_) formats::WriteFile(path, Evaluate(derived, tables, path));
      rows = formats::ReadFile(path);
    }
    Write(derived.render(tables, rows), derived.evaluate != nullptr);
  }

  std::string Evaluate(const tables::DerivedRow& derived, const std::vector<tables::TableResults>& tables,
                       const std::string& rows_path) const {
    std::optional<output::Progress> progress;
    tables::DerivedOptions options;
    options.threads = threads_;
    options.stop = &output::StopRequested();
    options.on_part = [&](std::int64_t done, std::int64_t total) {
      if (!progress) progress.emplace(fmt::format("table {}", name_), total);
      progress->Update(done);
    };
    options.rows_path = rows_path;
    options.resume = resume_;
    options.cells = plan_.cells;
    return derived.evaluate(tables, options);
  }

  std::vector<tables::CellRecord> ReadRows() const {
    const std::string path = (Folder() / "rows.csv").string();
    const std::string ran = (fs::path(kRuns) / name_).string();
    if (out_.empty() && !fs::exists(path) && fs::exists(fs::path(ran) / "rows.csv")) {
      throw InputError(
          fmt::format("--render: there is no {}; --out {} renders what was run here last.", path, ran));
    }
    return tables::ParseRows(formats::ReadFile(path), path);
  }

  std::vector<tables::CellRecord> RunAll(const tables::TableDefinition& table, const tables::Testbed& testbed,
                                         const std::vector<tables::CellPlan>& plans,
                                         tables::TableStore& store, const agents::Ranks& ranks) const {
    tables::RunOptions options;
    options.checkpoints = (fs::path(store_).parent_path() / "checkpoints").string();
    options.resume = resume_ || salvage_ || !adopted_.empty();
    if (options.resume) options.done = store.All(table.name);
    return RunPlans(table, testbed, plans, options,
                    {.threads = threads_, .known = store.All(table.name), .quiet = !ranks.first()},
                    [&](const tables::CellRecord& record) { store.Put(table.name, record); });
  }

  // With progress; each new result is handed to `keep`.
  std::vector<tables::CellRecord> RunPlans(const tables::TableDefinition& table,
                                           const tables::Testbed& testbed,
                                           const std::vector<tables::CellPlan>& plans,
                                           tables::RunOptions options,
                                           const tables::CellProgress::Options& drawn,
                                           const std::function<void(const tables::CellRecord&)>& keep) const {
    options.threads = threads_;
    options.stop = &output::StopRequested();
    tables::CellProgress progress("table " + table.name + ", cells", plans, drawn);
    options.on_cell = [&](const tables::CellRecord& record, bool skipped) {
      if (!skipped && record.note.empty()) keep(record);
      progress.Cell(record, skipped);
    };
    options.on_samples = [&](const tables::CellPlan& plan, std::int64_t samples) {
      progress.Samples(plan, samples);
    };
    options.on_training = [&](const std::string& policy, std::int64_t samples, std::int64_t budget) {
      progress.Training(policy, samples, budget);
    };
    return tables::RunCells(table, testbed, plans, options);
  }

  void Salvage() const {
    const tables::SalvagedStore salvaged = tables::SalvageStore(store_);
    output::Tell(fmt::format("{}: {} sound cells kept, {} broken ones dropped; the damaged file is {}\n",
                             store_, salvaged.kept, salvaged.broken, salvaged.damaged));
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

  static void ReportAdopted(const std::string& path, const std::vector<tables::CellRecord>& rows,
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

  // A user changes a file between two calls: numbers of another graph, machine or agent must not stand under today's.
  void RefuseOtherScenarios(const tables::TableDefinition& table,
                            const std::vector<tables::CellRecord>& rows) const {
    const tables::Testbed testbed(TestbedFile(table));
    CheckTestbed(table, testbed);
    const std::string other = tables::AnyOfOtherScenarios(table, testbed, rows, threads_);
    if (other.empty()) return;
    throw InputError(
        fmt::format("{}: row {} is of another graph, machine, agent or budget than {} has now; run it with "
                    "--resume, which runs what has changed anew.",
                    (Folder() / "rows.csv").string(), other, file_));
  }

  // Runs some of the rows again. Nothing is written but policies that cells start from, in a folder that is removed.
  void Verify(const tables::TableDefinition& table) const {
    const std::string path = (Folder() / "rows.csv").string();
    if (!fs::exists(path))
      throw InputError(
          fmt::format("--verify: there is no {}; --out DIR names the folder of the rows.", path));
    const std::vector<tables::CellRecord> rows = tables::ParseRows(formats::ReadFile(path), path);
    const tables::DrawnRows drawn = tables::DrawRows(tables::TableResults(table, rows), rows, plan_.cells,
                                                     static_cast<std::size_t>(verify_));
    if (drawn.rows.empty())
      throw InputError(
          fmt::format("{}: has no row of these cells that was run with today's settings.", path));
    const tables::Testbed testbed(TestbedFile(table));
    CheckTestbed(table, testbed);
    std::vector<tables::CellPlan> plans;
    for (const tables::CellRecord& row : drawn.rows) plans.push_back(tables::PlanOfRow(table, row));
    const output::TempFolder folder;
    tables::RunOptions options;
    options.checkpoints = folder.path();
    const std::vector<tables::CellRecord> again =
        RunPlans(table, testbed, plans, options, {.threads = threads_, .known = rows},
                 [](const tables::CellRecord&) {});
    const tables::Comparison compared = tables::CompareRows(drawn.rows, again);
    fmt::print("{}", compared.text);
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
    fmt::print("{}\n", counts);
  }

  // What stands in the file that an export replaces, and what was adopted for it.
  std::vector<tables::CellRecord> RowsBefore(const std::string& path) const {
    std::vector<tables::CellRecord> rows;
    std::vector<std::string> files = adopted_;
    if (fs::exists(path)) files.push_back(path);
    for (const std::string& file : files) {
      for (tables::CellRecord& row : tables::ParseRows(formats::ReadFile(file), file))
        rows.push_back(std::move(row));
    }
    return rows;
  }

  // Why learners failed the gate, where its rows are beside the other tables'.
  std::map<std::string, std::string> Gate() const {
    const fs::path rows = fs::path(from_) / "gate" / "rows.csv";
    if (!fs::exists(rows)) return {};
    return tables::GateMisses(formats::ReadFile(rows.string()));
  }

  // Renderings are made from the text of rows.csv, never from memory: what is committed can be made again.
  void Render(const tables::TableDefinition& table, const std::vector<tables::CellRecord>& records) const {
    const std::string rows = tables::PrintRows(records);
    const tables::TableResults results(table, tables::ParseRows(rows, (Folder() / "rows.csv").string()),
                                       Gate());
    formats::MakeFolder(Folder().string());
    if (!render_) formats::WriteFile((Folder() / "rows.csv").string(), rows);
    tables::RenderedTable rendered = tables::BuildRenderedTable(results);
    if (const std::string before = tables::SettingsBefore(results); !before.empty())
      rendered.facts.emplace_back("of settings before today's", before);
    Write(rendered, true);
  }

  void Write(const tables::RenderedTable& rendered, bool has_rows) const {
    const fs::path folder = Folder();
    formats::MakeFolder(folder.string());
    const auto write = [&](const char* file, const std::string& text) {
      formats::WriteFile((folder / file).string(), text);
    };
    write("table.md", tables::RenderMarkdown(rendered));
    write("details.md", tables::RenderMarkdownDetails(rendered));
    write("table.csv", tables::RenderCsv(rendered));
    write("table.tex", tables::RenderLatex(rendered));
    write("table.html", tables::RenderHtml(rendered));
    if (!json_.empty()) return formats::WriteFile(json_, tables::RenderJson(rendered));
    fmt::print("{}\n{}: {}table.md, details.md, table.html, table.csv, table.tex\n",
               tables::RenderTerminal(rendered), folder.string(), has_rows ? "rows.csv, " : "");
  }

  std::string name_;
  std::optional<tables::TableDefinition> own_;  // of a file
  std::string file_;                            // that one
  std::string budget_ = "standard";
  bool quick_ = false;
  tables::PlanOptions plan_;
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

}  // namespace stowplan::cli
