// stowplan_screen_ranks: how well screens order placements, on rows of the tables, as Markdown. Of each row random placements,
// and neighbours of the best that local search finds in 400 samples, as a search asks about; runtimes alone.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "agents/agent.h"
#include "agents/evaluator.h"
#include "agents/placements.h"
#include "agents/random_numbers.h"
#include "agents/search/moves.h"
#include "agents/search/screening.h"
#include "agents/task.h"
#include "sim/base/error.h"
#include "sim/base/statistics.h"
#include "tables/table.h"
#include "tables/testbed.h"

namespace stowplan::bench {
namespace {

constexpr int kPlacements = 200;

struct Runtimes {
  std::vector<sim::Picos> simulated, screened;
};

struct Agreement {
  double kendall = 0, spearman = 0;
  double recall = 0;  // of the fastest tenth by simulation, how many are among the fastest tenth by screen
  double equal = 0;   // part whose two runtimes are the same
};

// Mean rank where values are equal.
std::vector<double> RanksOf(const std::vector<sim::Picos>& values) {
  std::vector<double> ranks;
  for (const sim::Picos value : values) {
    const auto below = std::ranges::count_if(values, [&](sim::Picos other) { return other < value; });
    const auto same = std::ranges::count(values, value);
    ranks.push_back(static_cast<double>(below) + static_cast<double>(same - 1) / 2);
  }
  return ranks;
}

// Pearson's correlation of two lists of ranks.
double Correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double mean = static_cast<double>(a.size() - 1) / 2;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean) * (b[i] - mean);
    aa += (a[i] - mean) * (a[i] - mean);
    bb += (b[i] - mean) * (b[i] - mean);
  }
  return ab / std::sqrt(aa * bb);
}

double Kendall(const Runtimes& runtimes) {
  return KendallTauB({runtimes.simulated.begin(), runtimes.simulated.end()},
                     {runtimes.screened.begin(), runtimes.screened.end()})
      .tau_b;
}

std::vector<std::size_t> FastestTenth(const std::vector<sim::Picos>& runtimes) {
  std::vector<std::size_t> order(runtimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return runtimes[i]; });
  order.resize(order.size() / 10);
  std::ranges::sort(order);
  return order;
}

Agreement AgreementOf(const Runtimes& runtimes) {
  Agreement agreement;
  agreement.kendall = Kendall(runtimes);
  agreement.spearman = Correlation(RanksOf(runtimes.simulated), RanksOf(runtimes.screened));
  const std::vector<std::size_t> truly = FastestTenth(runtimes.simulated);
  std::vector<std::size_t> both;
  std::ranges::set_intersection(truly, FastestTenth(runtimes.screened), std::back_inserter(both));
  agreement.recall = static_cast<double>(both.size()) / static_cast<double>(truly.size());
  int equal = 0;
  for (std::size_t i = 0; i < runtimes.simulated.size(); ++i)
    equal += runtimes.simulated[i] == runtimes.screened[i];
  agreement.equal = static_cast<double>(equal) / static_cast<double>(runtimes.simulated.size());
  return agreement;
}

Runtimes RunBoth(const agents::Task& task, const std::vector<agents::UnitPlacement>& placements) {
  Runtimes runtimes;
  agents::Evaluator evaluator(task, {.budget = kPlacements});
  for (const agents::Evaluation& evaluation : evaluator.EvaluateBatch(placements))
    runtimes.simulated.push_back(evaluation.runtime);
  for (const agents::Screened& screened : agents::Screening(task, evaluator, 1).Of(placements))
    runtimes.screened.push_back(screened.objective.runtime);
  return runtimes;
}

std::string PrintAgreement(const Runtimes& runtimes) {
  const Agreement a = AgreementOf(runtimes);
  return fmt::format(" {:.2f} | {:.2f} | {:.2f} | {:.0f} % |", a.kendall, a.spearman, a.recall,
                     100 * a.equal);
}

// Of the searches of a row.
void PrintRow(const std::string& table_name, const std::string& block_key, const std::string& line_key) {
  const tables::TableDefinition& table = tables::FindTable(table_name);
  const auto block = std::ranges::find(table.blocks, block_key, &tables::TableBlock::key);
  const auto line = std::ranges::find(block->lines, line_key, &tables::TableLine::key);
  const auto column = std::ranges::find(block->columns, "local_search", &tables::TableColumn::key);
  const auto loaded = tables::Testbed(tables::TestbedPath(table)).Load(*block, *line);
  const agents::Task task = agents::MakeTask(loaded->problem(), line->GrouperOf(*column),
                                             problem::SelectDevices(loaded->cluster(), column->devices));
  agents::Evaluator search(task, {.budget = 400});
  agents::MakeAgent("local_search")->Search(task, search, {});
  const agents::Moves moves(task);
  agents::Rng rng(1, "screen_ranks");
  std::vector<agents::UnitPlacement> random, neighbours;
  for (int i = 0; i < kPlacements; ++i) {
    random.push_back(agents::UniformPlacement(task, rng));
    neighbours.push_back(moves.Neighbour(search.has_best() ? search.best() : random.front(), rng));
  }
  fmt::print("| {}, {}, {} |{}{}\n", table_name, block_key, line_key, PrintAgreement(RunBoth(task, random)),
             PrintAgreement(RunBoth(task, neighbours)));
  std::fflush(stdout);
}

}  // namespace
}  // namespace stowplan::bench

int main() {
  using stowplan::bench::PrintRow;
  try {
    fmt::print(
        "| table, rules, row | tau | rho | recall | equal | tau | rho | recall | equal |\n"
        "|---|---|---|---|---|---|---|---|---|\n");
    for (const char* line : {"inception_v3_2", "inception_v3_4", "nmt_2", "nmt_4", "nasnet_2", "nasnet_4"})
      PrintRow("placeto", "native", line);
    PrintRow("placeto-generalization", "cifar10", "cifar10_1");
    for (const char* line : {"inception_v3", "rnnlm", "nmt_2", "nmt_4", "nmt_8"})
      PrintRow("hierarchical", "native", line);
    for (const char* line : {"gnmt_2", "gnmt_4", "gnmt_8"}) PrintRow("sgdp", "native", line);
    PrintRow("hierarchical", "process", "nmt_4");
    PrintRow("hierarchical", "blocking", "rnnlm");
    PrintRow("placeto", "published", "inception_v3_4");
  } catch (const stowplan::InputError& error) {
    std::fprintf(stderr, "stowplan_screen_ranks: %s\n", error.what());
    return 2;
  }
  return 0;
}
