// Fits a handful of cost parameters to published step times: what `stowplan calibrate --table` needs
// (docs/protocol_rules.md#fitted).
//
// Minimises the sum of squared logarithms of simulated / published over the cells. A cell is a callback: it
// gets a value for each parameter (an efficiency of a device kind and op class, a dispatch cost) and returns
// simulated seconds. There are no parameters of single rows, so where cells outnumber parameters residuals
// stay, and are the result.
//
// How: a coarse scan along each parameter in turn, damped Gauss-Newton steps in the logarithms of the
// parameters with central differences, then a pattern search that halves its steps, since simulated times
// have kinks (a roofline's maximum, a changed order of ops) where derivatives mislead. No randomness; same
// input, same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace stowplan::cost_models {

struct FitParameter {
  std::string name;  // "k40.gemm", "k40.dispatch_us"
  double start = 0;  // 0 < low <= start <= high
  double low = 0;
  double high = 0;
};

struct FitCell {
  std::string name;  // "resnet_152, single GPU"
  double published_seconds = 0;
  // Values in the order of the parameters. Must be pure; called from several threads at once if
  // FitOptions::threads allows, for different cells only.
  std::function<double(std::span<const double>)> simulate;  // seconds, > 0
};

struct FitOptions {
  int max_iterations = 40;  // Gauss-Newton steps
  double tolerance = 1e-4;  // stop when steps fall below this in ln(parameter)
  int threads = 1;          // over cells; 0 = one per core
};

struct FittedParameter {
  std::string name;
  double value = 0;
  // Norm over cells of d ln(simulated) / d ln(parameter) at the solution. 0: locally without effect.
  double sensitivity = 0;
  bool identified = true;  // some cell depends on it somewhere within its bounds
  bool at_bound = false;   // the optimum wants to leave [low, high]
};

struct CellResidual {
  std::string name;
  double published_seconds = 0;
  double simulated_seconds = 0;
  double log_ratio = 0;  // ln(simulated / published)
};

struct TableFit {
  std::vector<FittedParameter> parameters;  // in the order given
  std::vector<CellResidual> cells;          // in the order given
  double rms_log_ratio = 0;
  double median_relative_error = 0;  // median of |simulated / published - 1|
  // Ratio of the largest to the smallest singular value of the sensitivities of the identified parameters,
  // each column scaled to length 1. Beyond about 100 only combinations of parameters are determined.
  double condition = 1;
  std::vector<std::string> notes;  // sentences about parameters that the cells do not determine
  int iterations = 0;
  std::int64_t evaluations = 0;  // calls of all callbacks
  bool converged = false;
};

// A parameter that no cell depends on keeps its start value and is noted. Throws InputError for no cells, bad
// bounds or a published time that is not positive, and RunError naming the cell whose callback returns
// something else than a positive finite number.
TableFit FitTable(const std::vector<FitParameter>& parameters, const std::vector<FitCell>& cells,
                  const FitOptions& options = {});

}  // namespace stowplan::cost_models
