#include "tables/run/calibration.h"

#include <cmath>
#include <filesystem>
#include <memory>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "agents/agent.h"
#include "output/console.h"
#include "problem/loaded_problem.h"
#include "problem/provenance.h"
#include "scenarios/clusters/framework.h"
#include "scenarios/scenarios.h"
#include "sim/base/error.h"
#include "tables/testbed.h"

namespace stowplan::tables {
namespace {

using cost_models::FitCell;
using cost_models::FitParameter;
using cost_models::KindParameters;

// A fitted cell, as the table runs it.
struct FittedCell {
  std::string name;
  double published_seconds = 0;
  sim::OpGraph graph;
  sim::Cluster cluster;
  std::string agent;
  std::string grouper;
  std::vector<std::string> devices;
};

// The catalogue's number where nothing is fitted yet: the start of a parameter.
double StartOf(const TableParameter& parameter) {
  const cost_models::Catalogue& catalogue = cost_models::BuiltinCatalogue();
  const cost_models::DeviceSheet* sheet = catalogue.FindSheet(parameter.kind);
  STOWPLAN_CHECK(sheet != nullptr);
  const double start = parameter.classes.empty()
                           ? sim::ToMicros(sheet->kind.launch_cost)
                           : catalogue.Efficiency(*cost_models::OpClassNamed(parameter.classes.front()),
                                                  sheet->kind.device_class);
  return std::clamp(start, parameter.low, parameter.high);
}

std::unique_ptr<FittedCell> MakeCell(const TableBlock& block, const TableLine& line,
                                     const TableColumn& column, double published) {
  auto cell = std::make_unique<FittedCell>();
  cell->name = fmt::format("{}, {}", line.title, column.title);
  cell->published_seconds = published;
  const auto loaded = Testbed("").Load(block, line);
  cell->graph = loaded->graph();
  cell->cluster = loaded->cluster();
  cell->agent = line.AgentOf(column);
  cell->grouper = line.GrouperOf(column);
  cell->devices = problem::SelectDevices(cell->cluster, column.devices);
  return cell;
}

std::vector<std::unique_ptr<FittedCell>> CollectCells(const TableDefinition& table,
                                                      std::vector<std::string>& left_out) {
  std::vector<std::unique_ptr<FittedCell>> cells;
  // A number repeated in several rows of one model is one measurement.
  std::set<std::tuple<std::string, std::string>> taken;
  for (const TableBlock& block : table.blocks) {
    for (const TableLine& line : block.lines) {
      for (const TableColumn& column : block.columns) {
        if (!line.IsFitted(column) || !taken.insert({line.model, column.key}).second) continue;
        const auto number = line.published.find(column.key);
        STOWPLAN_CHECK(number != line.published.end() && number->second.value);
        if (const std::string why = CannotRun(line); !why.empty()) {
          left_out.push_back(fmt::format("{}, {}: {}", line.title, column.title, why));
        } else {
          cells.push_back(MakeCell(block, line, column, *number->second.value));
        }
      }
    }
  }
  return cells;
}

// `library`: gets where the numbers come from.
std::vector<KindParameters> Borrow(const TableDefinition& table, const std::string& results,
                                   std::string& library) {
  std::vector<KindParameters> borrowed;
  for (const BorrowedRates& rates : table.borrowed) {
    const std::string path = (std::filesystem::path(results) / rates.table / "testbed.json").string();
    const std::string first =
        fmt::format("table {} takes the rates of {} from there: run `stowplan calibrate --table {}` first",
                    table.name, rates.kind, rates.table);
    if (!std::filesystem::exists(path)) throw InputError(fmt::format("{} does not exist; {}.", path, first));
    const cost_models::Parameters there = cost_models::ReadParameters(path, cost_models::BuiltinCatalogue());
    const KindParameters* kind = there.Find(rates.kind);
    if (kind == nullptr || kind->efficiency.empty())
      throw InputError(fmt::format("{} has no efficiencies of {}; {}.", path, rates.kind, first));
    borrowed.emplace_back();
    borrowed.back().kind = rates.as_kind;
    borrowed.back().efficiency = kind->efficiency;
    library += fmt::format("; efficiencies of {}: fitted for table {}, commit {}", rates.as_kind, rates.table,
                           there.provenance.commit);
  }
  return borrowed;
}

// The cost model that a set of values stands for.
std::string ModelSpec(const TableDefinition& table, const std::vector<KindParameters>& borrowed,
                      std::span<const double> values) {
  std::vector<std::string> shares;
  for (const KindParameters& kind : borrowed) {
    for (const auto& [op_class, number] : kind.efficiency)
      shares.push_back(fmt::format("{}.{}={}", kind.kind, cost_models::ToString(op_class), number.value));
  }
  for (std::size_t p = 0; p < values.size(); ++p) {
    for (const std::string& op_class : table.parameters[p].classes)
      shares.push_back(fmt::format("{}.{}={}", table.parameters[p].kind, op_class, values[p]));
  }
  return fmt::format("analytic({})", fmt::join(shares, ","));
}

// Where the agent puts the ops under these very prices: rules that cut a graph into parts of equal cost put
// them elsewhere under others, and the table cuts with the fitted ones.
double SimulateSeconds(const TableDefinition& table, const std::vector<KindParameters>& borrowed,
                       const FittedCell& cell, std::span<const double> values) {
  sim::Cluster cluster = cell.cluster;
  for (std::size_t p = 0; p < values.size(); ++p) {
    if (!table.parameters[p].classes.empty()) continue;
    for (sim::Device& device : cluster.devices) {
      if (device.kind == table.parameters[p].kind) device.launch_cost = sim::FromMicros(values[p]);
    }
  }
  scenarios::FillFromFramework(cluster, cell.graph);
  const auto model = cost_models::MakeCostModel(ModelSpec(table, borrowed, values));
  const sim::Problem problem(cell.graph, cluster, sim::PriceOps(cell.graph, cluster, *model));
  const agents::Task task = agents::MakeTask(problem, cell.grouper, cell.devices);
  agents::Evaluator evaluator(task, {.budget = 1});
  sim::Picos runtime = 0;
  evaluator.observer = [&](std::int64_t, const agents::UnitPlacement&, const agents::Evaluation& evaluation) {
    runtime = evaluation.runtime;
  };
  agents::MakeAgent(cell.agent)->Search(task, evaluator, {});
  return sim::ToMicros(runtime) / 1e6;
}

cost_models::Parameters ToParameters(const TableDefinition& table,
                                     const std::vector<KindParameters>& borrowed, const std::string& library,
                                     const cost_models::TableFit& fit) {
  const problem::Provenance now = problem::CurrentProvenance();
  cost_models::Parameters parameters;
  parameters.name = table.name + " testbed";
  const std::string published = "published: " + table.title;
  parameters.provenance = {published,
                           published,
                           library,
                           now.date.substr(0, 10),
                           now.RevisionText(),
                           fmt::format("stowplan calibrate --table {}", table.name)};
  parameters.kinds = borrowed;
  for (std::size_t p = 0; p < fit.parameters.size(); ++p) {
    const TableParameter& what = table.parameters[p];
    if (!fit.parameters[p].identified) continue;  // nothing depends on it: the catalogue's number stays
    cost_models::FittedNumber number;
    number.value = fit.parameters[p].value;
    number.evidence.samples = static_cast<std::int64_t>(fit.cells.size());
    number.evidence.fit_error = fit.rms_log_ratio;
    auto kind = std::find_if(parameters.kinds.begin(), parameters.kinds.end(),
                             [&](const auto& k) { return k.kind == what.kind; });
    if (kind == parameters.kinds.end()) {
      parameters.kinds.emplace_back();
      kind = parameters.kinds.end() - 1;
      kind->kind = what.kind;
    }
    if (what.classes.empty()) kind->dispatch_us = number;
    for (const std::string& op_class : what.classes)
      kind->efficiency[*cost_models::OpClassNamed(op_class)] = number;
  }
  return parameters;
}

std::string ParameterMeaning(const TableParameter& parameter) {
  if (parameter.classes.empty()) return "host time to issue one framework op [us]";
  return "share of the peak rate: " + JoinNames(parameter.classes);
}

}  // namespace

Calibration CalibrateTable(const TableDefinition& table, const CalibrationOptions& options) {
  Calibration calibration;
  std::string library = "published: " + table.title;
  calibration.borrowed = Borrow(table, options.results, library);
  const auto cells = CollectCells(table, calibration.left_out);
  if (cells.empty())
    throw InputError(fmt::format("table {} has no fitted cell that can be run.", table.name));
  std::vector<FitParameter> parameters;
  for (const TableParameter& p : table.parameters)
    parameters.push_back({p.name(), StartOf(p), p.low, p.high});
  std::vector<FitCell> fit_cells;
  for (const auto& cell : cells) {
    fit_cells.push_back(
        {cell->name, cell->published_seconds, [&table, &calibration, &cell](std::span<const double> values) {
           return SimulateSeconds(table, calibration.borrowed, *cell, values);
         }});
  }
  cost_models::FitOptions fit_options;
  fit_options.threads = options.threads;
  calibration.fit = cost_models::FitTable(parameters, fit_cells, fit_options);
  calibration.parameters = ToParameters(table, calibration.borrowed, library, calibration.fit);
  return calibration;
}

std::string PrintCalibration(const TableDefinition& table, const Calibration& calibration) {
  const cost_models::TableFit& fit = calibration.fit;
  std::string text =
      fmt::format("# The testbed of table {}\n\n{}, fitted by `stowplan calibrate --table {}`.\n\n",
                  table.name, table.title, table.name);
  text += fmt::format(
      "{} parameter{}, {} cell{}, root mean square of ln(simulated / published) {:.3f}, median distance "
      "{:.1f} "
      "%, condition "
      "{:.3g}, {} simulations, {}.\n\n",
      fit.parameters.size(), fit.parameters.size() == 1 ? "" : "s", fit.cells.size(),
      fit.cells.size() == 1 ? "" : "s", fit.rms_log_ratio, 100 * fit.median_relative_error, fit.condition,
      fit.evaluations, fit.converged ? "converged" : "not converged");
  text += "| parameter | value | what it is | sensitivity | remark |\n|---|---|---|---|---|\n";
  for (std::size_t p = 0; p < fit.parameters.size(); ++p) {
    const cost_models::FittedParameter& fitted = fit.parameters[p];
    const char* remark = !fitted.identified ? "no cell depends on it: the catalogue's number stays"
                                            : (fitted.at_bound ? "at its bound" : "");
    text += fmt::format("| {} | {:.4g} | {} | {:.2f} | {} |\n", fitted.name, fitted.value,
                        ParameterMeaning(table.parameters[p]), fitted.sensitivity, remark);
  }
  for (std::size_t b = 0; b < table.borrowed.size(); ++b) {
    for (const auto& [op_class, number] : calibration.borrowed[b].efficiency) {
      text += fmt::format(
          "| {}.{} | {:.4g} | share of the peak rate | – | from the testbed of table {}, not fitted here |\n",
          calibration.borrowed[b].kind, cost_models::ToString(op_class), number.value,
          table.borrowed[b].table);
    }
  }
  text += "\n| fitted cell | published [s] | simulated [s] | distance |\n|---|---|---|---|\n";
  for (const cost_models::CellResidual& cell : fit.cells) {
    text += fmt::format("| {} | {} | {} | {:+.1f} % |\n", cell.name, cell.published_seconds,
                        output::SecondsDigits(cell.simulated_seconds),
                        100 * (cell.simulated_seconds / cell.published_seconds - 1));
  }
  if (!fit.notes.empty() || !calibration.left_out.empty()) text += "\n";
  for (const std::string& note : fit.notes) text += "- " + note + "\n";
  for (const std::string& cell : calibration.left_out) text += "- left out: " + cell + "\n";
  return text;
}

}  // namespace stowplan::tables
