#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "TableData.h"
#include "cli/commands/listing.h"
#include "output/console.h"
#include "output/csv.h"
#include "scenarios/scenarios.h"
#include "scenarios/sizes.h"
#include "sim/base/error.h"
#include "sim/base/spec.h"

namespace stowplan::cli {
namespace {

// Columns of workloads.csv.
enum Published : std::size_t { kWorkload, kWeights, kGmac, kFrameworkOps, kActivations, kSource, kColumns };

constexpr const char* kKnown = "known";
constexpr const char* kRecalled = "recalled";
constexpr const char* kByHand = "by_hand";
constexpr const char* kMoreThan = "more_than";

ListingCell Count(std::int64_t count) {
  return {output::CountText(count), count};
}

// 12345678 as "12.35" at 1e6; nothing where there is nothing to count.
template <typename Number>
ListingCell In(double unit, int digits, Number count) {
  if (count == 0) return ListingCell::Nothing();
  return {fmt::format("{:.{}f}", static_cast<double>(count) / unit, digits), count};
}

bool HasGranularity(const scenarios::WorkloadRow& row) {
  return row.settings.Find("granularity") != nullptr;
}

ListingCell UnfusedOps(const scenarios::WorkloadRow& row, Spec spec) {
  if (!HasGranularity(row)) return ListingCell::Nothing();
  spec.named.emplace_back("granularity", "unfused");
  return Count(row.build({spec, row.settings}).size());
}

// "24713?", ">50000", "4.2*", "3.3M": the number, and what its sign says of it.
struct Figure {
  double number = 0;
  std::string digits;  // as they are written
  std::string mark;
  bool in_millions = false;
};

Figure ParseFigure(const std::string& text) {
  Figure figure;
  const auto begin = text.find_first_of("0123456789");
  const auto end = std::min(text.find_first_not_of("0123456789.", begin), text.size());
  figure.digits = text.substr(begin, end - begin);
  figure.number = std::stod(figure.digits);
  figure.in_millions = text.ends_with('M');
  if (text.starts_with('>')) figure.mark = kMoreThan;
  if (text.ends_with('?')) figure.mark = kRecalled;
  if (text.ends_with('*')) figure.mark = kByHand;
  return figure;
}

// "24713?" -> "24,713?"; ">50000" -> ">50,000".
ListingCell PublishedCount(const std::string& text) {
  if (text == ListingCell::kNothing) return ListingCell::Nothing();
  const Figure figure = ParseFigure(text);
  const auto count = static_cast<std::int64_t>(figure.number);
  std::string shown = text;
  return {shown.replace(text.find(figure.digits), figure.digits.size(), output::CountText(count)), count,
          figure.mark};
}

// In millions, with the digits that there are: "23817352" -> "23.82", "3.3M" -> "3.3".
ListingCell PublishedMillions(const std::string& text) {
  if (text == ListingCell::kNothing) return ListingCell::Nothing();
  const Figure figure = ParseFigure(text);
  const auto count = std::llround(figure.in_millions ? figure.number * 1e6 : figure.number);
  return {figure.in_millions ? figure.digits : In(1e6, 2, count).text, std::int64_t{count}, figure.mark};
}

// Written in 1e9.
ListingCell PublishedBillions(const std::string& text) {
  if (text == ListingCell::kNothing) return ListingCell::Nothing();
  const Figure figure = ParseFigure(text);
  return {text, std::int64_t{std::llround(figure.number * 1e9)}, figure.mark};
}

// `published`: a line of workloads.csv; empty if there is nothing.
std::vector<ListingCell> SizesOf(const scenarios::WorkloadRow& row, const std::string& name,
                                 const output::CsvLine& published, bool unfused) {
  const Spec spec = Spec::Parse(name);
  const sim::OpGraph graph = row.build({spec, row.settings});
  const sim::OpGraph::Totals totals = graph.totals();
  const auto figure = [&](Published column) {
    return published.empty() ? ListingCell::kNothing : published[column];
  };
  const std::int64_t activations = HasGranularity(row) ? scenarios::SumOfForwardOutputs(graph) : 0;
  std::vector<ListingCell> cells = {name, Count(graph.size()), Count(graph.edges())};
  if (unfused) cells.push_back(UnfusedOps(row, spec));
  cells.insert(cells.end(),
               {PublishedCount(figure(kFrameworkOps)), In(1e6, 2, std::int64_t{totals.parameters}),
                PublishedMillions(figure(kWeights)), In(1e9, 1, totals.flops),
                In(1e9, 2, scenarios::ForwardMultiplyAdds(graph)), PublishedBillions(figure(kGmac)),
                In(1e9, 2, activations), PublishedBillions(figure(kActivations))});
  return cells;
}

}  // namespace

Listing ListWorkloads(bool unfused, const std::string& name) {
  Listing listing{{"name", {"ops", "ops"}, {"edges", "edges"}}, {}};
  if (unfused) listing.columns.push_back({"unfused_ops", "unfused"});
  listing.columns.insert(listing.columns.end(),
                         {ListingColumn::Below(kKnown, "published_ops", "ops"),
                          {"weights", "weights M"},
                          ListingColumn::Below(kKnown, "published_weights", "M weights"),
                          {"flops", "GFLOP"},
                          {"forward_multiply_adds", "GMAC"},
                          ListingColumn::Below(kKnown, "published_forward_multiply_adds", "GMAC"),
                          {"activation_bytes", "out GB"},
                          ListingColumn::Below(kKnown, "published_activation_bytes", "GB out"),
                          "what"});
  listing.marks = {kRecalled, kByHand, kMoreThan};
  listing.legend =
      "GFLOP: of one step. GMAC: multiply-adds of its forward part. Out: outputs of all forward ops, added; "
      "the live peak is smaller. Known: the framework's ops, weights, multiply-adds, outputs as published; ? "
      "is "
      "recalled, no document seen; * nobody published, worked out by hand from the architecture.";
  std::vector<output::CsvLine> lines = output::ParseCsv(TableData("workloads.csv"), "workloads.csv", true);
  STOWPLAN_CHECK_EQ(lines.at(0).size(), std::size_t{kColumns});
  lines.erase(lines.begin());
  for (const scenarios::WorkloadRow& row : scenarios::Workloads()) {
    if (!name.empty() && row.name != name) continue;
    // The graph of the defaults first, with what is published of it, then the others of the file.
    output::CsvLine own;
    for (const output::CsvLine& line : lines) {
      if (line[kWorkload] == row.name) own = line;
    }
    std::vector<ListingCell> cells = SizesOf(row, row.name, own, unfused);
    const std::string published = own.empty() ? "" : "; sources: " + own[kSource];
    cells.emplace_back(row.what + published);
    listing.rows.push_back(std::move(cells));
    for (const output::CsvLine& line : lines) {
      if (line[kWorkload] == row.name || Spec::Parse(line[kWorkload]).name != row.name) continue;
      cells = SizesOf(row, line[kWorkload], line, unfused);
      cells.emplace_back("sources: " + line[kSource]);
      listing.rows.push_back(std::move(cells));
    }
  }
  return listing;
}

}  // namespace stowplan::cli
