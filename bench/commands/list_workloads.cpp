#include <fmt/format.h>

#include "BenchData.h"
#include "bench/commands/listing.h"
#include "bench/console.h"
#include "bench/csv.h"
#include "scenarios/scenarios.h"
#include "scenarios/sizes.h"
#include "sim/error.h"
#include "sim/spec.h"

namespace berth::bench {
namespace {

constexpr const char* kNothing = "-";

// Columns of workloads.csv.
enum Published : std::size_t { kWorkload, kWeights, kGmac, kFrameworkOps, kActivations, kSource, kColumns };

// 12345678 as "12.35" at 1e6; nothing where there is nothing to count.
std::string In(double unit, int digits, double count) {
  return count == 0 ? kNothing : fmt::format("{:.{}f}", count / unit, digits);
}

bool HasGranularity(const scenarios::WorkloadRow& row) {
  return std::string(row.parameters).find("granularity=") != std::string::npos;
}

std::string RawOps(const scenarios::WorkloadRow& row, Spec spec) {
  if (!HasGranularity(row)) return kNothing;
  spec.named.emplace_back("granularity", "raw");
  return CountText(row.build(spec).size());
}

// "24713?" -> "24,713?"; ">50000" -> ">50,000".
std::string PublishedCount(const std::string& figure) {
  const auto begin = figure.find_first_of("0123456789");
  if (begin == std::string::npos) return figure;
  const auto end = figure.find_first_not_of("0123456789", begin);
  return figure.substr(0, begin) + CountText(std::stoll(figure.substr(begin, end - begin))) +
         (end == std::string::npos ? "" : figure.substr(end));
}

// In millions, with the digits that there are: "23817352" -> "23.82", "3.3M" -> "3.3".
std::string PublishedMillions(const std::string& figure) {
  if (figure == kNothing) return figure;
  return figure.ends_with('M') ? figure.substr(0, figure.size() - 1) : In(1e6, 2, std::stod(figure));
}

// `published`: a line of workloads.csv; empty if there is nothing.
std::vector<std::string> SizesOf(const scenarios::WorkloadRow& row, const std::string& name,
                                 const CsvLine& published, bool raw) {
  const Spec spec = Spec::Parse(name);
  const sim::OpGraph graph = row.build(spec);
  const sim::OpGraph::Totals totals = graph.totals();
  const auto figure = [&](Published column) { return published.empty() ? kNothing : published[column]; };
  const auto activations =
      HasGranularity(row) ? static_cast<double>(scenarios::SumOfForwardOutputs(graph)) : 0;
  std::vector<std::string> cells = {name, CountText(graph.size()), CountText(graph.edges())};
  if (raw) cells.push_back(RawOps(row, spec));
  cells.insert(cells.end(),
               {PublishedCount(figure(kFrameworkOps)), In(1e6, 2, static_cast<double>(totals.parameters)),
                PublishedMillions(figure(kWeights)), In(1e9, 1, totals.flops),
                In(1e9, 2, scenarios::ForwardMultiplyAdds(graph)), figure(kGmac), In(1e9, 2, activations),
                figure(kActivations)});
  return cells;
}

}  // namespace

Listing ListWorkloads(bool raw) {
  Listing listing{{"name", {"ops", "ops"}, {"edges", "edges"}}, {}};
  if (raw) listing.columns.push_back({"raw_ops", "raw ops"});
  listing.columns.insert(listing.columns.end(), {{"published_ops", "published"},
                                                 {"weights_m", "weights M"},
                                                 {"published_weights_m", "publ."},
                                                 {"gflop", "GFLOP"},
                                                 {"forward_gmac", "GMAC"},
                                                 {"published_gmac", "publ."},
                                                 {"activations_gb", "outputs GB"},
                                                 {"published_activations_gb", "publ."},
                                                 "what",
                                                 "parameters"});
  listing.legend =
      "GFLOP: of one step. GMAC: multiply-adds of its forward part. Outputs: of all forward ops, added; the "
      "live "
      "peak is smaller. "
      "Published: the framework's ops, and what stands right of ours; ? is recalled, no document seen; * "
      "nobody "
      "published, worked out by hand from the architecture.";
  std::vector<CsvLine> lines = ParseCsv(BenchData("workloads.csv"), "workloads.csv", true);
  BERTH_CHECK_EQ(lines.at(0).size(), std::size_t{kColumns});
  lines.erase(lines.begin());
  for (const scenarios::WorkloadRow& row : scenarios::Workloads()) {
    // The graph of the defaults first, with what is published of it, then the others of the file.
    CsvLine own;
    for (const CsvLine& line : lines) {
      if (line[kWorkload] == row.name) own = line;
    }
    std::vector<std::string> cells = SizesOf(row, row.name, own, raw);
    const std::string published = own.empty() ? "" : "; sources: " + own[kSource];
    cells.insert(cells.end(), {row.what + published, row.parameters});
    listing.rows.push_back(std::move(cells));
    for (const CsvLine& line : lines) {
      if (line[kWorkload] == row.name || Spec::Parse(line[kWorkload]).name != row.name) continue;
      cells = SizesOf(row, line[kWorkload], line, raw);
      cells.insert(cells.end(), {"sources: " + line[kSource], ""});
      listing.rows.push_back(std::move(cells));
    }
  }
  return listing;
}

}  // namespace berth::bench
