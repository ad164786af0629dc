// stowplan list KIND: the instances of every folder's table, as text or JSON.
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
#include "sim/base/spec.h"
#include "sim/formats/document/units_text.h"
#include "sim/formats/formats.h"
#include "sim/interconnect.h"
#include "tables/table.h"

namespace stowplan::cli {
namespace {

template <typename Row>
Listing Named(const std::vector<Row>& table) {
  Listing listing{{"name", "what", "parameters"}, {}};
  for (const Row& row : table) listing.rows.push_back({row.name, row.what, row.parameters});
  return listing;
}

const char* ToString(agents::AgentKind kind) {
  switch (kind) {
    case agents::AgentKind::kBaseline:
      return "baseline";
    case agents::AgentKind::kConstructive:
      return "constructive";
    case agents::AgentKind::kSearch:
      return "search";
    case agents::AgentKind::kLearner:
      return "learner";
  }
  return "";
}

Listing ListAgents() {
  Listing listing{{"name", "kind", "what", "source", "parameters"}, {}};
  for (const agents::AgentRow& row : agents::Agents()) {
    listing.rows.push_back({row.name, ToString(row.kind), row.what, row.source, row.parameters});
  }
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
std::vector<std::string> NamesIn(const std::vector<Row>& table) {
  std::vector<std::string> names;
  for (const Row& row : table) names.emplace_back(row.name);
  return names;
}

struct KindRow {
  const char* name;
  Listing (*list)();
  std::vector<std::string> (*names)();
};

const std::vector<KindRow>& Kinds() {
  static const std::vector<KindRow> rows = {
      {kWorkloads, [] { return ListWorkloads(false); }, [] { return NamesIn(scenarios::Workloads()); }},
      {"clusters", [] { return Named(scenarios::Clusters()); },
       [] { return NamesIn(scenarios::Clusters()); }},
      {"agents", ListAgents, [] { return NamesIn(agents::Agents()); }},
      {"groupers", [] { return Named(agents::Groupers()); }, [] { return NamesIn(agents::Groupers()); }},
      {"cost-models", [] { return Named(cost_models::CostModels()); },
       [] { return NamesIn(cost_models::CostModels()); }},
      {"devices", ListDevices, [] { return cost_models::BuiltinCatalogue().DeviceNames(); }},
      {"links", ListLinks, [] { return cost_models::BuiltinCatalogue().LinkNames(); }},
      {"interconnects", [] { return WithWhat(sim::Interconnects()); },
       [] { return NamesIn(sim::Interconnects()); }},
      {"importers", [] { return WithWhat(scenarios::Importers()); },
       [] { return NamesIn(scenarios::Importers()); }},
      {"exporters", [] { return WithWhat(scenarios::Exporters()); },
       [] { return NamesIn(scenarios::Exporters()); }},
      {"tables", [] { return WithWhat(tables::TableNames()); }, [] { return NamesIn(tables::TableNames()); }},
  };
  return rows;
}

class ListCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("kind", kind_, "what to list: " + JoinNames(ListedKinds()))
        ->required()
        ->option_text("KIND");
    app.add_flag("--unfused", unfused_,
                 "workloads: count the ops of the unfused graphs too, which takes a second");
    problem::JsonFile(app.add_option("--json", json_, "write JSON to this file; - is standard output"))
        ->option_text("FILE");
    AddExamples(app, {"stowplan list agents", "stowplan list workloads --json -"});
  }

  void Run() override {
    if (unfused_) {
      if (kind_ != kWorkloads) throw InputError("stowplan list: --unfused goes with workloads alone");
      return Print(ListWorkloads(true));
    }
    for (const KindRow& row : Kinds()) {
      if (kind_ == row.name) return Print(row.list());
    }
    throw InputError(fmt::format("stowplan list: there is no kind \"{}\"{}; there are {}.", kind_,
                                 DidYouMean(kind_, ListedKinds()), JoinNames(ListedKinds())));
  }

 private:
  void Print(const Listing& listing) const {
    if (!json_.empty()) return formats::WriteFile(json_, RowsJson(listing).dump(1) + "\n");
    const bool parameters = std::ranges::any_of(
        listing.columns, [](const ListingColumn& column) { return column.key == "parameters"; });
    const std::string whole = TableText(listing, true);
    if (parameters || WidestLine(whole) > output::kLineWidth) {
      PrintFolded(listing);
    } else {
      fmt::print("{}", whole);
    }
    if (!listing.legend.empty()) fmt::print("\n{}", output::Wrapped(listing.legend, 0, output::kLineWidth));
  }

  static nlohmann::ordered_json RowsJson(const Listing& listing) {
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
      rows.push_back(std::move(object));
    }
    return rows;
  }

  static bool IsSentence(const ListingColumn& column) {
    return column.key == "what" || column.key == "source" || column.key == "parameters";
  }

  static std::size_t WidestLine(const std::string& text) {
    std::istringstream lines(text);
    std::size_t widest = 0;
    for (std::string line; std::getline(lines, line);) widest = std::max(widest, output::TextWidth(line));
    return widest;
  }

  static std::string TableText(const Listing& listing, bool sentences) {
    const auto shown = [&](std::size_t c) {
      return listing.columns[c].below.empty() && (sentences || !IsSentence(listing.columns[c]));
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
  static void PrintFolded(const Listing& listing) {
    std::istringstream lines(TableText(listing, false));
    std::string line;
    std::getline(lines, line);
    fmt::print("{}\n", line);
    for (const auto& row : listing.rows) {
      std::getline(lines, line);
      fmt::print("{}\n", line);
      if (const std::string below = BelowText(listing, row); !below.empty())
        fmt::print("{}", output::Wrapped(below, 4, output::kLineWidth));
      for (std::size_t c = 0; c < row.size(); ++c) {
        if (!IsSentence(listing.columns[c]) || row[c].text.empty()) continue;
        const std::string& key = listing.columns[c].key;
        fmt::print("{}",
                   output::Wrapped((key == "what" ? "" : key + ": ") + row[c].text, 4, output::kLineWidth));
      }
    }
  }

  std::string kind_;
  std::string json_;
  bool unfused_ = false;
};

}  // namespace

std::vector<std::string> ListedKinds() {
  return NamesIn(Kinds());
}

std::vector<std::string> NamesOfKind(const std::string& kind) {
  const auto row =
      std::ranges::find(Kinds(), kind, [](const KindRow& each) { return std::string(each.name); });
  STOWPLAN_CHECK(row != Kinds().end());
  return row->names();
}

std::unique_ptr<Command> MakeListCommand() {
  return std::make_unique<ListCommand>();
}

}  // namespace stowplan::cli
