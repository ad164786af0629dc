#include "tables/files/table_file.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "agents/agent.h"
#include "cost_models/cost_models.h"
#include "problem/loaded_problem.h"
#include "problem/options.h"
#include "scenarios/scenarios.h"
#include "scenarios/workloads/families.h"
#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/base/rows.h"
#include "sim/base/spec.h"
#include "sim/formats/document/yaml_reader.h"
#include "sim/formats/formats.h"
#include "tables/files/table_columns.h"
#include "tables/table_values.h"
#include "tables/testbed.h"

namespace stowplan::tables {
namespace {

namespace fs = std::filesystem;
using formats::Fields;
using formats::Value;

constexpr std::string_view kFormat = "stowplan.experiment";
constexpr std::string_view kTop[] = {
    "format",  "version",     "name",    "title",    "cluster",     "grouper", "samples",
    "seeds",   "budgets",     "columns", "rows",     "blocks",      "fit",     "borrow",
    "testbed", "assumptions", "claims",  "analysis", "quick_cells", "over",    "published_from"};
constexpr std::string_view kBudget[] = {"samples", "seeds", "grouper"};
constexpr std::string_view kBudgets[] = {"quick", "standard", "paper"};
constexpr std::string_view kRow[] = {
    "workload",  "cluster",           "gpus",         "key", "title", "model", "grouper", "agents", "fitted",
    "published", "published_samples", "paper_samples"};
constexpr std::string_view kBlock[] = {"key",     "title",   "note", "rules",    "memory_limits", "cluster",
                                       "grouper", "columns", "rows", "training", "budget"};
constexpr std::string_view kBlockBudgets[] = {"paper"};
constexpr std::string_view kColumnsOf[] = {"only", "without"};
constexpr std::string_view kRowsOf[] = {"only", "cluster", "with", "fitted"};
constexpr std::string_view kFamily[] = {"family", "title", "with", "gpus"};
constexpr std::string_view kTraining[] = {"family", "with", "samples", "quick"};
constexpr std::string_view kParameter[] = {"kind", "classes", "from", "to"};
constexpr std::string_view kBorrowed[] = {"table", "kind", "as"};
constexpr std::string_view kRules[] = {"native", "published"};

// What one file may ask for.
constexpr std::size_t kMaxBlocks = 32, kMaxCells = 50'000, kMaxPatterns = 100;
constexpr std::int64_t kMaxGpus = 4096;
constexpr double kPicosPerSecond = 1e12;

constexpr std::string_view kGpusMark = "{gpus}";

// Without a number the mark stays, for CheckMachine(): the row's block may give another cluster.
std::string ForGpus(std::string cluster, int gpus) {
  if (const std::size_t at = cluster.find(kGpusMark); at != std::string::npos && gpus > 0)
    cluster.replace(at, kGpusMark.size(), std::to_string(gpus));
  return cluster;
}

class TableReader {
 public:
  TableReader(std::string_view yaml, const std::string& source, std::string folder)
      : document_(formats::ParseYaml(yaml, source)), folder_(std::move(folder)) {}

  TableDefinition Read() {
    formats::CheckFormat(document_, kFormat, 1);
    const Fields top(document_.root(), kTop);
    table_.name = KeyIn(top.Require("name"));
    table_.title = top.Name("title", table_.name);
    defaults_ = {top.String("cluster", ""), GrouperOf(top, "colocation")};
    ReadBudgets(top);
    if (const auto columns = top.Find("columns")) shared_.columns = ReadColumns(*columns);
    if (const auto rows = top.Find("rows")) shared_.lines = ReadRows(*rows, defaults_);
    if (const auto blocks = top.Find("blocks")) {
      if (blocks->size() == 0) blocks->Fail("is empty");
      CheckLength(*blocks, kMaxBlocks, "blocks");
      for (const Value block : blocks->items()) {
        Add(ReadBlock(block), block, table_.blocks);
        CheckSize();
      }
    } else {
      top.Require("columns"), top.Require("rows");
      shared_.key = "native", shared_.title = "Own rules", shared_.rules = "native";
      table_.blocks = {shared_};
      CheckSize();
    }
    MarkPublished();
    CheckRows();
    ReadFit(top);
    if (const auto list = top.Find("quick_cells")) {
      CheckLength(*list, kMaxPatterns, "patterns");
      table_.quick_cells = Sentences(*list);
    }
    table_.testbed = top.String("testbed", "");
    return std::move(table_);
  }

 private:
  struct Defaults {
    std::string cluster, grouper;
  };

  static void CheckLength(const Value& list, std::size_t most, const char* what) {
    if (list.size() > most) list.Fail(fmt::format("has {} {}; a table may have {}", list.size(), what, most));
  }

  static std::vector<std::string> Sentences(const Value& list) {
    std::vector<std::string> sentences;
    for (const Value item : list.items()) sentences.push_back(item.Name());
    return sentences;
  }

  static std::string GrouperOf(const Fields& fields, const std::string& otherwise) {
    const auto grouper = fields.Find("grouper");
    return grouper ? GrouperIn(*grouper) : otherwise;
  }

  static void ReadBudget(const Fields& fields, TableBudget& budget) {
    budget.samples = fields.Int("samples", budget.samples, 1, problem::kMaxSamples);
    budget.seeds = static_cast<int>(fields.Int("seeds", budget.seeds, 1, problem::kMaxSeeds));
  }

  // `samples` and `seeds` of the file are those of its standard budget, and a tenth with one seed is quick.
  void ReadBudgets(const Fields& top) {
    if (const auto budgets = top.Find("budgets")) {
      for (const char* key : {"samples", "seeds"}) {
        if (const auto both = top.Find(key)) both->Fail("and `budgets` say the same; give one of them");
      }
      const Fields sizes(*budgets, kBudgets);
      for (const auto& [key, budget] :
           {std::pair{"quick", &table_.quick}, {"standard", &table_.standard}, {"paper", &table_.paper}}) {
        const auto value = sizes.Find(key);
        if (!value) continue;
        const Fields fields(*value, kBudget);
        ReadBudget(fields, *budget);
        budget->grouper = GrouperOf(fields, "");
      }
      return;
    }
    ReadBudget(top, table_.standard);
    table_.paper = table_.standard;
    table_.quick = {std::max<std::int64_t>(1, table_.standard.samples / 10), 1, {}};
  }

  std::string Beside(const std::string& name) const {
    std::error_code ignored;
    const fs::path path = fs::path(folder_) / name;
    return !folder_.empty() && fs::is_regular_file(path, ignored) ? path.lexically_normal().string() : name;
  }

  std::string WorkloadIn(const Value& value) const {
    std::string workload = Beside(value.Name());
    std::error_code ignored;
    if (fs::is_regular_file(workload, ignored) || IsOfDataFolder(workload)) return workload;
    const std::string name = At(value, [&] { return Spec::Parse(workload).name; });
    const std::vector<std::string> known = NamesOf(scenarios::Workloads());
    if (std::ranges::find(known, name) == known.end())
      value.Fail(fmt::format("is {}, which is neither a file nor of `stowplan list workloads`{}", workload,
                             DidYouMean(name, known)));
    return workload;
  }

  std::vector<TableLine> ReadRows(const Value& list, const Defaults& defaults) const {
    std::vector<TableLine> lines;
    CheckLength(list, kMaxCells, "rows");
    for (const Value item : list.items()) Add(ReadRow(item, defaults), item, lines);
    if (lines.empty()) list.Fail("is empty; a row is a workload on a cluster");
    return lines;
  }

  TableLine ReadRow(const Value& value, const Defaults& defaults) const {
    const Fields fields(value, kRow);
    TableLine line;
    line.place = value.Place();
    line.workload = WorkloadIn(fields.Require("workload"));
    line.key = KeyOf(line.workload);
    line.title = line.workload;
    if (const auto key = fields.Find("key")) line.key = KeyIn(*key);
    line.title = fields.Name("title", line.title);
    line.model = fields.Name("model", line.key);
    line.gpus = static_cast<int>(fields.Int("gpus", 0, 0, kMaxGpus));
    line.cluster = Beside(ForGpus(fields.String("cluster", defaults.cluster), line.gpus));
    if (line.cluster.empty() || line.cluster == "-")
      value.Fail("has no `cluster`, and the file gives none for all rows");
    line.grouper = GrouperOf(fields, defaults.grouper);
    line.paper_samples = fields.Int("paper_samples", 0, 1, problem::kMaxSamples);
    if (const auto agents = fields.Find("agents")) {
      for (const auto [column, agent] : agents->members()) {
        AgentIn(agent);
        line.agents.emplace(column, agent.Name());
      }
    }
    if (const auto list = fields.Find("fitted")) line.fitted = Sentences(*list);
    if (const auto cells = fields.Find("published")) {
      for (const auto [column, cell] : cells->members()) {
        const bool oom = cell.kind() == formats::ValueKind::kPlain && cell.Text() == "OOM";
        PublishedCell number{oom, std::nullopt};
        if (!oom && cell.kind() == formats::ValueKind::kPlain && cell.Text().find_first_of("0123456789") != 0)
          cell.Fail(fmt::format("is {}, but must be a time such as 1.2s, or OOM", cell.Text()));
        if (!oom) number.value = static_cast<double>(cell.Time()) / kPicosPerSecond;
        line.published.emplace(column, number);
      }
    }
    if (const auto cells = fields.Find("published_samples")) {
      for (const auto [column, count] : cells->members())
        line.published_samples.emplace(column, count.Int(1, problem::kMaxSamples));
    }
    return line;
  }

  TableBlock ReadBlock(const Value& value) {
    const Fields fields(value, kBlock);
    TableBlock block;
    block.key = KeyIn(fields.Require("key"));
    block.title = fields.Name("title", block.key);
    block.note = fields.String("note", "");
    block.rules = kRules[0];
    if (const auto rules = fields.Find("rules")) block.rules = kRules[rules->Choice(kRules)];
    block.memory_limits = fields.Bool("memory_limits", true);
    const Defaults defaults{fields.String("cluster", defaults_.cluster),
                            GrouperOf(fields, defaults_.grouper)};
    block.columns = ColumnsOf(fields, value);
    block.lines = RowsOf(fields, value, defaults);
    if (const auto budget = fields.Find("budget")) {
      budget->Choice(kBlockBudgets);
      block.paper_budget = true;
      for (const TableLine& line : block.lines) {
        if (line.paper_samples == 0)
          value.Fail(fmt::format("has `budget: paper`, but row {} no `paper_samples`", line.key));
      }
    }
    if (const auto training = fields.Find("training")) {
      const Fields of(*training, kTraining);
      block.training.workloads = Members(of, "train");
      block.training.samples = of.Require("samples").Int(1, problem::kMaxSamples);
      block.training.quick_samples = of.Int("quick", block.training.samples, 1, problem::kMaxSamples);
      const auto graphs = static_cast<std::int64_t>(block.training.workloads.size());
      if (std::min(block.training.samples, block.training.quick_samples) < graphs)
        training->Fail(
            fmt::format("gives {0} graphs fewer samples than one each; expected at least {0}", graphs));
    }
    const TableLine& first = block.lines.front();
    for (const TableLine& line : block.lines) {
      if (!block.training.workloads.empty() &&
          (line.cluster != first.cluster || line.grouper != first.grouper))
        value.Fail(
            fmt::format("has `training`, but row {} has another cluster or grouper than row {}; a policy is "
                        "trained on one machine with one kind of unit",
                        line.key, first.key));
    }
    for (const TableColumn& column : block.columns) {
      if (column.trained && block.training.workloads.empty())
        value.Fail(fmt::format("has the {} column {} and no `training`",
                               column.zero_shot ? "zero-shot" : "trained", column.key));
    }
    return block;
  }

  std::vector<TableColumn> ColumnsOf(const Fields& block, const Value& value) const {
    const auto own = block.Find("columns");
    if (own && !own->IsObject()) return ReadColumns(*own);
    if (shared_.columns.empty()) value.Fail("has no `columns`, and the file gives none for all blocks");
    std::vector<TableColumn> columns = shared_.columns;
    if (!own) return columns;
    const Fields choice(*own, kColumnsOf);
    if (choice.Has("only") == choice.Has("without")) own->Fail("takes `only` or `without`, a list of keys");
    const bool only = choice.Has("only");
    const std::vector<std::string> keys =
        SomeOf(*choice.Find(only ? "only" : "without"), KeysOf(columns), "column");
    std::erase_if(columns, [&](const TableColumn& column) {
      return (std::ranges::find(keys, column.key) != keys.end()) != only;
    });
    if (columns.empty()) own->Fail("leaves no column");
    return columns;
  }

  std::vector<TableLine> RowsOf(const Fields& block, const Value& value, const Defaults& defaults) const {
    const auto own = block.Find("rows");
    if (own && !own->IsObject()) return ReadRows(*own, defaults);
    if (own && HasKey(*own, "family")) return FamilyRows(*own, defaults);
    if (shared_.lines.empty()) value.Fail("has no `rows`, and the file gives none for all blocks");
    std::vector<TableLine> lines = shared_.lines;
    for (TableLine& line : lines) {
      if (line.grouper == defaults_.grouper) line.grouper = defaults.grouper;  // rows with their own keep it
    }
    if (!own) return lines;
    const Fields change(*own, kRowsOf);
    if (const auto only = change.Find("only")) {
      const std::vector<std::string> keys = SomeOf(*only, KeysOf(lines), "row");
      std::erase_if(lines,
                    [&](const TableLine& line) { return std::ranges::find(keys, line.key) == keys.end(); });
    }
    for (TableLine& line : lines) {
      if (const auto cluster = change.Find("cluster"))
        line.cluster = Beside(ForGpus(cluster->Name(), line.gpus));
      line.workload = WithOption(line.workload, change.String("with", ""));
      if (!change.Bool("fitted", true)) line.fitted.clear();
    }
    return lines;
  }

  static std::vector<std::string> Members(const Fields& of, const std::string& half) {
    const Value family = of.Require("family");
    std::vector<std::string> members =
        At(family, [&] { return scenarios::FamilyMembers(family.Name() + ":" + half); });
    for (std::string& member : members) member = WithOption(member, of.String("with", ""));
    return members;
  }

  // The graphs of a family that no policy is trained on.
  std::vector<TableLine> FamilyRows(const Value& value, const Defaults& defaults) const {
    const Fields fields(value, kFamily);
    const std::string family = fields.Require("family").Name();
    std::vector<TableLine> lines;
    for (const std::string& member : Members(fields, "test")) {
      const std::string index =
          At(value, [&] { return std::to_string(scenarios::WorkloadSettings(member).Int("index")); });
      TableLine line;
      line.place = value.Place();
      line.key = KeyOf(family) + "_" + index;
      line.title = fields.Name("title", family) + " " + index;
      line.workload = member;
      line.model = line.key;
      line.gpus = static_cast<int>(fields.Int("gpus", 0, 0, kMaxGpus));
      line.cluster = ForGpus(defaults.cluster, line.gpus);
      if (line.cluster.empty()) value.Fail("has no cluster: give the block one");
      line.grouper = defaults.grouper;
      lines.push_back(std::move(line));
    }
    return lines;
  }

  void CheckSize() const {
    std::size_t cells = 0;
    for (const TableBlock& block : table_.blocks) cells += block.lines.size() * block.columns.size();
    if (cells > kMaxCells)
      document_.root().Fail(fmt::format("has {} cells; a table may have {}", cells, kMaxCells));
  }

  void MarkPublished() {
    std::set<std::string> published;
    for (const TableBlock& block : table_.blocks) {
      for (const TableLine& line : block.lines) {
        for (const auto& [column, number] : line.published) published.insert(column);
      }
    }
    for (TableBlock& block : table_.blocks) {
      for (TableColumn& column : block.columns) column.published = published.contains(column.key);
    }
  }

  // What rows say of columns, and how many GPUs they have where they do not say.
  void CheckRows() {
    std::set<std::string> known;
    for (const TableBlock& block : table_.blocks) {
      for (const TableColumn& column : block.columns) known.insert(column.key);
    }
    const auto check = [&](const TableLine& line, const std::string& column, const char* where) {
      if (!known.contains(column))
        throw InputError(fmt::format("{}.{}: names {}, which is no column{}; there are {}.", line.place,
                                     where, column, DidYouMean(column, {known.begin(), known.end()}),
                                     JoinNames({known.begin(), known.end()})));
    };
    for (TableBlock& block : table_.blocks) {
      for (TableLine& line : block.lines) {
        for (const auto& [column, agent] : line.agents) check(line, column, "agents");
        for (const auto& [column, number] : line.published) check(line, column, "published");
        for (const auto& [column, count] : line.published_samples) check(line, column, "published_samples");
        for (const std::string& column : line.fitted) {
          check(line, column, "fitted");
          const auto number = line.published.find(column);
          if (number == line.published.end() || !number->second.value)
            throw InputError(
                fmt::format("{}.fitted: {} has no published time that could be met.", line.place, column));
        }
        for (const TableColumn& column : block.columns) {
          CheckAgent(line, column);
          for (const BudgetSize size :
               BudgetSizes()) {  // a budget's own units are those of columns without any
            const std::string& grouper = table_.BudgetOf(size).grouper;
            if (column.grouper.empty() && !grouper.empty()) CheckPass(line, column, grouper);
          }
        }
        CheckMachine(line, block.columns);
      }
    }
  }

  static void CheckAgent(const TableLine& line, const TableColumn& column) {
    const std::string& agent = line.AgentOf(column);
    if (agent.empty())
      throw InputError(
          fmt::format("{}.agents: column {} has no agent; give this row one.", line.place, column.key));
    if (agents::Samples(*agents::FindAgent(Spec::Parse(agent).name)) != column.sampled)
      throw InputError(fmt::format("{}.agents.{}: {} {} samples, and the column's others do otherwise.",
                                   line.place, column.key, agent, column.sampled ? "draws no" : "draws"));
    CheckPass(line, column, line.GrouperOf(column));
  }

  static void CheckPass(const TableLine& line, const TableColumn& column, const std::string& grouper) {
    if (column.pass_every > 0 && At(line.place, [&] { return GroupsOf(grouper); }) == 0)
      throw InputError(fmt::format(
          "{}: column {} takes a pass over groups, but grouper {} gives no number of them; expected one "
          "such as neighbour(groups=64)",
          line.place, column.key, grouper));
  }

  // The cluster is one, and has the devices that columns name.
  void CheckMachine(TableLine& line, const std::vector<TableColumn>& columns) {
    if (line.cluster.find(kGpusMark) != std::string::npos)
      throw InputError(
          fmt::format("{} has no `gpus`, which its cluster {} asks for", line.place, line.cluster));
    auto [found, is_new] = clusters_.try_emplace(line.cluster);
    if (is_new) {
      found->second = At(
          line.place, [&] { return scenarios::LoadCluster(line.cluster, cost_models::BuiltinCatalogue()); });
    }
    const sim::Cluster& cluster = found->second;
    for (const TableColumn& column : columns) {
      At(column.place, [&] { problem::SelectDevices(cluster, column.devices, "devices"); });
    }
    if (line.gpus > 0) return;
    line.gpus = static_cast<int>(std::ranges::count_if(cluster.devices, [](const sim::Device& device) {
      return device.device_class != sim::DeviceClass::kCpu;
    }));
  }

  void ReadFit(const Fields& top) {
    if (const auto list = top.Find("fit")) {
      for (const Value item : list->items()) {
        const Fields fields(item, kParameter);
        TableParameter& parameter = table_.parameters.emplace_back();
        parameter.kind = fields.Require("kind").Name();
        if (const auto classes = fields.Find("classes")) parameter.classes = Sentences(*classes);
        parameter.low = fields.Require("from").Number(1e-9, 1e9);
        parameter.high = fields.Require("to").Number(parameter.low, 1e9);
      }
    }
    if (const auto list = top.Find("borrow")) {
      for (const Value item : list->items()) {
        const Fields fields(item, kBorrowed);
        table_.borrowed.push_back(
            {fields.Require("table").Name(), fields.Require("kind").Name(), fields.Require("as").Name()});
      }
    }
  }

  const formats::Document document_;
  const std::string folder_;
  Defaults defaults_;
  std::map<std::string, sim::Cluster> clusters_;
  TableBlock shared_;  // columns and rows that blocks have which give none
  TableDefinition table_;
};

}  // namespace

bool IsTableFile(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".yaml") || name.ends_with(".yml");
}

TableDefinition ParseTable(std::string_view yaml, const std::string& source, const std::string& folder) {
  return TableReader(yaml, source, folder).Read();
}

TableDefinition ReadTable(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  TableDefinition table = ParseTable(formats::ReadFile(path), path, folder.empty() ? "." : folder.string());
  table.path = path;
  // The pages of the papers' tables show what the papers have; one's own shows all.
  for (TableBlock& block : table.blocks) {
    for (TableColumn& column : block.columns) column.published = true;
  }
  for (const TableName& ours : TableNames()) {
    if (table.name == ours.name)
      throw InputError(
          fmt::format("{}: name: is {}, a table of stowplan's own; give it another name.", path, table.name));
  }
  std::set<std::string> made;
  for (const TableBlock& block : table.blocks) {
    for (const TableLine& line : block.lines) {
      for (const TableColumn& column : block.columns) {
        const std::string& agent = line.AgentOf(column);
        if (!made.insert(agent).second) continue;
        const std::string& place = column.agent.empty() ? line.place : column.place;
        At(fmt::format("{}: column {}", place, column.key), [&] {
          try {
            const auto made_once = agents::MakeAgent(agent);
            if (column.trained && dynamic_cast<agents::Transferable*>(made_once.get()) == nullptr)
              throw InputError(fmt::format("{}: {} keeps no policy that could be applied",
                                           column.zero_shot ? "zero_shot" : "trained", agent));
          } catch (const RunError&) {  // a learner that this build lacks: its cells are not run
          }
        });
      }
    }
  }
  return table;
}

}  // namespace stowplan::tables
