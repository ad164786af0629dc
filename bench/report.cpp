#include "bench/report.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "output/console.h"
#include "output/csv.h"
#include "output/plot.h"
#include "output/report_page.h"
#include "sim/base/error.h"

namespace stowplan::bench {
namespace {

// Sorts "ops:100" before "ops:1000": text and the number behind it, in turn.
std::vector<std::pair<std::string, double>> NaturalKey(const std::string& name) {
  constexpr const char* kDigits = "0123456789";
  std::vector<std::pair<std::string, double>> key;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t digits = std::min(name.find_first_of(kDigits, at), name.size());
    const std::size_t end = std::min(name.find_first_not_of(kDigits, digits), name.size());
    key.emplace_back(name.substr(at, digits - at),
                     digits == end ? -1.0 : std::stod(name.substr(digits, end - digits)));
    at = end;
  }
  return key;
}

using Json = nlohmann::json;

// ---- reading ----------------------------------------------------------------------------------------------

template <typename Read>
void ReadJson(std::string_view text, const std::string& source, const char* what, Read&& read) {
  try {
    read(Json::parse(text));
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("{}: no output of {}: {}", source, what, error.what()));
  }
}

std::optional<double> Optional(const Json& object, const char* key) {
  const auto value = object.find(key);
  if (value == object.end() || value->is_null()) return std::nullopt;
  return value->get<double>();
}

// What two times measured in one iteration are called in a row, and how their ratio reads.
struct Ratio {
  const char* counter;
  const char* text;
};
constexpr std::array kRatios = {Ratio{"threads/processes", "{:.2f} of processes"},
                                Ratio{"program/ready", "{:.2f} of program order's speed"},
                                Ratio{"eight/many", "{:.2f} of the speed on 8 devices"},
                                Ratio{"exact/screen", "{:.1f} times the simulator"},
                                Ratio{"random/search", "{:.2f} of random search's speed"}};

const Ratio* RatioOf(const Json& row) {
  const auto found = std::find_if(kRatios.begin(), kRatios.end(),
                                  [&](const Ratio& ratio) { return row.contains(ratio.counter); });
  return found == kRatios.end() ? nullptr : found;
}

// What else the machine does is in the wall clock's time, not in the processor's.
const char* ClockOf(const Json& row) {
  return RatioOf(row) != nullptr ? "real_time" : "cpu_time";
}

double MillisecondsOf(const Json& row) {
  static const std::map<std::string, double> kUnits = {{"ns", 1e-6}, {"us", 1e-3}, {"ms", 1}, {"s", 1e3}};
  return row.at(ClockOf(row)).get<double>() * kUnits.at(row.at("time_unit"));
}

// Google Benchmark adds how it was timed.
std::string NameOf(const Json& row) {
  const std::string name = row.at("run_name");
  return name.substr(0, name.find("/manual_time"));
}

SpeedRow ReadRow(const Json& row) {
  const Ratio* ratio = RatioOf(row);
  return {.name = NameOf(row),
          .ops = row.at("ops"),
          .edges = row.at("edges"),
          .devices = row.at("devices"),
          .milliseconds = MillisecondsOf(row),
          .ops_per_second = row.at("ops/s"),
          .ratio = ratio != nullptr ? Optional(row, ratio->counter) : std::nullopt,
          .ratio_text = ratio != nullptr ? ratio->text : "",
          .goal = Optional(row, "goal")};
}

// ---- texts ------------------------------------------------------------------------------------------------

bool IsUnder(const SpeedRow& row, std::string_view family) {
  return row.name.compare(0, family.size(), family) == 0;
}

std::string FigureText(const SpeedRow& row, double figure) {
  return row.ratio ? fmt::format(fmt::runtime(row.ratio_text), figure) : output::RateText(figure, "ops");
}

std::string SpreadText(const SpeedRow& row) {
  return row.spread ? fmt::format("{:.0f} %", 100 * *row.spread) : "one run";
}

std::string MarkdownLine(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + cell + " |";
  return line + "\n";
}

std::string MarkdownHead(const std::vector<std::string>& titles) {
  return MarkdownLine(titles) + MarkdownLine(std::vector<std::string>(titles.size(), "---"));
}

std::string ReachedText(const SpeedRow& row) {
  return row.goal ? fmt::format("{:.2f}", row.figure() / *row.goal) : "";
}

// Rows without a goal are in rows.csv alone.
std::string PrintGoals(const std::vector<SpeedRow>& rows) {
  std::string text = MarkdownHead({"what", "an iteration", "spread", "measured", "goal", "reached"});
  for (const SpeedRow& row : rows) {
    if (IsUnder(row, "scaling/") || IsUnder(row, "search/") || !row.goal) continue;
    text += MarkdownLine({"`" + row.name + "`", output::TimeText(row.milliseconds * 1e3), SpreadText(row),
                          FigureText(row, row.figure()), FigureText(row, *row.goal), ReachedText(row)});
  }
  return text;
}

// "search/<agent>/<rules>/<graph>". A sample is one run of the graph's ops.
std::string PrintSearches(const std::vector<SpeedRow>& rows) {
  std::string text;
  for (const SpeedRow& row : rows) {
    if (!IsUnder(row, "search/") || !row.ratio) continue;
    const double seconds = row.ops / row.ops_per_second;
    text += MarkdownLine({"`" + row.name.substr(row.name.find('/') + 1) + "`",
                          output::TimeText(seconds * 1e6), output::TimeText(seconds * *row.ratio * 1e6),
                          SpreadText(row), fmt::format("{:.2f}", 1 / *row.ratio),
                          row.goal ? fmt::format("{:.2f}", 1 / *row.goal) : ""});
  }
  if (text.empty()) return text;
  return MarkdownHead({"search", "a sample", "of random search", "spread", "ratio", "goal"}) + text;
}

std::string PrintPeers(const std::vector<PeerRow>& peers) {
  std::string text = MarkdownHead(
      {"compared with", "stowplan's rules", "ops", "edges", "theirs", "ours", "times", "runtimes differ by"});
  for (const PeerRow& row : peers) {
    text += MarkdownLine({row.peer, row.ours, output::CountText(static_cast<std::int64_t>(row.ops)),
                          output::CountText(static_cast<std::int64_t>(row.edges)),
                          output::RateText(row.ops / row.their_seconds, "ops"),
                          output::RateText(row.ops / row.our_seconds, "ops"),
                          fmt::format("{:.0f}", row.their_seconds / row.our_seconds),
                          row.difference ? fmt::format("{:.1e}", *row.difference) : "other rules"});
  }
  return text;
}

// ---- scaling: "scaling/<axis>/<rules>/<x>" ----------------------------------------------------------------

struct Axis {
  const char* name;
  const char* label;
  double SpeedRow::*x;
};
constexpr Axis kAxes[] = {{"ops", "ops, two edges an op, 4 devices", &SpeedRow::ops},
                          {"edges", "edges, 10 000 ops, 4 devices", &SpeedRow::edges},
                          {"devices", "devices, 10 000 ops, 20 058 edges", &SpeedRow::devices}};

// By rules, "native/fifo", in order of x.
std::map<std::string, std::vector<const SpeedRow*>> RowsOf(const std::vector<SpeedRow>& rows,
                                                           const Axis& axis) {
  const std::string family = fmt::format("scaling/{}/", axis.name);
  std::map<std::string, std::vector<const SpeedRow*>> by_rules;
  for (const SpeedRow& row : rows) {
    if (!IsUnder(row, family)) continue;
    const std::size_t end = row.name.rfind('/');
    by_rules[row.name.substr(family.size(), end - family.size())].push_back(&row);
  }
  for (auto& [rules, all] : by_rules)
    std::sort(all.begin(), all.end(),
              [&](const SpeedRow* a, const SpeedRow* b) { return a->*axis.x < b->*axis.x; });
  return by_rules;
}

std::string PlotAxis(const std::vector<SpeedRow>& rows, const Axis& axis) {
  output::Plot plot{
      .title = fmt::format("Time of an evaluation by {}", axis.name), .x_label = axis.label, .y_label = "ms"};
  for (const auto& [rules, all] : RowsOf(rows, axis)) {
    output::PlotSeries series{.name = rules, .line = true};
    for (const SpeedRow* row : all) series.points.emplace_back(row->*axis.x, row->milliseconds);
    plot.series.push_back(std::move(series));
  }
  return output::PlotHtml(plot);
}

}  // namespace

void AddBenchmarks(SpeedResults& results, std::string_view json, const std::string& source) {
  ReadJson(json, source, "stowplan_benchmarks", [&](const Json& document) {
    for (const char* name : {"command", "revision", "machine", "date"}) {
      const std::pair<std::string, std::string> fact(name, document.at("context").at(name));
      if (std::find(results.facts.begin(), results.facts.end(), fact) == results.facts.end())
        results.facts.push_back(fact);
    }
    std::map<std::string, double> spreads;
    for (const Json& row : document.at("benchmarks")) {
      const std::string kind = row.value("aggregate_name", "");
      if (kind == "cv") spreads[NameOf(row)] = row.at(ClockOf(row));
      if (kind == "median") results.rows.push_back(ReadRow(row));
      if (kind.empty() && row.value("repetitions", 1) <= 1) results.rows.push_back(ReadRow(row));
    }
    for (SpeedRow& row : results.rows) {
      if (const auto spread = spreads.find(row.name); spread != spreads.end()) row.spread = spread->second;
    }
    // Interleaved measurements come in no order.
    std::ranges::stable_sort(results.rows, {}, [](const SpeedRow& row) { return NaturalKey(row.name); });
  });
}

void AddComparison(SpeedResults& results, std::string_view json, const std::string& source) {
  ReadJson(json, source, "stowplan_compare", [&](const Json& document) {
    results.facts.emplace_back("command of the comparison", document.at("command"));
    results.facts.emplace_back("revision of the comparison",
                               document.at("revision").get<std::string>() +
                                   (document.at("dirty").get<bool>() ? " (with changes)" : ""));
    for (const Json& row : document.at("rows")) {
      results.peers.push_back({row.at("peer"), row.at("ours"), row.at("ops"), row.at("edges"),
                               row.at("their_seconds"), row.at("our_seconds"),
                               Optional(row, "largest_difference")});
    }
  });
}

std::string PrintSpeedCsv(const SpeedResults& results) {
  std::string text;
  for (const auto& [what, value] : results.facts) text += fmt::format("# {}: {}\n", what, value);
  text += output::PrintCsvLine(
      {"name", "ops", "edges", "devices", "milliseconds", "ops_per_second", "ratio", "goal", "spread"});
  const auto number = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.6g}", *value) : "";
  };
  for (const SpeedRow& row : results.rows) {
    text += output::PrintCsvLine({row.name, fmt::format("{:.0f}", row.ops), fmt::format("{:.0f}", row.edges),
                                  fmt::format("{:.0f}", row.devices), number(row.milliseconds),
                                  number(row.ops_per_second), number(row.ratio), number(row.goal),
                                  number(row.spread)});
  }
  return text;
}

std::string PrintSpeedMarkdown(const SpeedResults& results) {
  std::string text =
      "# Speed\n\nPrinted by `stowplan_speed_report`; bench/README.md says how to measure again.\n\n";
  for (const auto& [what, value] : results.facts) text += fmt::format("- {}: `{}`\n", what, value);
  text +=
      "\nMedians of the repetitions; `spread` is their coefficient of variation. All rows are in "
      "[rows.csv](rows.csv), "
      "times over ops, edges and devices are drawn in scaling.html, which it writes too.\n\n"
      "## Hot paths and their goals\n\n"
      "Random placements, peak memory tracked, nothing recorded, one thread where no other number is named. "
      "`reached` is what was measured over the goal: 1 or more is reached.\n\n" +
      PrintGoals(results.rows);
  if (const std::string searches = PrintSearches(results.rows); !searches.empty())
    text +=
        "\n## Searches\n\nBoth in turn; what a search does between its runs is in a sample.\n\n" + searches;
  if (!results.peers.empty()) {
    text +=
        "\n## Beside other simulators\n\n"
        "The same graphs and placements, in one run. Under \"those of SimGrid\" both simulate the same "
        "machine and are compared by their runtimes too.\n\n" +
        PrintPeers(results.peers);
  }
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

std::string PrintScalingHtml(const SpeedResults& results) {
  std::string figures =
      "<p>Random placements of random graphs on devices around one switch; one thread, peak memory "
      "tracked.</p>\n"
      "<div class=\"figures\">\n";
  for (const Axis& axis : kAxes) figures += PlotAxis(results.rows, axis);
  return output::PrintReportHtml(
      {.title = "what an evaluation costs", .facts = results.facts, .sections = {}}, figures + "</div>\n");
}

}  // namespace stowplan::bench
