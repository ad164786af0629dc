// Parameters from tables of measured ops: the tables of ratio_tables.h for each device kind, and, of two kinds or more,
// one set for GPUs that nobody measured.
//
// A time between two events around an op holds the host's share: while the device idles the host works on what comes
// next, so the smallest ops all take the same floor. Per op, of element-wise ones by their tensors: floor = median of
// the rows below 1.15 times their lowest percentile, at most twice the least floor of the kind, since large ops show
// none; what is taken off every row is the intercept of time over bytes of the element-wise ops as a share of their
// floor (half of the floor where there are none). Both are told by rows that are not held out. Rows below 1.25 times
// the floor say nothing of the device. For a GPU that is left out both are the medians of the others'.
//
// Rows whose table says `# time: device` hold no host: nothing is taken off, and the shortest of a family says how long a
// kernel of it lasts at least.
//
// What stands for a GPU that nobody measured was chosen by leaving each of the fit's own GPUs out: for contractions the
// tables of all rows together, for families that move bytes the median of what the GPUs' own tables say.
//
// Held out is a fifth of the shapes, told by a hash of the shape: whatever the order of the rows, and all repeats of a
// shape together.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cost_models/calibration/row_samples.h"
#include "cost_models/parameters/parameters.h"

namespace stowplan::cost_models {

struct RowsFitOptions {
  KindsOfRows kinds;
  std::string name;  // of the parameters; else the machine's
  std::string command;
  std::string commit;
  std::function<void(const std::string& what)> progress;  // may be empty
};

// One op of one device kind. Errors are of predicted time, the host's share included, against the row's; nothing where
// no row tells one.
struct RowsClass {
  std::string kind;
  std::string op;           // family
  std::string dtype;        // number format
  std::int64_t rows = 0;    // good ones
  std::int64_t hidden = 0;  // of those: behind the host
  double floor_us = 0;
  double event_us = 0;  // taken off
  std::int64_t held_out = 0;
  std::optional<double>
      held_out_error;  // mean of |predicted / measured - 1|, a fifth of the shapes, none behind the host
  std::optional<double> held_out_median;  // of the same
  std::optional<double> held_out_all;     // mean, with those behind the host
  std::optional<double> largest_error;    // mean, the fifth of the rows with most work held out
  std::optional<double> left_out_error;   // mean, by the tables of the other GPUs
  // What needs no rows, on those of held_out_error: by the structural model with the catalogue's efficiencies, and by the
  // peaks of the data sheet alone.
  std::optional<double> structural_error;
  std::optional<double> roofline_error;
};

struct RowsFit {
  Parameters parameters;
  std::vector<RowsClass> classes;
  std::vector<std::string> left_out;  // one sentence each: how many rows, why
};

// Throws InputError: rows of a kind that the catalogue lacks or that has no rates or multiprocessors, tables of two
// machines for one kind, no good row at all.
RowsFit FitRows(const std::vector<MeasuredRows>& tables, const RowsFitOptions& options,
                const Catalogue& catalogue);

std::string PrintRowsFit(const RowsFit& fit);
// A line for each class; errors as shares, empty where there is none.
std::string PrintRowsFitCsv(const RowsFit& fit);

}  // namespace stowplan::cost_models
