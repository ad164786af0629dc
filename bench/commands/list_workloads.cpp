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

std::string CountOrNothing(std::int64_t count) {
  return count == 0 ? kNothing : CountText(count);
}

std::string BillionsText(double count) {
  return count == 0 ? kNothing : SecondsDigits(count / 1e9);
}

bool HasGranularity(const scenarios::WorkloadRow& row) {
  return std::string(row.parameters).find("granularity=") != std::string::npos;
}

std::string RawOps(const scenarios::WorkloadRow& row, Spec spec) {
  if (!HasGranularity(row)) return kNothing;
  spec.named.emplace_back("granularity", "raw");
  return CountText(row.build(spec).size());
}

// "24713?" -> "24,713 (recalled)"; "82M" and ">50000" as they are.
std::string Published(const std::string& figure) {
  std::string number = figure;
  const bool recalled = number.ends_with('?');
  if (recalled) number.pop_back();
  const bool whole = number.find_first_not_of("0123456789") == std::string::npos;
  if (whole && number.size() > 3) number = CountText(std::stoll(number));
  return recalled ? number + " (recalled)" : number;
}

// `published`: workload, weights, gmac, framework_ops, source; empty if there is nothing.
std::vector<std::string> SizesOf(const scenarios::WorkloadRow& row, const std::string& name,
                                 const CsvLine& published) {
  const Spec spec = Spec::Parse(name);
  const sim::OpGraph graph = row.build(spec);
  const sim::OpGraph::Totals totals = graph.totals();
  const auto figure = [&](std::size_t column) {
    return published.empty() ? std::string(kNothing) : Published(published[column]);
  };
  const sim::Bytes activations = scenarios::SumOfForwardOutputs(graph);
  const bool model = HasGranularity(row);
  return {name,
          CountText(graph.size()),
          CountText(graph.edges()),
          RawOps(row, spec),
          figure(3),
          CountOrNothing(totals.parameters),
          figure(1),
          BillionsText(totals.flops),
          BillionsText(scenarios::ForwardMultiplyAdds(graph)),
          figure(2),
          model ? BytesText(static_cast<double>(activations)) : kNothing};
}

}  // namespace

Listing ListWorkloads() {
  Listing listing{{"name", "ops", "edges", "raw_ops", "published_ops", "weights", "published_weights",
                   "gflop", "forward_gmac", "published_gmac", "activations", "what", "parameters"},
                  {}};
  std::vector<CsvLine> lines = ParseCsv(BenchData("workloads.csv"), "workloads.csv", true);
  BERTH_CHECK_EQ(lines.at(0).size(), 5u);
  lines.erase(lines.begin());
  for (const scenarios::WorkloadRow& row : scenarios::Workloads()) {
    // The graph of the defaults first, with what is published of it, then the others of the file.
    CsvLine own;
    for (const CsvLine& line : lines) {
      if (line[0] == row.name) own = line;
    }
    std::vector<std::string> cells = SizesOf(row, row.name, own);
    cells.insert(cells.end(), {row.what, row.parameters});
    listing.rows.push_back(std::move(cells));
    for (const CsvLine& line : lines) {
      if (line[0] == row.name || Spec::Parse(line[0]).name != row.name) continue;
      cells = SizesOf(row, line[0], line);
      cells.insert(cells.end(), {"published: " + line[4], ""});
      listing.rows.push_back(std::move(cells));
    }
  }
  return listing;
}

}  // namespace berth::bench
