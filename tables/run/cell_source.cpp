#include "tables/run/cell_source.h"

#include <fmt/format.h>

#include "problem/loaded_problem.h"
#include "sim/base/error.h"

namespace stowplan::tables {

agents::Task CellSource::MakeTask(const problem::LoadedProblem& loaded, const CellPlan& plan) const {
  return agents::MakeTask(loaded.problem(), plan.grouper,
                          problem::SelectDevices(loaded.cluster(), plan.column->devices));
}

std::string TableCells::CannotRun(const TableLine& line) const {
  return tables::CannotRun(line);
}

std::unique_ptr<problem::LoadedProblem> TableCells::Load(const TableBlock& block,
                                                         const TableLine& line) const {
  try {
    return testbed_.Load(block, line);
  } catch (const InputError& error) {
    if (table_.path.empty()) throw;
    throw InputError(fmt::format("{}: {}", line.place, error.what()));
  }
}

std::string TableCells::RepeatCommand(const CellPlan& plan) const {
  std::string command = fmt::format("stowplan table run {} --cells {}:{}/{}", table_.called(),
                                    plan.block->key, plan.line->key, plan.column->key);
  if (plan.size != BudgetSize::kStandard) command += fmt::format(" --budget {}", ToString(plan.size));
  if (plan.column->sampled) command += fmt::format(" --samples {} --seeds {}", plan.budget, plan.seed);
  return command;
}

}  // namespace stowplan::tables
