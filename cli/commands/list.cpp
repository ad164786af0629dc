// stowplan list KIND [NAME]: the instances of every folder's table, or one with its settings, as text or JSON.
#include <algorithm>
#include <cstdio>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "agents/agent.h"
#include "cli/commands/commands.h"
#include "cli/commands/listing.h"
#include "cli/reference.h"
#include "cost_models/cost_models.h"
#include "output/console.h"
#include "problem/options.h"
#include "scenarios/scenarios.h"
#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/base/rows.h"
#include "sim/base/spec.h"
#include "sim/formats/document/units_text.h"
#include "sim/formats/formats.h"
#include "sim/interconnect.h"
#include "tables/table.h"

namespace stowplan::cli {
namespace {

// In the order of the enum.
constexpr const char* kAgentKinds[] = {"baseline", "constructive", "search", "learner"};

Listing ListAgents() {
  Listing listing{{"name", "kind", "what", "source"}, {}};
  for (const agents::AgentRow& row : agents::Agents())
    listing.rows.push_back({row.name, kAgentKinds[static_cast<std::size_t>(row.kind)], row.what, row.source});
  return listing;
}

template <typename Row>
Listing WithWhat(const std::vector<Row>& table) {
  Listing listing{{"name", "what"}, {}};
  for (const Row& row : table) listing.rows.push_back({row.name, row.what});
  return listing;
}

ListingCell Peak(double flops) {
  if (flops == 0) return ListingCell::Nothing();
  return {fmt::format("{:.4g} T", flops / 1e12), flops};
}

ListingCell Bandwidth(double bytes) {
  if (bytes == 0) return ListingCell::Nothing();
  return {output::BytesText(bytes) + "/s", bytes};
}

ListingCell Time(sim::Picos picos) {
  return {output::TimeText(picos), sim::ToMicros(picos)};
}

Listing ListDevices() {
  Listing listing{{"name",
                   "class",
                   {"memory_bytes", "memory"},
                   {"f32_flops", "f32 FLOP/s"},
                   {"f16_flops", "f16 FLOP/s"},
                   {"bandwidth_bytes_per_s", "bandwidth"},
                   {"launch_us", "launch"},
                   "what"},
                  {}};
  const auto& catalogue = cost_models::BuiltinCatalogue();
  for (const std::string& name : catalogue.DeviceNames()) {
    const cost_models::DeviceSheet& sheet = *catalogue.FindSheet(name);
    listing.rows.push_back({name, sim::ToString(sheet.kind.device_class),
                            sheet.kind.memory
                                ? ListingCell(formats::PrintBytes(*sheet.kind.memory), *sheet.kind.memory)
                                : ListingCell::Nothing(),
                            Peak(sheet.peak_f32), Peak(sheet.peak_f16), Bandwidth(sheet.memory_bandwidth),
                            Time(sheet.kind.launch_cost), sheet.description});
  }
  return listing;
}

Listing ListLinks() {
  Listing listing{{"name", {"bandwidth_bytes_per_s", "bandwidth"}, {"latency_us", "latency"}, "what"}, {}};
  const auto& catalogue = cost_models::BuiltinCatalogue();
  for (const std::string& name : catalogue.LinkNames()) {
    const cost_models::LinkSheet& sheet = *catalogue.FindLinkSheet(name);
    listing.rows.push_back({name, Bandwidth(static_cast<double>(sheet.kind.bandwidth)),
                            Time(sheet.kind.latency), sheet.description});
  }
  return listing;
}

constexpr const char* kWorkloads = "workloads";

template <typename Row>
const SettingTable* SettingsIn(const std::vector<Row>& table, const std::string& name) {
  const Row* row = FindRow(table, name);
  return row == nullptr ? nullptr : &row->settings;
}

struct KindRow {
  const char* name;
  Listing (*list)(
      const std::string& name);  // of that one alone, or of all where that is easier or it is empty
  std::vector<std::string> (*names)();
  const SettingTable* (*settings)(const std::string& name) = nullptr;  // nullptr: a kind without
};

template <auto Table>
KindRow Plain(const char* name) {
  return {name, [](const std::string&) { return WithWhat(Table()); }, [] { return NamesOf(Table()); }};
}

template <auto Table>
KindRow Told(KindRow row) {
  row.settings = [](const std::string& name) { return SettingsIn(Table(), name); };
  return row;
}

const std::vector<KindRow>& Kinds() {
  static const std::vector<KindRow> rows = {
      Told<scenarios::Workloads>({kWorkloads,
                                  [](const std::string& name) { return ListWorkloads(false, name); },
                                  [] { return NamesOf(scenarios::Workloads()); }}),
      Told<scenarios::Clusters>(Plain<scenarios::Clusters>("clusters")),
      Told<agents::Agents>({"agents", [](const std::string&) { return ListAgents(); },
                            [] { return NamesOf(agents::Agents()); }}),
      Told<agents::Groupers>(Plain<agents::Groupers>("groupers")),
      Told<cost_models::CostModels>(Plain<cost_models::CostModels>("cost-models")),
      {"devices", [](const std::string&) { return ListDevices(); },
       [] { return cost_models::BuiltinCatalogue().DeviceNames(); }},
      {"links", [](const std::string&) { return ListLinks(); },
       [] { return cost_models::BuiltinCatalogue().LinkNames(); }},
      Plain<sim::Interconnects>("interconnects"),
      Plain<scenarios::Importers>("importers"),
      Plain<scenarios::Exporters>("exporters"),
      Plain<tables::TableNames>("tables"),
  };
  return rows;
}

class ListCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("kind", kind_, "what to list: " + JoinNames(ListedKinds()))
        ->required()
        ->option_text("KIND");
    app.add_option("name", name_, "of these one alone, with its settings")->option_text("NAME");
    app.add_flag("--unfused", unfused_,
                 "workloads: count the ops of the unfused graphs too, which takes a second");
    problem::JsonFile(app.add_option("--json", json_, "write JSON to this file; - is standard output"))
        ->option_text("FILE");
    AddExamples(app,
                {"stowplan list agents", "stowplan list agents placeto", "stowplan list workloads --json -"});
  }

  void Run() override {
    if (unfused_ && kind_ != kWorkloads)
      throw InputError("stowplan list: --unfused goes with workloads alone");
    const KindRow* row = FindRow(Kinds(), kind_);
    if (row == nullptr) {
      throw InputError(fmt::format("stowplan list: there is no kind \"{}\"{}; there are {}.", kind_,
                                   DidYouMean(kind_, ListedKinds()), JoinNames(ListedKinds())));
    }
    Listing listing = unfused_ ? ListWorkloads(true, name_) : row->list(name_);
    if (!name_.empty()) {
      const std::vector<std::string> names = row->names();
      if (std::ranges::find(names, name_) == names.end()) {
        throw InputError(fmt::format("stowplan list {}: there is no \"{}\"{}; there are {}.", kind_, name_,
                                     DidYouMean(name_, names), JoinNames(names)));
      }
      std::erase_if(listing.rows, [&](const std::vector<ListingCell>& cells) {
        return cells[0].text != name_ && !cells[0].text.starts_with(name_ + "(");
      });
    }
    if (!json_.empty()) return formats::WriteFile(json_, RowsJson(listing, *row).dump(1) + "\n");
    const SettingTable* settings = row->settings == nullptr ? nullptr : row->settings(name_);
    if (name_.empty() && row->settings != nullptr)
      listing.legend += fmt::format("{}With the settings of one: stowplan list {} NAME.",
                                    listing.legend.empty() ? "" : "\n", kind_);
    Print(listing);
    if (settings != nullptr && !settings->rows.empty()) {
      output::Print(fmt::format("\n"));
      Print(ListSettings(*settings));
    }
  }

 private:
  void Print(const Listing& listing) const {
    const std::string whole = TableText(listing, true);
    if (WidestLine(whole) > output::kLineWidth) {
      PrintFolded(listing);
    } else {
      output::Print(whole);
    }
    if (!listing.legend.empty())
      output::Print(fmt::format("\n{}", output::Wrapped(listing.legend, 0, output::kLineWidth)));
  }

  static nlohmann::ordered_json RowsJson(const Listing& listing, const KindRow& kind) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const auto& row : listing.rows) {
      nlohmann::ordered_json object;
      for (std::size_t c = 0; c < listing.columns.size(); ++c) {
        std::visit([&](const auto& value) { object[listing.columns[c].key] = value; }, row[c].value);
      }
      for (const std::string& mark : listing.marks) {
        object[mark] = nlohmann::ordered_json::array();
        for (std::size_t c = 0; c < listing.columns.size(); ++c) {
          if (row[c].mark == mark) object[mark].push_back(listing.columns[c].key);
        }
      }
      const SettingTable* settings = kind.settings == nullptr ? nullptr : kind.settings(row[0].text);
      if (settings != nullptr) object["settings"] = SettingsJson(*settings);
      rows.push_back(std::move(object));
    }
    return rows;
  }

  // What says more than a list needs.
  bool IsLeftOut(const ListingColumn& column) const { return name_.empty() && column.key == "source"; }

  static bool IsSentence(const ListingColumn& column) {
    return column.key == "what" || column.key == "source" || column.key == "otherwise";
  }

  static std::size_t WidestLine(const std::string& text) {
    std::istringstream lines(text);
    std::size_t widest = 0;
    for (std::string line; std::getline(lines, line);) widest = std::max(widest, output::TextWidth(line));
    return widest;
  }

  std::string TableText(const Listing& listing, bool sentences) const {
    const auto shown = [&](std::size_t c) {
      return listing.columns[c].below.empty() && !IsLeftOut(listing.columns[c]) &&
             (sentences || !IsSentence(listing.columns[c]));
    };
    output::TextTable table;
    for (std::size_t c = 0; c < listing.columns.size(); ++c) {
      if (shown(c)) table.AddColumn(listing.columns[c].title, listing.columns[c].align);
    }
    std::string above;  // the last row whose name has no parameters
    for (const auto& row : listing.rows) {
      std::vector<std::string> cells;
      for (std::size_t c = 0; c < row.size(); ++c) {
        if (shown(c)) cells.push_back(row[c].text);
      }
      // Another of the same name says just what is different.
      if (!above.empty() && cells[0].starts_with(above + "(")) {
        cells[0] = "  " + cells[0].substr(above.size());
      } else {
        above = cells[0];
      }
      table.AddRow(cells);
    }
    return table.ToString();
  }

  // "known: 24,713 ops, 23.82 M weights"; empty where nothing is.
  static std::string BelowText(const Listing& listing, const std::vector<ListingCell>& row) {
    std::string text;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const ListingColumn& column = listing.columns[c];
      if (column.below.empty() || row[c].text == ListingCell::kNothing) continue;
      text += fmt::format("{}{} {}", text.empty() ? column.below + ": " : ", ", row[c].text, column.title);
    }
    return text;
  }

  // Sentences would make lines that no screen holds: each has its own below its row.
  void PrintFolded(const Listing& listing) const {
    std::istringstream lines(TableText(listing, false));
    std::string line;
    std::getline(lines, line);
    output::Print(fmt::format("{}\n", line));
    for (const auto& row : listing.rows) {
      std::getline(lines, line);
      output::Print(fmt::format("{}\n", line));
      if (const std::string below = BelowText(listing, row); !below.empty())
        output::Print(output::Wrapped(below, 4, output::kLineWidth));
      for (std::size_t c = 0; c < row.size(); ++c) {
        if (!IsSentence(listing.columns[c]) || IsLeftOut(listing.columns[c]) || row[c].text.empty()) continue;
        const std::string& key = listing.columns[c].key;
        output::Print(
            output::Wrapped((key == "what" ? "" : key + ": ") + row[c].text, 4, output::kLineWidth));
      }
    }
  }

  std::string kind_;
  std::string name_;
  std::string json_;
  bool unfused_ = false;
};

}  // namespace

std::vector<std::string> ListedKinds() {
  return NamesOf(Kinds());
}

std::vector<std::string> NamesOfKind(const std::string& kind) {
  const KindRow* row = FindRow(Kinds(), kind);
  STOWPLAN_CHECK(row != nullptr);
  return row->names();
}

std::unique_ptr<Command> MakeListCommand() {
  return std::make_unique<ListCommand>();
}

}  // namespace stowplan::cli
