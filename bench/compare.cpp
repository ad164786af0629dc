// stowplan_compare: stowplan beside other simulators, on the same graphs and placements, in one run.
//
//   stowplan_compare                           SimGrid, 1 000 and 5 000 ops
//   stowplan_compare --published CHECKOUT        the simulator published with Placeto too
//   stowplan_compare --json FILE               what bench/report reads
//
// Theirs is the median over the placements, ours over many different ones: one that is repeated is learned by heart by the branch
// predictor.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/published_peer.h"
#include "bench/simgrid_peer.h"
#include "bench/speed_case.h"
#include "output/console.h"
#include "problem/provenance.h"
#include "problem/random_placements.h"
#include "sim/base/error.h"
#include "sim/base/statistics.h"
#include "sim/formats/formats.h"

namespace stowplan::bench {
namespace {

struct Options {
  std::vector<int> ops = {1'000, 5'000};
  int placements = 3;
  std::string published;
  std::string json;
};

struct Row {
  std::string peer;  // who
  std::string ours;  // which of our rules
  std::int64_t ops = 0, edges = 0;
  double our_seconds = 0;
  std::vector<double> their_seconds;  // by placement
  double difference = 0;  // largest of the runtimes, relative; less than 0: the rules are not the same

  void NoteRuntimes(sim::Picos ours_picos, double theirs_us) {
    difference = std::max(difference, std::abs(theirs_us / sim::ToMicros(ours_picos) - 1));
  }
};

// Median over runs that fill half a second, at least three.
double SecondsOf(sim::Simulator& simulator, const std::vector<sim::Placement>& placements) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds;
  double sum = 0;
  while (seconds.size() < 3 || sum < 0.5) {
    const sim::Placement& placement = placements[seconds.size() % placements.size()];
    const Clock::time_point start = Clock::now();
    simulator.Run(placement);
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    sum += seconds.back();
  }
  return Median(seconds);
}

std::string RandomDag(int ops) {
  return fmt::format("random_dag(ops={})", ops);
}

Row MakeRow(std::string peer, std::string ours, const sim::OpGraph& graph) {
  return {.peer = std::move(peer), .ours = std::move(ours), .ops = graph.size(), .edges = graph.edges()};
}

// The same graph and placement under our usual rules, which SimGrid does not have: what an evaluation costs in each.
void AddUsualRules(const std::string& peer, const std::vector<double>& their_seconds, int ops,
                   std::vector<Row>& rows) {
  for (const auto& [rules, interconnect] :
       {std::pair("native", "fair"), {"native", "fifo"}, {"published", ""}}) {
    const LoadedCase one({RandomDag(ops), StarName(4), rules, interconnect});
    const auto simulator = sim::MakeSimulator(one.loaded.problem());
    Row row = MakeRow(peer, *interconnect == '\0' ? rules : fmt::format("{} {}", rules, interconnect),
                      one.loaded.graph());
    row.difference = -1;
    row.their_seconds = their_seconds;
    row.our_seconds = SecondsOf(*simulator, one.placements);
    rows.push_back(std::move(row));
  }
}

void CompareWithSimGrid(const Options& options, int ops, std::vector<Row>& rows) {
  const LoadedCase one({RandomDag(ops), StarName(4), "native", "fair"});
  const sim::OpGraph& graph = one.loaded.graph();
  const sim::Cluster cluster = WithoutHostLimits(one.loaded.cluster());
  const sim::Problem problem(graph, cluster, one.loaded.problem().costs());
  const auto simulator = sim::MakeSimulator(problem);
  const std::string peer = "SimGrid " + SimGridVersion();
  Row lazy = MakeRow(peer, "those of SimGrid", graph);
  Row full = MakeRow(peer + ", full updates", "those of SimGrid", graph);
  lazy.our_seconds = full.our_seconds = SecondsOf(*simulator, one.placements);
  for (int i = 0; i < options.placements; ++i) {
    const sim::Placement& placement = one.placements[static_cast<std::size_t>(i)];
    const sim::Outcome ours = simulator->Run(placement, {sim::RunOptions::Record::kOps, {}});
    const auto order = StartOrder(graph, ours);
    for (const auto& [row, updates] :
         {std::pair(&lazy, SimGridUpdates::kLazy), std::pair(&full, SimGridUpdates::kFull)}) {
      const SimGridRun theirs = RunOnSimGrid(problem, placement, order, updates);
      row->their_seconds.push_back(theirs.run_seconds);
      row->NoteRuntimes(ours.runtime, theirs.runtime_us);
    }
  }
  rows.push_back(lazy);
  rows.push_back(std::move(full));
  AddUsualRules(peer, lazy.their_seconds, ops, rows);
}

void CompareWithPublished(const Options& options, int ops, std::vector<Row>& rows) {
  const LoadedCase one({RandomDag(ops), StarName(4), "published", ""});
  const sim::Problem& problem = one.loaded.problem();
  const std::vector<sim::Placement> placements(one.placements.begin(),
                                               one.placements.begin() + options.placements);
  const auto simulator = sim::MakeSimulator(problem);
  Row row = MakeRow("Placeto's published simulator", "published", problem.graph());
  row.our_seconds = SecondsOf(*simulator, one.placements);
  const std::vector<PublishedRun> theirs = RunPublishedSimulator(options.published, problem, placements);
  for (std::size_t i = 0; i < placements.size(); ++i) {
    const sim::Outcome& ours = simulator->Run(placements[i]);
    row.their_seconds.push_back(theirs.at(i).seconds);
    row.NoteRuntimes(ours.runtime, theirs[i].runtime_us);
    for (std::size_t d = 0; d < ours.devices.size(); ++d) {
      if (ours.devices[d].peak != theirs[i].peak.at(d))
        throw RunError(fmt::format(
            "{} ops, placement {}: peak bytes of gpu{} are {} here and {} in the published simulator", ops, i,
            d, ours.devices[d].peak, theirs[i].peak[d]));
    }
  }
  rows.push_back(std::move(row));
}

std::string PrintTable(const std::vector<Row>& rows) {
  output::TextTable table("llrrrrrr", {"compared with", "stowplan's rules", "ops", "edges", "theirs", "ours",
                                       "times", "runtimes differ by"});
  for (const Row& row : rows) {
    const double ours = row.our_seconds, theirs = Median(row.their_seconds);
    const auto rate = [&](double seconds) {
      return output::RateText(static_cast<double>(row.ops) / seconds, "ops");
    };
    table.AddRow({row.peer, row.ours, output::CountText(row.ops), output::CountText(row.edges), rate(theirs),
                  rate(ours), fmt::format("{:.0f}", theirs / ours),
                  row.difference < 0 ? "other rules" : fmt::format("{:.1e}", row.difference)});
  }
  return table.ToString();
}

nlohmann::ordered_json PrintJson(const std::vector<Row>& rows) {
  nlohmann::ordered_json json;
  problem::AddProvenance(json);
  json["rows"] = nlohmann::json::array();
  for (const Row& row : rows) {
    json["rows"].push_back(
        {{"peer", row.peer},
         {"ours", row.ours},
         {"ops", row.ops},
         {"edges", row.edges},
         {"placements", row.their_seconds.size()},
         {"their_seconds", Median(row.their_seconds)},
         {"our_seconds", row.our_seconds},
         {"largest_difference",
          row.difference < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(row.difference)}});
  }
  return json;
}

void Compare(const Options& options) {
  std::vector<Row> rows;
  for (const int ops : options.ops) CompareWithSimGrid(options, ops, rows);
  for (const int ops : options.ops) {
    if (!options.published.empty()) CompareWithPublished(options, ops, rows);
  }
  if (options.json != "-") {
    std::fputs(PrintTable(rows).c_str(), stdout);
    if (options.published.empty())
      std::puts("The simulator published with Placeto was not run: --published names no checkout.");
  }
  if (!options.json.empty()) formats::WriteFile(options.json, PrintJson(rows).dump(1) + "\n");
}

}  // namespace
}  // namespace stowplan::bench

int main(int argc, char** argv) {
  using namespace stowplan;
  bench::Options options;
  CLI::App app("stowplan beside other simulators, on the same graphs and placements", "stowplan_compare");
  app.add_option("--ops", options.ops, "sizes of random_dag")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--placements", options.placements, "how many random ones a size")
      ->check(CLI::Range(1, 4))
      ->capture_default_str();
  app.add_option("--published", options.published,
                 "a checkout of Placeto's repository, whose simulator runs too");
  app.add_option("--json", options.json, "write JSON to this file; - is standard output");
  problem::RememberCommandLine(argc, argv, "stowplan_compare");
  try {
    app.parse(argc, argv);
    bench::Compare(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const InputError& error) {
    std::fprintf(stderr, "stowplan_compare: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stowplan_compare: %s\n", error.what());
    return 1;
  }
  return 0;
}
