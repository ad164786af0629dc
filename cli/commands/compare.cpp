// stowplan compare: several agents on one scenario, with the same budget and seeds, side by side.
#include <algorithm>
#include <filesystem>
#include <set>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "agents/agent.h"
#include "cli/commands/commands.h"
#include "cli/compare/brief_names.h"
#include "cli/compare/comparison.h"
#include "cli/compare/curves.h"
#include "cli/reference.h"
#include "cli/run_folder.h"
#include "output/console.h"
#include "output/interrupt.h"
#include "problem/options.h"
#include "problem/provenance.h"
#include "problem/search_source.h"
#include "profiler/host_machine.h"
#include "sim/base/error.h"
#include "sim/formats/formats.h"
#include "sim/formats/outputs.h"
#include "tables/run/cell_progress.h"
#include "tables/run/runner.h"
#include "tables/store.h"

namespace stowplan::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kName[] = "compare";
constexpr const char* kRecord = "run.json";
constexpr const char* kSearches = "searches.db";

class ScenarioCells : public tables::CellSource {
 public:
  explicit ScenarioCells(const problem::SearchSource& search) : search_(search) {}
  std::unique_ptr<problem::LoadedProblem> Load(const tables::TableBlock&,
                                               const tables::TableLine&) const override {
    return std::make_unique<problem::LoadedProblem>(search_.problem());
  }
  agents::Task MakeTask(const problem::LoadedProblem& loaded, const tables::CellPlan&) const override {
    return search_.MakeTask(loaded);
  }
  std::string RepeatCommand(const tables::CellPlan& plan) const override {
    const char* agent = plan.column->agent.c_str();
    return fmt::format("stowplan place --agent {} {} --samples {} --seed {}", profiler::ShellText(1, &agent),
                       search_.Words(), plan.budget, plan.seed);
  }

 private:
  const problem::SearchSource& search_;
};

// The agents as the columns of a table with one row.
tables::TableDefinition Columns(const std::vector<std::string>& agents, const std::string& scenario) {
  tables::TableDefinition table;
  table.name = kName;
  table.blocks.emplace_back();
  tables::TableBlock& block = table.blocks.front();
  block.key = kName;
  std::set<std::string> keys;
  std::vector<std::string> names;
  for (const std::string& spec : agents) names.push_back(agents::MakeAgent(spec)->name());
  names = BriefNames(names);
  for (std::size_t a = 0; a < agents.size(); ++a) {
    const std::string& spec = agents[a];
    const agents::AgentRow& row = *agents::FindAgent(Spec::Parse(spec).name);
    tables::TableColumn column;
    column.key = row.name;
    for (int n = 2; !keys.insert(column.key).second; ++n) column.key = fmt::format("{}-{}", row.name, n);
    column.title = names[a];
    column.agent = spec;
    column.sampled = agents::Samples(row);
    column.learner = row.kind == agents::AgentKind::kLearner;
    block.columns.push_back(column);
  }
  tables::TableLine line;
  line.key = kName;
  line.title = scenario;
  block.lines.push_back(line);
  return table;
}

nlohmann::ordered_json ToJson(const tables::TableResults& results, const problem::SearchSource& search) {
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (const tables::CellRecord* record : results.records()) {
    nlohmann::ordered_json run = {
        {"agent", record->agent}, {"seed", record->seed}, {"feasible", record->runtime_us.has_value()}};
    const auto add = [&](const char* key, const auto& value) {
      if (value) {
        run[key] = *value;
      } else {
        run[key] = nullptr;
      }
    };
    add("best_runtime_us", record->runtime_us);
    add("samples", record->samples);
    add("samples_to_best", record->samples_to_best);
    add("samples_to_1pct", record->samples_to_1pct);
    if (record->screens) run["screens"] = *record->screens;
    add("lower_bound_us", record->lower_bound_us);
    add("wall_seconds", record->wall_seconds);
    run["command"] = record->command;
    runs.push_back(std::move(run));
  }
  nlohmann::ordered_json json = {
      {"scenario", search.name()}, {"budget", search.samples()}, {"runs", std::move(runs)}};
  problem::AddProvenance(json);
  return json;
}

class CompareCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option(
           "--agents", agents_,
           "two or more of `stowplan list agents`, with parameters: random 'placeto(rounds=8)'; ratios "
           "are to the first")
        ->required()
        ->option_text("A...");
    search_.Declare(app);
    seeds_option_ =
        problem::Whole(app.add_option("--seeds", seeds_,
                                      "seeds 1 to N of those that sample; else the scenario's, else 3"),
                       1, problem::kMaxSeeds)
            ->option_text("N");
    problem::Threads(app.add_option("--threads", threads_, "searches at a time; 0 = one per core"))
        ->capture_default_str()
        ->option_text("N");
    app.add_option("--out", out_,
                   "folder for comparison.html, report.txt, rows.csv and what is needed to go on")
        ->option_text("DIR");
    app.add_flag("--resume", resume_, "keep the finished searches in --out, go on with the others");
    app.add_flag("--force", force_, "replace what --out holds, whatever it is of");
    problem::JsonFile(app.add_option("--json", json_, "write the results to this file; - is standard output"))
        ->option_text("FILE");
    AddExamples(
        app, {"stowplan compare --agents random local_search annealing --graph nmt --cluster 'k40(gpus=2)' "
              "--samples 500 --out runs/compare",
              "stowplan compare --agents heft 'placeto(rounds=4)' --scenario s.yaml --seeds 5 --out runs/s"});
  }

  void Run() override {
    const std::atomic<bool>& stop = output::StopRequested();
    Check();
    if (!json_.empty()) formats::PrepareOutput(json_);
    const tables::TableDefinition table = Columns(agents_, search_.name());
    const std::vector<tables::CellPlan> plans = Plans(table);
    const tables::TableResults results(table, RunAll(table, plans, stop));
    if (results.records().size() < plans.size()) {
      throw output::Interrupted(
          fmt::format("stopped after {} of {} searches; {}.", results.records().size(), plans.size(),
                      out_.empty() ? "with --out DIR they would be kept, and --resume would go on"
                                   : "they are kept, the same call with --resume goes on with the others"));
    }
    const output::ReportPage page = MakeComparison(results, Facts());
    if (!out_.empty()) Save(results, page);
    if (!json_.empty()) return formats::WriteFile(json_, ToJson(results, search_).dump(1) + "\n");
    output::Print(output::PrintReportText(page));
    if (!out_.empty()) output::Print(fmt::format("\n{}: comparison.html, report.txt, rows.csv\n", out_));
  }

 private:
  void Check() {
    search_.Resolve(kName);
    if (resume_ && out_.empty())
      throw InputError("--resume: goes on from what --out DIR holds, so --out is wanted too.");
    if (resume_ && force_) throw InputError("--resume goes on with what --force replaces; give one of them.");
    for (const std::string& spec : agents_) RefuseList(spec);
    if (agents_.size() < 2) throw InputError("--agents: two or more are wanted; `stowplan place` runs one.");
    std::set<std::string> names;
    for (const std::string& spec : agents_) {
      const std::string name = agents::MakeAgent(spec)->name();
      if (!names.insert(name).second) throw InputError(fmt::format("--agents: {} is given twice.", name));
    }
  }

  // "random,heft": commas stand between an agent's parameters.
  static void RefuseList(const std::string& spec) {
    std::vector<std::string> specs(1);
    int depth = 0;
    for (const char c : spec) {
      depth += (c == '(') - (c == ')');
      if (c == ',' && depth <= 0) {
        specs.emplace_back();
      } else {
        specs.back() += c;
      }
    }
    if (specs.size() == 1) return;
    for (std::string& one : specs) {
      one.erase(0, one.find_first_not_of(' '));
      one.erase(one.find_last_not_of(' ') + 1);
      if (one.find('(') != std::string::npos) one = "'" + one + "'";  // for a shell
    }
    std::erase(specs, "");
    throw InputError(
        fmt::format("--agents: several are separated by blanks, --agents {}.", fmt::join(specs, " ")));
  }

  std::vector<tables::CellPlan> Plans(const tables::TableDefinition& table) const {
    std::vector<std::int64_t> seeds = search_.scenario_seeds();
    if (seeds_option_->count() > 0 || seeds.empty()) {
      seeds.clear();
      for (std::int64_t seed = 1; seed <= seeds_; ++seed) seeds.push_back(seed);
    }
    const tables::TableBlock& block = table.blocks.front();
    std::vector<tables::CellPlan> plans;
    for (std::size_t s = 0; s < seeds.size(); ++s) {
      for (const tables::TableColumn& column : block.columns) {
        if (s == 0 || column.sampled)
          plans.push_back({&block, &block.lines.front(), &column, seeds[s], search_.samples()});
      }
    }
    return plans;
  }

  std::vector<tables::CellRecord> RunAll(const tables::TableDefinition& table,
                                         const std::vector<tables::CellPlan>& plans,
                                         const std::atomic<bool>& stop) const {
    std::optional<tables::TableStore> store;
    if (!out_.empty()) {
      Claim();
      store.emplace((fs::path(out_) / kSearches).string());
    }
    tables::RunOptions options;
    options.threads = threads_;
    options.name = table.name;
    options.stop = &stop;
    options.resume = resume_;
    if (store) options.checkpoints = (fs::path(out_) / "checkpoints").string();
    if (resume_) options.done = store->All(table.name);
    tables::CellProgress progress(
        fmt::format("{} agents on {}, searches", agents_.size(), search_.name()), plans,
        {.threads = threads_, .known = store ? store->All(table.name) : std::vector<tables::CellRecord>()});
    options.on_cell = [&](const tables::CellRecord& record, bool skipped) {
      if (!skipped && store) store->Put(table.name, record);
      progress.Cell(record, skipped);
    };
    options.on_samples = [&](const tables::CellPlan& plan, std::int64_t samples) {
      progress.Samples(plan, samples);
    };
    const output::EndsInTime in_time([&] {
      return out_.empty()
                 ? "stopped; with --out DIR finished searches would be kept, and --resume would go on."
                 : "stopped; finished searches are kept, the same call with --resume goes on with the "
                   "others.";
    });
    return tables::RunCells(ScenarioCells(search_), plans, options);
  }

  // Searches of other agents, budgets and seeds may join those that are there.
  void Claim() const {
    const nlohmann::ordered_json run = {{"scenario", search_.name()},
                                        {"problem", search_.Words()},
                                        {"budget", search_.samples()},
                                        {"agents", agents_},
                                        {"seeds", seeds_},
                                        {"interrupted", true},
                                        {"command", problem::CurrentProvenance().command}};
    ClaimFolder({.path = out_,
                 .record = kRecord,
                 .run = run,
                 .same = {"scenario", "problem"},
                 .alike = {"budget", "agents", "seeds"},
                 .files = {kSearches, "rows.csv", "report.txt", "comparison.html"},
                 .resume = resume_,
                 .force = force_});
    formats::WriteFile((fs::path(out_) / kRecord).string(), run.dump(1) + "\n");
  }

  std::vector<std::pair<std::string, std::string>> Facts() const {
    std::vector<std::pair<std::string, std::string>> facts = problem::ProvenanceFacts();
    facts.insert(facts.begin(), {"budget of each search", output::CountText(search_.samples()) + " samples"});
    return facts;
  }

  void Save(const tables::TableResults& results, const output::ReportPage& page) const {
    const auto write = [&](const char* file, const std::string& text) {
      formats::WriteFile((fs::path(out_) / file).string(), text);
    };
    std::vector<tables::CellRecord> records;
    for (const tables::CellRecord* record : results.records()) records.push_back(*record);
    write("rows.csv", tables::PrintRows(std::move(records)));
    write("report.txt", output::PrintReportText(page));
    write("comparison.html", output::PrintReportHtml(page, ComparisonCurvesHtml(results)));
    nlohmann::ordered_json run =
        nlohmann::ordered_json::parse(formats::ReadFile((fs::path(out_) / kRecord).string()));
    run["interrupted"] = false;
    write(kRecord, run.dump(1) + "\n");
  }

  problem::SearchSource search_;
  std::vector<std::string> agents_;
  int seeds_ = 3;
  int threads_ = 0;
  bool resume_ = false;
  bool force_ = false;
  std::string out_;
  std::string json_;
  CLI::Option* seeds_option_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> MakeCompareCommand() {
  return std::make_unique<CompareCommand>();
}

}  // namespace stowplan::cli
