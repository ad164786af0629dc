#include "agents/linear_program.h"

#include <cstddef>
#include <memory>

#include <coin/Clp_C_Interface.h>

#include "sim/error.h"

namespace berth::agents {

std::int32_t LinearProgram::AddColumn(double lower_bound, double upper_bound, double cost_of_one) {
  lower.push_back(lower_bound);
  upper.push_back(upper_bound);
  cost.push_back(cost_of_one);
  return static_cast<std::int32_t>(cost.size() - 1);
}

std::int32_t LinearProgram::AddRow(double at_least_this) {
  at_least.push_back(at_least_this);
  return static_cast<std::int32_t>(at_least.size() - 1);
}

namespace {

// The entries as Clp wants them, column by column.
struct Columns {
  explicit Columns(const LinearProgram& program)
      : begin(program.cost.size() + 1, 0), row(program.entries.size()), value(program.entries.size()) {
    for (const LinearProgram::Entry& entry : program.entries)
      ++begin[static_cast<std::size_t>(entry.column) + 1];
    for (std::size_t column = 1; column < begin.size(); ++column) begin[column] += begin[column - 1];
    std::vector<CoinBigIndex> next(begin.begin(), begin.end() - 1);
    for (const LinearProgram::Entry& entry : program.entries) {
      const auto place = static_cast<std::size_t>(next[static_cast<std::size_t>(entry.column)]++);
      row[place] = entry.row;
      value[place] = entry.value;
    }
  }
  std::vector<CoinBigIndex> begin;
  std::vector<int> row;
  std::vector<double> value;
};

}  // namespace

std::vector<double> Minimise(const LinearProgram& program) {
  const Columns columns(program);
  const std::vector<double> no_limit(program.at_least.size(), LinearProgram::kInfinity);
  const std::unique_ptr<Clp_Simplex, void (*)(Clp_Simplex*)> solver(Clp_newModel(), Clp_deleteModel);
  Clp_setLogLevel(solver.get(), 0);
  Clp_loadProblem(solver.get(), static_cast<int>(program.cost.size()),
                  static_cast<int>(program.at_least.size()), columns.begin.data(), columns.row.data(),
                  columns.value.data(), program.lower.data(), program.upper.data(), program.cost.data(),
                  program.at_least.data(), no_limit.data());
  Clp_initialDualSolve(solver.get());
  if (Clp_status(solver.get()) != 0) {
    throw RunError("the solver of linear programs found no optimum: Clp ended with status " +
                   std::to_string(Clp_status(solver.get())));
  }
  const double* x = Clp_primalColumnSolution(solver.get());
  return {x, x + program.cost.size()};
}

}  // namespace berth::agents
