#include "tables/derive/robustness.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "agents/random_numbers.h"
#include "output/csv.h"
#include "output/interrupt.h"
#include "problem/loaded_problem.h"
#include "sim/base/error.h"
#include "sim/base/parallel.h"
#include "tables/kept_placement.h"
#include "tables/testbed.h"

namespace stowplan::tables {
namespace {

// False of a block of rules alone: no field in which placements compete.
bool HasSearch(const TableBlock& block) {
  return std::ranges::any_of(block.columns, &TableColumn::sampled);
}

const std::vector<std::string> kFixedFields = {"table", "block", "row",      "column",
                                               "agent", "seed",  "scenario", "runtime_us"};

std::vector<std::string> Header() {
  std::vector<std::string> header = kFixedFields;
  for (const RobustVariant& variant : RobustVariants()) header.push_back(fmt::format("{}_us", variant.key));
  header.emplace_back("costs_us");
  return header;
}

// Changes the rules of a cluster; false where they are like that already.
bool Apply(const std::string& variant, sim::Cluster& cluster) {
  const auto set = [](auto& field, const auto& value) {
    const bool differs = field != value;
    field = value;
    return differs;
  };
  if (variant == "native") return set(cluster.rules, sim::Rules::kNative);
  if (cluster.rules != sim::Rules::kNative) return false;  // the other rules know none of these
  using sim::Dispatch;
  if (variant == "ready") return set(cluster.dispatch.order, Dispatch::Order::kReady);
  if (variant == "program") return set(cluster.dispatch.order, Dispatch::Order::kProgram);
  if (variant == "process") return set(cluster.dispatch.per, Dispatch::Per::kProcess);
  if (variant == "device") return set(cluster.dispatch.per, Dispatch::Per::kDevice);
  return set(cluster.interconnect, variant);
}

// One factor for each pair of op type and device kind: a cost model is wrong by kinds of ops, not by ops, and
// errors of single ops would cancel over thousands of them.
sim::CostTable Perturbed(const sim::Problem& problem, int draw) {
  sim::CostTable costs = problem.costs();
  agents::Rng rng(static_cast<std::uint64_t>(draw + 1), "robustness");
  std::map<std::pair<std::string, std::string>, double> factors;
  const sim::OpGraph& graph = problem.graph();
  std::vector<std::string> kinds(static_cast<std::size_t>(costs.columns()));  // by column
  for (sim::DeviceIndex d = 0; d < problem.cluster().size(); ++d) {
    kinds[static_cast<std::size_t>(costs.ColumnOf(d))] =
        problem.cluster().devices[static_cast<std::size_t>(d)].kind;
  }
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    for (std::size_t column = 0; column < kinds.size(); ++column) {
      const auto [factor, is_new] = factors.try_emplace({graph.ops[op].type, kinds[column]}, 1);
      if (is_new) factor->second = 1 - kCostSpread + 2 * kCostSpread * rng.Uniform();
      sim::Picos& picos = costs.picos[op * kinds.size() + column];
      picos = std::llround(static_cast<double>(picos) * factor->second);
    }
  }
  return costs;
}

// The final placements of one row of a table.
struct LineJob {
  const TableDefinition* table;
  const TableBlock* block;
  const TableLine* line;
  std::vector<const CellRecord*> cells;
};

std::optional<double> Simulate(const sim::Problem& problem, const sim::Placement& placement) {
  const auto simulator = sim::MakeSimulator(problem);
  const sim::Outcome& outcome = simulator->Run(placement);
  if (!outcome.feasible()) return std::nullopt;
  return sim::ToMicros(outcome.runtime);
}

std::vector<RobustRecord> Evaluate(const LineJob& job, const Testbed& testbed) {
  const auto loaded = testbed.Load(*job.block, *job.line);
  std::vector<RobustRecord> records;
  std::vector<sim::Placement> placements;
  for (const CellRecord* cell : job.cells) {
    const auto column = std::find_if(job.block->columns.begin(), job.block->columns.end(),
                                     [&](const TableColumn& c) { return c.key == cell->column; });
    const agents::Task task = agents::MakeTask(loaded->problem(), cell->units,
                                               problem::SelectDevices(loaded->cluster(), column->devices));
    const std::string where =
        fmt::format("rows.csv of {}: {}:{}/{}", job.table->name, cell->block, cell->row, cell->column);
    placements.push_back(agents::Expand(task, ReadKeptPlacement(cell->placement, task, where)));
    records.push_back({job.table->name,
                       cell->block,
                       cell->row,
                       cell->column,
                       cell->agent,
                       cell->seed,
                       cell->scenario,
                       *cell->runtime_us,
                       {},
                       {}});
    // A testbed or builder that has changed since would be taken for a loss.
    const auto again = Simulate(loaded->problem(), placements.back());
    if (!again || std::abs(*again - *cell->runtime_us) > 1e-6 * *cell->runtime_us) {
      throw InputError(fmt::format(
          "{}: its placement takes {} here, not {} us: the rows belong to another testbed or version; run "
          "the "
          "cell again.",
          where, again ? fmt::format("{} us", *again) : "more memory than there is", *cell->runtime_us));
    }
  }
  for (const RobustVariant& variant : RobustVariants()) {
    sim::Cluster cluster = loaded->cluster();
    const bool differs = Apply(variant.key, cluster);
    const problem::LoadedProblem changed(loaded->graph(), std::move(cluster), testbed.cost_model());
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (!differs) {
        records[i].variant_us.emplace_back("same");
        continue;
      }
      const auto runtime = Simulate(changed.problem(), placements[i]);
      records[i].variant_us.push_back(runtime ? fmt::format("{}", *runtime) : "oom");
    }
  }
  for (int draw = 0; draw < kCostDraws; ++draw) {
    const sim::Problem changed(loaded->graph(), loaded->cluster(), Perturbed(loaded->problem(), draw),
                               loaded->problem().collective_prices());
    for (std::size_t i = 0; i < records.size(); ++i)
      records[i].costs_us.push_back(Simulate(changed, placements[i]));
  }
  return records;
}

std::vector<LineJob> JobsOf(const std::vector<TableResults>& tables) {
  std::vector<LineJob> jobs;
  for (const TableResults& results : tables) {
    for (const TableBlock& block : results.table().blocks) {
      if (!HasSearch(block)) continue;
      for (const TableLine& line : block.lines) {
        LineJob job{&results.table(), &block, &line, {}};
        for (const TableColumn& column : block.columns) {
          for (const CellRecord& record : results.At(block.key, line.key, column.key).records) {
            if (record.runtime_us && !record.placement.empty()) job.cells.push_back(&record);
          }
        }
        if (!job.cells.empty()) jobs.push_back(std::move(job));
      }
    }
  }
  return jobs;
}

}  // namespace

const std::vector<RobustVariant>& RobustVariants() {
  static const std::vector<RobustVariant> variants = {
      {"fifo", "a link serves one transfer at a time"},
      {"fair", "transfers share links equally"},
      {"ideal", "transfers do not disturb one another"},
      {"ready", "ops are issued as they become ready"},
      {"program", "ops are issued in program order"},
      {"process", "one host thread issues for all devices"},
      {"device", "one host thread issues for each device"},
      {"native", "stowplan's own rules, for placements found in those of the published simulator"},
  };
  return variants;
}

std::string EvaluateRobustness(const std::vector<TableResults>& tables, const DerivedOptions& options) {
  std::map<std::string, std::unique_ptr<Testbed>> testbeds;
  const std::vector<LineJob> jobs = JobsOf(tables);
  for (const LineJob& job : jobs) {
    std::unique_ptr<Testbed>& testbed = testbeds[job.table->name];
    if (!testbed) testbed = std::make_unique<Testbed>(TestbedPath(*job.table));
  }
  std::vector<std::vector<RobustRecord>> found(jobs.size());
  std::mutex reporting;
  std::int64_t done = 0;
  ParallelFor(jobs.size(), ResolveThreads(options.threads), [&](std::size_t item, int) {
    if (options.stop != nullptr && options.stop->load()) return;
    found[item] = Evaluate(jobs[item], *testbeds.at(jobs[item].table->name));
    const std::lock_guard<std::mutex> lock(reporting);
    if (options.on_part) options.on_part(++done, static_cast<std::int64_t>(jobs.size()));
  });
  if (options.stop != nullptr && options.stop->load()) {
    throw output::Interrupted(fmt::format(
        "stopped after {} of {} rows; they are not kept, the same call begins anew.", done, jobs.size()));
  }
  std::vector<RobustRecord> records;
  for (std::vector<RobustRecord>& line : found)
    std::move(line.begin(), line.end(), std::back_inserter(records));
  return PrintRobustRows(records);
}

std::string PrintRobustRows(const std::vector<RobustRecord>& records) {
  std::string text = output::PrintCsvLine(Header());
  for (const RobustRecord& record : records) {
    output::CsvLine line = {record.table,    record.block,
                            record.row,      record.column,
                            record.agent,    std::to_string(record.seed),
                            record.scenario, fmt::format("{}", record.runtime_us)};
    line.insert(line.end(), record.variant_us.begin(), record.variant_us.end());
    std::string costs;
    for (const auto& runtime : record.costs_us)
      costs += (costs.empty() ? "" : " ") + (runtime ? fmt::format("{}", *runtime) : std::string("oom"));
    line.push_back(costs);
    text += output::PrintCsvLine(line);
  }
  return text;
}

std::vector<RobustRecord> ParseRobustRows(const std::string& text) {
  const std::string source = "rows.csv of robustness";
  const std::vector<output::CsvLine> lines = output::ParseCsv(text, source);
  if (lines.empty() || lines.front() != Header())
    throw InputError(
        source +
        ": the header is not that of this version; `stowplan table derive robustness` writes them anew.");
  std::vector<RobustRecord> records;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const output::CsvLine& line = lines[i];
    const std::string where = fmt::format("{}: row {}", source, i);
    if (line.size() != lines.front().size())
      throw InputError(
          fmt::format("{} has {} fields, {} are wanted.", where, line.size(), lines.front().size()));
    RobustRecord record{line[0], line[1],
                        line[2], line[3],
                        line[4], output::ParseWholeNumber(line[5], where),
                        line[6], output::ParseMeasured(line[7], where),
                        {},      {}};
    const auto variants = line.begin() + static_cast<std::ptrdiff_t>(kFixedFields.size());
    record.variant_us.assign(variants, line.end() - 1);
    for (const std::string& runtime : record.variant_us) {
      if (runtime != "oom" && runtime != "same") output::ParseMeasured(runtime, where);
    }
    for (std::size_t at = 0; at < line.back().size();) {
      const std::size_t end = std::min(line.back().find(' ', at), line.back().size());
      const std::string runtime = line.back().substr(at, end - at);
      record.costs_us.push_back(runtime == "oom" ? std::nullopt
                                                 : std::optional(output::ParseMeasured(runtime, where)));
      at = end + 1;
    }
    if (record.costs_us.size() != kCostDraws) {
      throw InputError(
          fmt::format("{} has {} draws of costs, {} are wanted.", where, record.costs_us.size(), kCostDraws));
    }
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace stowplan::tables
