#include "agents/classical/linear_program.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>

#include <coin/Clp_C_Interface.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include "sim/base/error.h"
#include "sim/base/parallel.h"

namespace stowplan::agents {

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

constexpr char kLibrary[] = "libClp.so.1";

// Clp brings LAPACK, mostly OpenBLAS, which asks for 128 MiB a core while it is opened, twice at least. Where it gets none it asks
// for ever, and hears no signal.
void CheckRoom() {
  constexpr std::size_t kOfCore = std::size_t{128} << 20;
  constexpr std::size_t kLibraries = std::size_t{64} << 20;
  const std::size_t room = kOfCore * static_cast<std::size_t>(std::max(2, ResolveThreads(0))) + kLibraries;
  void* const there =
      mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (there == MAP_FAILED) {
    throw RunError(
        fmt::format("a linear program needs {} MiB of address space to start COIN-OR's Clp, and this process "
                    "may not have "
                    "them (`ulimit -v` shows its limit)",
                    room >> 20));
  }
  munmap(there, room);
}

void* OpenClp() {
  CheckRoom();
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  throw RunError(
      std::string("a linear program needs COIN-OR's Clp (Debian: coinor-libclp1), which cannot be opened: ") +
      dlerror());
}

template <typename Function>
Function* Find(void* library, const char* name) {
  void* const symbol = dlsym(library, name);
  if (symbol == nullptr) throw RunError(std::string(kLibrary) + " has no " + name);
  return reinterpret_cast<Function*>(symbol);
}

// What is used of Clp. Opened when it is first needed and never closed: it brings LAPACK, which would cost every
// command 20 ms at its start.
struct Clp {
  void* library = OpenClp();
  decltype(Clp_newModel)* new_model = Find<decltype(Clp_newModel)>(library, "Clp_newModel");
  decltype(Clp_deleteModel)* delete_model = Find<decltype(Clp_deleteModel)>(library, "Clp_deleteModel");
  decltype(Clp_setLogLevel)* set_log_level = Find<decltype(Clp_setLogLevel)>(library, "Clp_setLogLevel");
  decltype(Clp_loadProblem)* load_problem = Find<decltype(Clp_loadProblem)>(library, "Clp_loadProblem");
  decltype(ClpSolve_new)* new_way = Find<decltype(ClpSolve_new)>(library, "ClpSolve_new");
  decltype(ClpSolve_delete)* delete_way = Find<decltype(ClpSolve_delete)>(library, "ClpSolve_delete");
  decltype(ClpSolve_setSolveType)* set_method =
      Find<decltype(ClpSolve_setSolveType)>(library, "ClpSolve_setSolveType");
  decltype(ClpSolve_setSpecialOption)* set_option =
      Find<decltype(ClpSolve_setSpecialOption)>(library, "ClpSolve_setSpecialOption");
  decltype(Clp_initialSolveWithOptions)* solve =
      Find<decltype(Clp_initialSolveWithOptions)>(library, "Clp_initialSolveWithOptions");
  decltype(Clp_status)* status = Find<decltype(Clp_status)>(library, "Clp_status");
  decltype(Clp_primalColumnSolution)* solution =
      Find<decltype(Clp_primalColumnSolution)>(library, "Clp_primalColumnSolution");
};

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

const Clp& TheClp() {
  static const Clp clp;
  return clp;
}

}  // namespace

void RequireSolver() {
  TheClp();
}

std::vector<double> Minimise(const LinearProgram& program) {
  const Clp& clp = TheClp();
  const Columns columns(program);
  const std::vector<double> no_limit(program.at_least.size(), LinearProgram::kInfinity);
  const std::unique_ptr<Clp_Simplex, decltype(clp.delete_model)> model(clp.new_model(), clp.delete_model);
  clp.set_log_level(model.get(), 0);
  clp.load_problem(model.get(), static_cast<int>(program.cost.size()),
                   static_cast<int>(program.at_least.size()), columns.begin.data(), columns.row.data(),
                   columns.value.data(), program.lower.data(), program.upper.data(), program.cost.data(),
                   program.at_least.data(), no_limit.data());
  const std::unique_ptr<Clp_Solve, decltype(clp.delete_way)> way(clp.new_way(), clp.delete_way);
  constexpr int kDualSimplex = 0;  // 8 times as fast as the primal one on 11,000 ops
  // Else it takes Ctrl-C for itself, and of two programs at once one leaves its handler behind for good.
  constexpr int kInterrupts = 2, kLeftAlone = 1;
  clp.set_method(way.get(), kDualSimplex, -1);
  clp.set_option(way.get(), kInterrupts, kLeftAlone, -1);
  clp.solve(model.get(), way.get());
  if (const int status = clp.status(model.get()); status != 0)
    throw RunError("Clp found no optimum of a linear program: it ended with status " +
                   std::to_string(status));
  const double* const x = clp.solution(model.get());
  return {x, x + program.cost.size()};
}

}  // namespace stowplan::agents
